package load

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

func TestTroubleOfMySQL(t *testing.T) {
	f := func(err error, want Trouble) {
		t.Helper()
		if got := (MySQL{}).Trouble(err); got != want {
			t.Errorf("%v is %+v, want %+v", err, got, want)
		}
	}
	f(refusal(1213), Trouble{Code: "1213", Retry: RetryAlways})
	f(refusal(1062), Trouble{Code: "1062"})
	f(refusal(noSuchTable), Trouble{Code: "1146", Hopeless: true})
	f(hungUp(), Trouble{Gone: true})
	f(errors.New("x"), Trouble{})
	f(fmt.Errorf("x: %w", ErrOtherWay), Trouble{Hopeless: true})
	f(&endpoint.Error{Kind: endpoint.AuthFailed}, Trouble{Hopeless: true})
}

func TestRetriedCodes(t *testing.T) {
	codes, _ := (MySQL{}).Retried()
	for i, n := range Retried {
		if codes[i] != strconv.Itoa(int(n)) {
			t.Errorf("%v, want %v", codes, Retried)
		}
	}
	if !slices.IsSorted(codes) {
		t.Errorf("%v", codes)
	}
}
