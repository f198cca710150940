package sources

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestOwnCostIsWhatTheServerCounts compares what the scraper says of itself with the server's own counters.
func TestOwnCostIsWhatTheServerCounts(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			var names []string
			for _, x := range List() { // heavy ones run beside the reading of the status: before or after it
				if !x.Asked && x.Cost != scrape.Heavy {
					names = append(names, string(x.Name))
				}
			}
			sc := scraper(t, open(t, s, "root"), scrape.Options{Sources: names})
			sc.Once(t.Context()) // learns about the server
			a := sc.Once(t.Context()).Samples
			b := sc.Once(t.Context()).Samples
			sum := func(all []metric.Sample, name string) (n float64) {
				for _, x := range all {
					if x.Name == name {
						n += x.Value
					}
				}
				return n
			}
			grown := func(name string) float64 { return sum(b, name) - sum(a, name) }
			if own, server := grown("dyno_source_statements_total"), grown("mysql_global_status_questions"); own < 2 ||
				own != server {
				t.Errorf("it says that it sent %v statements, the server counted %v", own, server)
			}
			rows := 0
			db := s.DB(t, "")
			r, err := db.Query("SHOW GLOBAL STATUS")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for r.Next() {
				rows++
			}
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			x, _ := find(a, "dyno_source_rows_total", "source", "global_status")
			y, _ := find(b, "dyno_source_rows_total", "source", "global_status")
			if got := int(y.Value - x.Value); got < rows || got > rows+50 {
				// with what Dyno's session has counted itself
				t.Errorf("it says that it read %v rows of status, there are %d", got, rows)
			}
			// Bytes: of the values alone; the server counts heads, lengths and the names of columns too.
			own, server := grown("dyno_source_bytes_total"), grown("mysql_global_status_bytes_sent")
			if own <= 0 || own > server || own < server/4 {
				t.Errorf("it says that it read %v bytes, the server sent %v", own, server)
			}
			if sec := grown("dyno_source_seconds_total"); sec <= 0 || sec > 30 {
				t.Errorf("it says that it took %v s of the server", sec)
			}
		})
	}
}
