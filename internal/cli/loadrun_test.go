package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/loadresult"
)

func TestSweep(t *testing.T) {
	made := func(threads, id string, operations int) loadresult.Run {
		x := sampleTick()
		for range operations {
			x.Ops[0].Latency.Record(1000)
		}
		return loadresult.Run{ID: id, Options: map[string]string{"threads": threads}, Total: x, Elapsed: x.Length}
	}
	runs := []loadresult.Run{made("1", "r-1", 0), made("2", "r-2", 500), made("4", "r-3", 100)}
	runs[2].Invalid = "the client was the limit"
	has := func(runs []loadresult.Run, asked int, wants ...string) {
		t.Helper()
		var b strings.Builder
		e := &env{console: console{Streams: Streams{Out: &b}, output: "text"}}
		printSweep(e, runs, asked, 0)
		for _, w := range wants {
			if not, ok := strings.CutPrefix(w, "!"); strings.Contains(b.String(), not) == ok {
				t.Errorf("%q in\n%s", w, b.String())
			}
		}
	}
	has(runs, 3, "\n threads ", " p95 ms ", "\n       1       21.56      431.30 ", "\n       4 ", "r-3  INVALID\n",
		"Highest throughput: 256 operations per second with 2 threads.\n", "!Only")
	has(runs[:1], 3, "\n       1 ", "Only 1 of 3 runs have figures.", "!Most")
}

func TestInvalid(t *testing.T) {
	if err := invalid([]loadresult.Run{{}, {}}); err != nil {
		t.Error(err)
	}
	err := invalid([]loadresult.Run{{}, {Invalid: "why", Options: map[string]string{"threads": "8"}}})
	var x *exitError
	if !errors.As(err, &x) || x.code != exitUndecided || !strings.Contains(err.Error(), "with 8 threads") ||
		!strings.Contains(err.Error(), "why") {
		t.Errorf("got %v", err)
	}
}
