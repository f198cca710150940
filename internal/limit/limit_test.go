package limit

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestWanted(t *testing.T) {
	if s := (Limits{}).Wanted(); s != nil || (Limits{}).Any() || (Limits{}).IO() {
		t.Errorf("no limits: %v", s)
	}
	l := Limits{CPU: 0.97, Memory: 1 << 30, ReadIOPS: 500, WriteIOPS: 400, ReadBPS: 5e6, WriteBPS: 8 << 20}
	want := []State{
		{Name: "cpu", Wanted: "0.97"},
		{Name: "memory", Wanted: "1073741824"},
		{Name: "read_iops", Wanted: "500"},
		{Name: "write_iops", Wanted: "400"},
		{Name: "read_bps", Wanted: "5000000"},
		{Name: "write_bps", Wanted: "8388608"},
	}
	if got := l.Wanted(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if got := Of(want); got != l {
		t.Errorf("read back: %+v", got)
	}
	if got := Of([]State{{Name: "memory", Wanted: "much"}, {Name: "other", Wanted: "1"}}); got.Any() {
		t.Errorf("of nonsense: %+v", got)
	}
	if !l.IO() || (Limits{CPU: 1}).IO() || !(Limits{CPU: 1}).Any() {
		t.Error("what is limited is not told right")
	}
}

func TestCheck(t *testing.T) {
	f := func(l Limits, names ...string) {
		t.Helper()
		err := l.Check()
		if (err == nil) != (len(names) == 0) {
			t.Errorf("%+v: %v", l, err)
			return
		}
		for _, n := range names {
			if !strings.Contains(err.Error(), "limit "+n+" ") {
				t.Errorf("%+v: %v does not name %s", l, err, n)
			}
		}
	}
	f(Limits{})
	f(Limits{CPU: 0.97, Memory: 1 << 30, ReadIOPS: 1, WriteIOPS: math.MaxUint32, ReadBPS: 4096, WriteBPS: 1 << 40})
	f(Limits{CPU: -1}, CPU)
	f(Limits{CPU: math.NaN()}, CPU)
	f(Limits{CPU: math.Inf(1), Memory: 5, ReadIOPS: 1 << 32, WriteBPS: 1}, CPU, Memory, ReadIOPS, WriteBPS)
	f(Limits{ReadBPS: 1, WriteIOPS: 1 << 40}, ReadBPS, WriteIOPS)
}
