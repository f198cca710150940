package loader

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/wire"
	"github.com/dyno-perf/dyno/internal/workload"
)

func refusal(number uint16) error {
	return &endpoint.Error{Op: "execute", Err: &wire.Error{Code: number}}
}

func hungUp() error {
	return &endpoint.Error{Op: "receive", Kind: endpoint.Gone, Err: io.ErrUnexpectedEOF}
}

func TestTroubleOfMySQL(t *testing.T) {
	f := func(err error, want load.Trouble) {
		t.Helper()
		if got := (Server{}).Trouble(err); got != want {
			t.Errorf("%v is %+v, want %+v", err, got, want)
		}
	}
	f(refusal(1213), load.Trouble{Code: "1213", Retry: load.RetryAlways})
	f(refusal(1062), load.Trouble{Code: "1062"})
	f(refusal(noSuchTable), load.Trouble{Code: "1146", Hopeless: true})
	f(hungUp(), load.Trouble{Gone: true})
	f(errors.New("x"), load.Trouble{})
	f(fmt.Errorf("x: %w", load.ErrOtherWay), load.Trouble{Hopeless: true})
	f(&endpoint.Error{Kind: endpoint.AuthFailed}, load.Trouble{Hopeless: true})
}

// TestFit: workloads are written for this family.
func TestFit(t *testing.T) {
	if same, o, err := (Server{}).Fit(workload.PointSelect{}, nil); err != nil || o != nil ||
		same != workload.Workload(workload.PointSelect{}) {
		t.Errorf("%T, %v, %v", same, o, err)
	}
}

func TestRetriedCodes(t *testing.T) {
	codes, _ := (Server{}).Retried()
	for i, n := range retried {
		if codes[i] != strconv.Itoa(int(n)) {
			t.Errorf("%v, want %v", codes, retried)
		}
	}
	if !slices.IsSorted(codes) {
		t.Errorf("%v", codes)
	}
}
