package loader

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestPreflightFamily: what preflight does not refuse runs, for every workload that ships and on either way to the
// server.
func TestPreflightFamily(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		const threads, events = 3, 60
		for _, w := range workload.All() {
			o := map[string]string{"mysql-db": "d_" + w.Name()}
			if slices.ContainsFunc(w.Options(), func(o workload.Option) bool { return o.Name == "table-size" }) {
				o["table-size"] = "5000"
			}
			o = workload.WithThreads(w, o, threads)
			if err := on(tg).Prepare(t.Context(), load.Data{Workload: w, Options: o, Threads: 2, Seed: 1},
				nil); err != nil {
				t.Fatalf("%s: %v", w.Name(), err)
			}
			for _, c := range []load.Config{
				{Workload: w, Options: o, Threads: threads, Events: events, Seed: 1},
				{
					Workload: w, Options: o, Threads: threads, Events: events, Seed: 2, PSMode: load.Disable,
					Driver: true,
				},
			} {
				if strings.HasPrefix(w.Name(), "bulk") {
					c.Events = 6
				}
				if got := remarksOf(t, tg, c)[load.Refuse]; got != "" {
					t.Errorf("%s: refused: %s", w.Name(), got)
				}
				before := s.Status(t, "Questions")
				r, err := on(tg).Run(t.Context(), c, nil)
				asked := s.Status(t, "Questions") - before
				total := r.Total.Queries()
				if err != nil || r.State != loadresult.Done || r.Total.Operations() != c.Events || failures(r) != "" {
					t.Errorf("%s: %s after %d operations, %s: %v", w.Name(), r.State, r.Total.Operations(), failures(r),
						err)
				}
				// The server counts Dyno's own few questions too, and the statements that it refused, which are no
				// queries of the run.
				if asked < total || asked > total+60+r.Total.ErrorCount() {
					t.Errorf("%s: %d statements counted, the server counts %d; errors %v", w.Name(),
						total, asked, r.Total.Errors)
				}
			}
		}
	})
}

// failures lists the errors of a run, those left out that are tried again, which a few rows under many sessions cannot
// be without.
func failures(r loadresult.Run) (out string) {
	retried, _ := Server{}.Retried()
	for code, n := range r.Total.Errors {
		if !slices.Contains(retried, code) {
			out += fmt.Sprintf("%d errors %s; ", n, code)
		}
	}
	return out
}
