package sources

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/test/servers"
)

// BenchmarkRound measures a round of each source alone, wall-clock and allocations of the client.
func BenchmarkRound(b *testing.B) {
	for _, flavor := range servers.Flavors {
		s := servers.Start(b, flavor)
		spec, err := endpoint.ParseURL(s.URL("root"))
		if err != nil {
			b.Fatal(err)
		}
		t, err := target.Open(b.Context(), spec)
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range Names() {
			sc, err := New(t, scrape.Options{Sources: []string{name}})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(flavor+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				sc.Once(b.Context())
				user, system, _ := platform.CPU()
				for b.Loop() {
					sc.Once(b.Context())
				}
				u, s, _ := platform.CPU()
				b.ReportMetric((u+s-user-system).Seconds()*1e6/float64(b.N), "µs-client-cpu/op")
			})
			sc.Close()
		}
		t.Close()
	}
}
