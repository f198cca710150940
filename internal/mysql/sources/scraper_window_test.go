package sources

import (
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestWindowReadsEverySourceAtBothEnds holds that sources which are seldom read have figures of the whole window, and
// that what is told to have been read was.
func TestWindowReadsEverySourceAtBothEnds(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			spec, err := endpoint.ParseURL(s.URL("root"))
			if err != nil {
				t.Fatal(err)
			}
			x, err := target.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			sc, err := New(x, scrape.Options{Timeout: 5 * time.Second}) // machines that run tests are slow
			if err != nil {
				t.Fatal(err)
			}
			defer sc.Close()
			const length = 4 * time.Second
			began := time.Now()
			var last reading.Reading
			logins := s.Status(t, "Connections")
			rounds, shows := 0, s.Status(t, "Com_show_status")
			if err := sc.Window(t.Context(), time.Second, length, func(r reading.Reading) {
				if !last.At.IsZero() && !r.At.After(last.At) {
					t.Errorf("a round at %v after one at %v", r.At, last.At)
				}
				rounds++
				last = r
			}); err != nil {
				t.Fatal(err)
			}
			if d := last.At.Sub(began); d < length-time.Second/2 {
				t.Errorf("the last round was %v after the begin", d)
			}
			shows = s.Status(t, "Com_show_status") - shows
			// those of the test itself; each of the others asks once how many there are
			logins = s.Status(t, "Connections") - logins - 3
			for _, src := range last.Sources {
				if src.State == source.OK && src.Reads < 2 {
					t.Errorf("%s was read %d times", src.Name, src.Reads)
				}
				if src.Name == "global_status" && uint64(src.Reads) != shows-1-logins { // one is the test's own
					t.Errorf("%d readings of the status are told, the server counted %d, %d of them of logins",
						src.Reads, shows-1, logins)
				}
			}
			if rounds < 2 {
				t.Errorf("%d rounds", rounds)
			}
		})
	}
}
