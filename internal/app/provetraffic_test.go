package app

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// TestProofTraffic: a class that was among those with the most time on one side is read on both and on earlier days,
// each source for itself, and what is left out is told.
func TestProofTraffic(t *testing.T) {
	ctx := t.Context()
	h, err := history.Open(ctx, t.TempDir()+"/h.db", history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	at := time.UnixMilli(time.Now().UnixMilli()).Add(-26 * time.Hour).Truncate(time.Minute)
	fixed := func(origin class.Origin, sec float64) class.Class {
		return class.Class{ID: "a1", Fingerprint: "select a", Schema: "shop", Origin: origin, Count: 100, TimeSec: sec}
	}
	put := func(at time.Time, list ...class.Class) {
		t.Helper()
		for i := range 600 {
			list = append(list, class.Class{
				ID: fmt.Sprint("b", i), Fingerprint: "select b", Schema: "shop", Origin: class.PerformanceSchema,
				Count: 100, TimeSec: 1,
			})
		}
		if err := h.PutClasses(ctx, "shop", at, at.Add(time.Minute), list); err != nil {
			t.Fatal(err)
		}
	}
	change := at.Add(24 * time.Hour)
	put(at, fixed(class.PerformanceSchema, 0.5))
	put(change.Add(-time.Minute), fixed(class.PerformanceSchema, 400))
	put(change, fixed(class.PerformanceSchema, 0.1))
	put(change.Add(time.Minute), fixed(class.SlowLog, 400), class.Class{
		ID: "b99", Fingerprint: "select b", Schema: "shop", Origin: class.PerformanceSchema, Count: 1, TimeSec: 50,
	})
	got, beyond, err := (&gathering{h: h, target: "shop"}).gather(ctx, [][2]time.Time{
		{at, at.Add(time.Minute)}, {change.Add(-time.Minute), change}, {change, change.Add(time.Minute)},
	})
	if err != nil || len(got.Spans) != 3 || got.Courses[0].Class.ID != "a1" || len(got.Courses[0].Sums) != 3 ||
		got.Courses[0].Sums[2].Calls != 100 {
		t.Errorf("%d windows, %+v, %v", len(got.Spans), got.Courses[0], err)
	}
	// 100 of 1000 s before, and of 600.1 s after.
	if math.Abs(beyond[0]-0.1) > 1e-6 || math.Abs(beyond[1]-100/600.1) > 1e-6 {
		t.Errorf("beyond: %v", beyond)
	}
	got, _, err = (&gathering{h: h, target: "shop"}).gather(ctx, [][2]time.Time{
		{change.Add(-time.Minute), change.Add(time.Minute)}, {change.Add(time.Minute), change.Add(2 * time.Minute)},
	})
	n := map[class.Origin]int{}
	for _, x := range got.Courses {
		if x.Class.ID == "a1" {
			n[x.Class.Origin] = len(x.Sums)
		}
	}
	if err != nil || n[class.PerformanceSchema] != 2 || n[class.SlowLog] != 1 {
		t.Errorf("by source: %v, %v", n, err)
	}
	// One of a finding is read whatever its time.
	got, _, err = (&gathering{h: h, target: "shop", about: []string{"a1"}}).gather(ctx, [][2]time.Time{
		{at, at.Add(time.Minute)}, {change, change},
	})
	if err != nil || !slices.ContainsFunc(got.Courses, func(x proof.Course) bool { return x.Class.ID == "a1" }) {
		t.Errorf("of a finding: %v", err)
	}
	// Who gathers again reads of the past what is new, and has the same as who reads all.
	g := &gathering{h: h, target: "shop", past: map[[2]time.Time]*stretch{}}
	var again, whole proof.Traffic
	for _, until := range []time.Time{change, change.Add(2 * time.Minute)} {
		stretches := [][2]time.Time{{at, at.Add(time.Minute)}, {change.Add(-time.Minute), change}, {change, until}}
		read := g.past[stretches[0]]
		if again, _, err = g.gather(ctx, stretches); err != nil {
			t.Fatal(err)
		}
		if whole, _, err = (&gathering{h: h, target: "shop"}).gather(ctx, stretches); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, whole) || read != nil && read != g.past[stretches[0]] {
			t.Errorf("until %s %d and %d courses", until, len(again.Courses), len(whole.Courses))
		}
	}
	if n := len(whole.Courses); n != 502 || len(whole.Courses[n-1].Sums) != 4 || len(g.past) != 4 {
		t.Errorf("%d courses, %d stretches", n, len(g.past))
	}
}
