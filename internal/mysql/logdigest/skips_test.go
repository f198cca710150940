package logdigest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// TestSkipsAreToldInOrder gives them to two aggregators at random: the first MaxSkips are told, and all are counted.
func TestSkipsAreToldInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	parts := []*Aggregator{New(Config{}), New(Config{})}
	files := []digest.File{{Name: "a.log"}, {Name: "b.log"}}
	n := 5 * digest.MaxSkips
	for _, i := range r.Perm(n) {
		parts[r.IntN(2)].Skip(i%2, slowlog.Skip{
			Offset: int64(i / 2 * 10), Length: 3,
			Reason: fmt.Sprint("reason ", i%4),
		})
	}
	parts[0].Merge(parts[1])
	rep := parts[0].Report(digest.Options{Files: files})
	if rep.Global.Skipped != uint64(n) || rep.Global.SkippedBytes != int64(3*n) || len(rep.Skipped) != digest.MaxSkips {
		t.Fatalf("%d parts, %d bytes, %d told", rep.Global.Skipped, rep.Global.SkippedBytes, len(rep.Skipped))
	}
	for i, s := range rep.Skipped {
		if want := (digest.Skip{
			File: "a.log", Offset: int64(i * 10), Length: 3,
			Reason: fmt.Sprint("reason ", i*2%4),
		}); s != want {
			t.Fatalf("part %d is %+v, want %+v", i, s, want)
		}
	}
}
