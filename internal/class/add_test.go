package class

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dyno-perf/dyno/internal/known"
)

func TestAdd(t *testing.T) {
	one := func(n uint64) known.Value[uint64] { return known.Of(n) }
	early, late := time.Unix(100, 0), time.Unix(200, 0)
	a := Class{
		ID: "x", Count: 2, TimeSec: 1, MaxSec: known.Of(0.7), P95Sec: known.Of(0.6), LockSec: known.Of(0.1),
		Examined: one(10), RowsSent: one(1),
		FirstSeen: late, LastSeen: late, Users: []string{"app"},
	}
	names := a.Users
	a.Add(Class{
		ID: "x", Count: 3, TimeSec: 2, MaxSec: known.Of(0.9), P95Sec: known.Of(0.8), Examined: one(5),
		RowsSent: one(1), Errors: one(4),
		FirstSeen: early, LastSeen: early, Users: []string{"app", "job"}, Hosts: []string{"h"},
		Example: "SELECT 1", Sampled: true,
	})
	want := Class{
		ID: "x", Count: 5, TimeSec: 3, MaxSec: known.Of(0.9), Examined: one(15), RowsSent: one(2),
		FirstSeen: early, LastSeen: late, Users: []string{"app", "job"}, Hosts: []string{"h"},
		Example: "SELECT 1", Sampled: true,
	}
	if d := cmp.Diff(want, a, cmpopts.EquateComparable(known.Value[uint64]{}, known.Value[float64]{})); d != "" {
		t.Error(d)
	}
	if len(names) != 1 {
		t.Error("a list that others may hold was changed")
	}
	many := Class{}
	for i := range 50 {
		many.Add(Class{Hosts: []string{string(rune('a' + i))}})
	}
	if len(many.Hosts) != maxNames {
		t.Errorf("%d hosts", len(many.Hosts))
	}
}
