package loader

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/workload"
)

func TestTrouble(t *testing.T) {
	state := func(code string) error { return fmt.Errorf("execute: %w", &pgconn.PgError{Code: code}) }
	f := func(err error, want load.Trouble) {
		t.Helper()
		if got := (sessions{}).Trouble(err); got != want {
			t.Errorf("%v is %+v, want %+v", err, got, want)
		}
	}
	f(state("40P01"), load.Trouble{Code: "40P01", Retry: load.RetryAlways})
	f(state("40001"), load.Trouble{Code: "40001", Retry: load.RetryAlways})
	f(state("55P03"), load.Trouble{Code: "55P03", Retry: load.RetryAlways})
	f(state("23505"), load.Trouble{Code: "23505", Retry: load.RetryAFew})
	f(state("22012"), load.Trouble{Code: "22012"})
	f(state("57P01"), load.Trouble{Code: "57P01", Gone: true})
	f(state("42P01"), load.Trouble{Code: "42P01", Hopeless: true})
	f(state("28P01"), load.Trouble{Code: "28P01", Hopeless: true})
	f(io.ErrUnexpectedEOF, load.Trouble{Gone: true})
	f(fmt.Errorf("x: %w", load.ErrOtherWay), load.Trouble{Hopeless: true})
	f(&endpoint.Error{Kind: endpoint.Refused}, load.Trouble{})
	f(errors.New("x"), load.Trouble{})
	codes, _ := (sessions{}).Retried()
	for _, c := range codes {
		if (sessions{}).Trouble(state(c)).Retry == load.NoRetry {
			t.Errorf("%s is not retried", c)
		}
	}
	if !slices.IsSorted(codes) {
		t.Errorf("%v", codes)
	}
}

func TestExplain(t *testing.T) {
	plan := &workload.Plan{Workload: "w"}
	f := func(err error, want string) {
		t.Helper()
		if got := (sessions{}).Explain(err, plan).Error(); !strings.HasSuffix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f(&pgconn.PgError{Code: "42P01"}, "(the data of w does not exist: prepare it first)")
	f(&pgconn.PgError{Code: "3D000"}, "(the data of w does not exist: prepare it first)")
	f(errors.New("else"), "else")
}
