package screen

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/state"
)

func TestJSONIsOneLineEach(t *testing.T) {
	s := pileUp(noon)
	s.Vitals = append(s.Vitals, state.Vital{Name: "nan", Value: math.NaN()},
		state.Vital{Name: "inf", Value: math.Inf(1)})
	n := len(s.Vitals)
	var b bytes.Buffer
	if err := JSON(&b, s); err != nil {
		t.Fatal(err)
	}
	if len(s.Vitals) != n {
		t.Error("the state was changed")
	}
	l := b.String()
	if strings.Count(l, "\n") != 1 || !strings.HasSuffix(l, "}\n") {
		t.Fatalf("got %q", l)
	}
	back, err := state.Decode(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if back.Get(state.QPS).Or(0) != 12345 || back.Get("nan").OK() || back.Get("inf").OK() || len(back.Waits) != 3 ||
		back.Sessions[3].SQL != s.Sessions[3].SQL {
		t.Errorf("got %+v", back)
	}
}
