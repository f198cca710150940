package testbed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/workload"
)

// dawdling is a workload whose client takes its time: it sleeps before each operation, and the answers of other
// sessions wait meanwhile.
type dawdling struct{ workload.PointSelect }

func (w dawdling) Build(given map[string]string) (*workload.Plan, error) {
	p, err := w.PointSelect.Build(given)
	if err != nil {
		return nil, err
	}
	quick := p.Generator
	p.Generator = func(seed uint64, session int) workload.Generator { return dawdler{quick(seed, session)} }
	return p, nil
}

type dawdler struct{ workload.Generator }

func (d dawdler) Begin(op *workload.Op) {
	time.Sleep(20 * time.Millisecond)
	d.Generator.Begin(op)
}

// TestClientThatKeepsAnswersWaiting: what a client with CPUs of its own says against its figures makes the trial
// invalid; one that shares them with the server warns.
func TestClientThatKeepsAnswersWaiting(t *testing.T) {
	allowed, err := host.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	f := func(placement string) {
		t.Helper()
		t.Run(placement, func(t *testing.T) {
			s := newStand(t)
			s.Workloads = []workload.Workload{dawdling{}}
			p, vs := parse(t, `
server: mariadb
settings: {innodb_buffer_pool_size: 32M}
workload: oltp_point_select
options: {table-size: 200}
threads: 16
placement: `+placement+`
trials: {time: 2s, warmup: 0s..0s, rounds: 3..3}
`)
			tr, err := s.Trial(t.Context(), vs[0], p, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			const want = "answers waited for the client"
			warned := slices.ContainsFunc(tr.Warnings, func(w string) bool { return strings.Contains(w, want) })
			if s.cpus.apart != strings.Contains(tr.Invalid, want) || s.cpus.apart == warned ||
				!s.cpus.apart && tr.Invalid != "" {
				t.Errorf("apart: %v, invalid: %q, warnings: %q", s.cpus.apart, tr.Invalid, tr.Warnings)
			}
			if got := s.current.box.CPUs; got != s.cpus.server {
				t.Errorf("the server runs on CPU %q, wanted %q", got, s.cpus.server)
			}
		})
	}
	f(fmt.Sprintf(`{server: "%d", client: "%d"}`, allowed[0], allowed[len(allowed)-1]))
	f("shared")
}
