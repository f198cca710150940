package history

import (
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
)

// TestRunningIsCountedOnce has a statement of 310 s that is sampled for five minutes and counted when it ends.
func TestRunningIsCountedOnce(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	long := func(sec float64, sampled bool) class.Class {
		c := class.Class{
			ID: "L", Fingerprint: "select sleep(?)", Origin: class.PerformanceSchema,
			Count: 1, TimeSec: sec,
		}
		if sampled {
			c.Origin, c.Sampled, c.Schema = class.Processlist, true, "d"
		}
		return c
	}
	put := func(target string, m int, cs ...class.Class) {
		t.Helper()
		ok(t, h.PutClasses(t.Context(), target, at(m), at(m+1), cs))
	}
	for m := range 10 {
		var cs []class.Class
		switch {
		case m >= 2 && m < 7:
			cs = append(cs, long(58, true))
		case m == 7:
			cs = append(cs, long(310, false))
		}
		put("idle", m, cs...)
		put("busy", m, append(cs, a(1, 1, 1))...)
	}
	for m := range 120 { // a source that counts from the second hour on
		put("late", m, long(10, m < 60))
	}
	keys := []ClassKey{KeyOf(long(0, false)), KeyOf(long(0, true))}
	f := func(target string, from, to int, counted, sampled, all float64) {
		t.Helper()
		cs, cov, err := h.Classes(t.Context(), target, at(from), at(to), 0)
		ok(t, err)
		got := map[bool]float64{}
		for _, c := range cs {
			if c.ID == "L" {
				got[c.Sampled] += c.TimeSec
			}
		}
		if got[false] != counted || got[true] != sampled || len(got) != map[bool]int{true: 1, false: 2}[counted == 0 ||
			sampled == 0] || cov.TimeSec != all || cov.Classes != len(cs) {
			t.Errorf("%s, minutes %d to %d: %v, %+v", target, from, to, got, cov)
		}
		if top, _, err := h.Classes(t.Context(), target, at(from), at(to), 1); err != nil || len(top) != 1 ||
			top[0].ID != "L" || top[0].TimeSec != max(counted, sampled) {
			t.Errorf("%s, minutes %d to %d: at the top %+v, %v", target, from, to, top, err)
		}
		if to-from > 90 { // the list is of hours, the course of minutes
			return
		}
		line, err := h.Timeline(t.Context(), target, "L", at(from), at(to))
		ok(t, err)
		sum := 0.0
		for _, b := range line {
			sum += b.TimeSec
		}
		if sum != counted+sampled || len(line) != to-from {
			t.Errorf("%s, minutes %d to %d: %v s in %d buckets", target, from, to, sum, len(line))
		}
		_, courses, err := h.Courses(t.Context(), target, keys, at(from), at(to))
		ok(t, err)
		for i, want := range []float64{counted, sampled} {
			sum := 0.0
			for _, p := range courses[keys[i]] {
				sum += p.TimeSec
			}
			if sum != want {
				t.Errorf("%s, minutes %d to %d: the course of %+v has %v s", target, from, to, keys[i], sum)
			}
		}
	}
	f("busy", 0, 10, 310, 0, 320)
	f("busy", 0, 5, 0, 3*58, 3*58+5) // it still runs
	f("busy", 4, 10, 310, 0, 316)
	f("idle", 0, 10, 310, 0, 310)
	f("idle", 0, 5, 0, 3*58, 3*58)
	f("late", 0, 120, 600, 600, 1200)
	f("late", 30, 90, 300, 250, 550) // what is sampled next to a source that counts is not told apart
	f("late", 0, 60, 0, 600, 600)
}
