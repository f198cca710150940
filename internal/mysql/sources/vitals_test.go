package sources

import (
	"slices"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestVitalsAreMadeOfWhatIsRead holds the names of samples and of headline figures together.
func TestVitalsAreMadeOfWhatIsRead(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			sc := scraper(t, open(t, s, "root"), scrape.Options{})
			read := func() []metric.Sample { // each source answers in time
				for end := time.Now().Add(5 * time.Minute); ; {
					r := sc.Once(t.Context())
					if !slices.ContainsFunc(r.Sources, func(s source.Source) bool {
						return s.State == source.Slow
					}) {
						return slices.Clone(r.Samples)
					}
					if time.Now().After(end) {
						t.Fatalf("%+v", r.Sources)
					}
				}
			}
			a := read()
			began := time.Now()
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT) ENGINE=InnoDB", "INSERT INTO d.t VALUES (1),(2)",
				"SELECT * FROM d.t")
			time.Sleep(20 * time.Millisecond) // clocks of CPUs tick
			b := read()
			seconds := time.Since(began).Seconds()
			got := map[string]float64{}
			for _, v := range state.Between(Headline.Take(a), Headline.Take(b), seconds) {
				got[v.Name] = v.Value
			}
			for _, name := range []string{
				state.QPS, state.TPS, state.Running, state.Connected, state.SlowQueries, state.ServerCPU,
				state.HostCPUBusy, state.HostCPUSystem, state.HostIOWait, state.HostSteal,
				state.HostCPUs, state.MemAvailable, state.ServerRSS, state.DiskReads, state.DiskWrites,
				state.DiskReadBytes, state.DiskWriteBytes, state.DiskBusy,
				state.RowsRead, state.RowsWritten, state.PoolMisses, state.PoolRequests, state.PoolDirty,
				state.PoolFree, state.RedoBytes, state.Checkpoint, state.History,
				state.RowLockWaits, state.RowLockWaiting, state.TmpDisk, state.BytesIn, state.BytesOut, state.Aborted,
				state.PressureCPU, state.PressureIO, state.PressureMemory,
				state.ScrapeServer, state.ScrapeClient,
			} {
				if _, ok := got[name]; !ok {
					t.Errorf("%s is missing", name)
				}
			}
			if got[state.RowsWritten] < 2/seconds*0.9 || got[state.QPS] < 4/seconds*0.9 {
				t.Errorf("%v in %v s", got, seconds)
			}
			var x metric.Sample
			for _, x = range b {
				if x.Name == metric.ClientStatus && x.Labels.Get("variable") == "threads_connected" &&
					got[state.Connected] != x.Value {
					t.Errorf("connected %v, want %v", got[state.Connected], x.Value)
				}
			}
		})
	}
}
