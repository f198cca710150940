package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
)

func TestCoursesAreThoseOfTheTimeline(t *testing.T) {
	h := mustOpen(t, file(t), Options{MinuteAge: 12 * time.Hour})
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	minutes(t, h, day, 120)
	minutes(t, h, day.Add(3*time.Hour), 60) // after a gap
	keys := []ClassKey{
		{"A", "d", class.PerformanceSchema, false},
		{"B", "", class.PerformanceSchema, false},
		{"B", "", class.Processlist, true},
		{"C", "", "", false},
	}
	f := func(from, to time.Duration) {
		t.Helper()
		ws, got, err := h.Courses(t.Context(), "shop", keys, day.Add(from), day.Add(to))
		ok(t, err)
		for _, k := range keys[:2] {
			line, err := h.Timeline(t.Context(), "shop", k.ID, day.Add(from), day.Add(to))
			ok(t, err)
			if len(line) != len(ws) {
				t.Fatalf("%v to %v: %d windows, the timeline has %d", from, to, len(ws), len(line))
			}
			points := got[k]
			for i, b := range line {
				if !b.From.Equal(ws[i].From) || !b.To.Equal(ws[i].To) || b.Seconds != ws[i].Seconds {
					t.Fatalf("window %d: %+v, want %+v", i, ws[i], b)
				}
				if b.Count == 0 {
					continue
				}
				if len(points) == 0 || points[0] != (Point{i, b.Count, b.TimeSec, b.P95Sec, b.Examined}) {
					t.Fatalf("%s in window %d: %+v, want %+v", k.ID, i, points[:min(1, len(points))], b)
				}
				points = points[1:]
			}
			if len(points) > 0 {
				t.Errorf("%s: %d points too many", k.ID, len(points))
			}
		}
		if len(got) != 2 {
			t.Errorf("%d classes", len(got))
		}
	}
	f(0, 4*time.Hour)
	f(0, time.Hour)
	f(0, 24*time.Hour)
	f(0, 40*24*time.Hour)
	ok(t, h.Maintain(t.Context(), day.Add(13*time.Hour))) // the minutes of the first hour go
	f(0, 4*time.Hour)
	if ws, got, err := h.Courses(t.Context(), "nobody", keys, day, day.Add(time.Hour)); err != nil ||
		len(ws)+len(got) != 0 {
		t.Errorf("%v %v %v", ws, got, err)
	}
	if ws, got, err := h.Courses(t.Context(), "shop", nil, day, day.Add(time.Hour)); err != nil ||
		len(ws) != 1 || len(got) != 0 {
		t.Errorf("%d %v %v", len(ws), got, err)
	}
}

// BenchmarkCourses reads what the list of classes needs for an hour of a server with 10 000 of them.
func BenchmarkCourses(b *testing.B) {
	h, err := Open(b.Context(), b.TempDir()+"/history.db", Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	cs := make([]class.Class, 10_000)
	for i := range cs {
		cs[i] = class.Class{
			ID: fmt.Sprintf("%032X", i), Fingerprint: fmt.Sprintf("select %d", i),
			Origin: class.PerformanceSchema, Count: 1, TimeSec: 1,
		}
	}
	for i := range 60 {
		at := noon.Add(time.Duration(i) * time.Minute)
		if err := h.PutClasses(b.Context(), "shop", at, at.Add(time.Minute), cs); err != nil {
			b.Fatal(err)
		}
	}
	keys := make([]ClassKey, 50)
	for i := range keys {
		keys[i] = KeyOf(cs[i*7])
	}
	b.Run("top 50", func(b *testing.B) {
		for b.Loop() {
			if _, got, err := h.Courses(b.Context(), "shop", keys, noon, noon.Add(time.Hour)); err != nil ||
				len(got) != 50 {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("sums of all", func(b *testing.B) {
		for b.Loop() {
			if got, _, err := h.Classes(b.Context(), "shop", noon, noon.Add(time.Hour), 0); err != nil ||
				len(got) != 10_000 {
				b.Fatal(len(got), err)
			}
		}
	})
}
