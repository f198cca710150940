package loader

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// open returns a target for a server of a test.
func open(t testing.TB, s *servers.Server) *target.Target {
	t.Helper()
	spec, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tg.Close() })
	return tg
}

// on returns a target as what can be loaded.
func on(tg *target.Target) Server { return Server{T: tg} }

// everywhere runs a test on a server of each flavor.
func everywhere(t *testing.T, f func(t *testing.T, s *servers.Server, tg *target.Target), settings ...string) {
	t.Helper()
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, flavor, settings...)
			f(t, s, open(t, s))
		})
	}
}

// bothWays runs a test on a server of each flavor, with event loops and with the general driver. The test passes driver
// on in its Config.
func bothWays(t *testing.T, f func(t *testing.T, s *servers.Server, tg *target.Target, driver bool),
	settings ...string,
) {
	t.Helper()
	for _, flavor := range servers.Flavors {
		for path, driver := range map[string]bool{"loops": false, "driver": true} {
			t.Run(flavor+"/"+path, func(t *testing.T) {
				t.Parallel()
				s := servers.Start(t, flavor, settings...)
				f(t, s, open(t, s), driver)
			})
		}
	}
}

// prepared makes the tables of the OLTP family.
func prepared(t *testing.T, tg *target.Target, o map[string]string) {
	t.Helper()
	if err := on(tg).Prepare(t.Context(), load.Data{Workload: workload.ReadWrite{}, Options: o, Threads: 2, Seed: 1},
		nil); err != nil {
		t.Fatal(err)
	}
}

// within fails the test when f takes longer than d.
func within(t *testing.T, d time.Duration, what string, f func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), d, errors.New("test deadline"))
	defer cancel()
	begin := time.Now()
	f(ctx)
	if took := time.Since(begin); took > d {
		t.Fatalf("%s took %v, more than %v", what, took, d)
	}
}
