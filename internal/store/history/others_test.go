package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
)

// TestNewClassesOfOneTarget has somebody send ever new statements to a server: what others did there is kept, and
// totals are right.
func TestNewClassesOfOneTarget(t *testing.T) {
	h := mustOpen(t, file(t), Options{ClassBytes: 1 << 20})
	h.newAtOnce = 100 << 10
	end, began := noon, time.Now()
	for m := range 60 {
		cs := []class.Class{{ID: "A", Fingerprint: "a", Origin: class.PerformanceSchema, Count: 1, TimeSec: 1}}
		for i := range 100 {
			id := fmt.Sprintf("%032d", m*1000+i)
			cs = append(cs, class.Class{
				ID: id, Fingerprint: "select " + id + random(400, uint64(m*1000+i)),
				Origin: class.Processlist, Sampled: true, Count: 1, TimeSec: 0.5,
			})
		}
		end = end.Add(time.Hour)
		ok(t, h.PutClasses(t.Context(), "shop", end.Add(-time.Minute), end, cs))
		ok(t, h.Maintain(t.Context(), end))
	}
	var classes int
	ok(t, h.db.QueryRow("SELECT count(*) FROM class").Scan(&classes))
	room := float64(h.newAtOnce) + newAnHour*time.Since(began).Hours()
	if most := int(room)/600 + 10; classes < 50 || classes > most {
		t.Errorf("%d classes have a name, at most %d have room", classes, most)
	}
	cs, cov, err := h.Classes(t.Context(), "shop", noon, end, 0)
	ok(t, err)
	count := map[string]uint64{}
	for _, c := range cs {
		count[c.ID] += c.Count
	}
	if count["A"] != 60 || cov.Count != 60*101 || count[Others] < 50*100 {
		t.Errorf("%d of 60 executions of the quiet class are kept, %d of %d in all, %d of others", count["A"],
			cov.Count, 60*101, count[Others])
	}
}
