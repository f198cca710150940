package logdigest

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// grown returns the bytes of the heap that are in use after f, beyond those before it.
func heapOf(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
}

// TestMemory counts entries of 24 attributes in full, of many classes and of few.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("a million entries")
	}
	f := func(classes, entries int, most uint64) *Aggregator {
		t.Helper()
		templates := fullVerbosity(512)
		a := New(Config{})
		got := heapOf(func() {
			x := uint32(1)
			for i := range entries {
				e := &templates[i%len(templates)]
				e.Offset, e.At = int64(i)*600, e.At+2_500_000
				x = x*1664525 + 1013904223
				k := i
				if i >= classes {
					k = int(uint64(x) * uint64(classes) >> 32)
				}
				for j := range 4 {
					e.SQL[len("SELECT ")+j] = 'a' + byte(k%26)
					k /= 26
				}
				a.Add(nil, e, 0)
			}
		})
		if n := len(a.roster.classes); n != classes || a.Entries() != uint64(entries) {
			t.Fatalf("%d entries of %d classes, want %d of %d", a.Entries(), n, entries, classes)
		}
		what := fmt.Sprintf("%d entries of %d classes, %d with a summary: %.1f MB", entries, classes,
			a.summaries, float64(got)/1e6)
		t.Log(what)
		if got > most {
			t.Errorf("%s; at most %.1f MB are wanted", what, float64(most)/1e6)
		}
		return a
	}
	f(50, 200_000, 10e6)
	f(5000, 1_000_000, 60e6)
	f(20_000, 700_000, 60e6)
	r := f(20_000, 1_600_000, 190e6).Report(digest.Options{Limit: digest.Limit{Share: 0.95, Count: 20}})
	if len(r.Global.Notes) == 0 {
		t.Error("no note tells that some distributions are not kept")
	}
	// All distributions together are complete nevertheless.
	for i := range fullVerbosity(1)[0].Figures {
		var xs []float64
		for _, e := range fullVerbosity(512) {
			xs = append(xs, e.Figures[i].Value)
		}
		info, _ := slowlog.Known(fullVerbosity(1)[0].Figures[i].Attribute)
		if info.Unit == attribute.Flag {
			continue
		}
		slices.Sort(xs)
		want := xs[512*95/100]
		if got := r.Global.Attributes[info.Key].P95.Or(-1); math.Abs(got-want) > 0.01*want {
			t.Errorf("95 %% of %s is %v, want %v", info.Key, got, want)
		}
	}
	f(100_000, 1_000_000, 128e6) // half of what may be resident: the collector takes as much again
}

// TestOddFiguresHaveABound: lines that a tenant's statement forged may give every class of a log a hundred figures that
// take a kilobyte each.
func TestOddFiguresHaveABound(t *testing.T) {
	log := strings.Builder{}
	log.WriteString("# Time: 260301 10:00:00\n")
	attributes, classes := 100, 2*maxOdd/100
	for i := range classes {
		log.WriteString("# User@Host: u[u] @ h []\n# Query_time: 0.1  Lock_time: 0  Rows_sent: 1  Rows_examined: 1")
		for j := range attributes {
			fmt.Fprintf(&log, "  A%d: 1.5", j%64)
		}
		fmt.Fprintf(&log, "\nselect %s;\n", strings.Map(func(r rune) rune { return r - '0' + 'a' },
			fmt.Sprintf("%06d", i)))
	}
	a := New(Config{})
	got := heapOf(func() { parse(t, a, slowlog.NewParser(), []byte(log.String()), 0) })
	r := a.Report(digest.Options{})
	if r.Global.Count != uint64(classes) || r.Global.Skipped == 0 || r.Global.Skipped > uint64(classes) ||
		!strings.Contains(r.Skipped[0].Reason, "neither counts nor times") {
		t.Errorf("%d entries, %d skips: %+v", r.Global.Count, r.Global.Skipped, r.Skipped[:min(1, len(r.Skipped))])
	}
	if got > 100<<20 {
		t.Errorf("%d classes take %d MB", classes, got>>20)
	}
	// Of many parts, as those of a followed log are, no more is kept.
	total := New(Config{})
	for range 3 {
		part := New(Config{})
		parse(t, part, slowlog.NewParser(), []byte(log.String()), 0)
		total.Take(part)
	}
	back, err := ReadState(Config{}, total.AppendState(nil))
	if err != nil || total.spill.odd != maxOdd || back.spill.odd != maxOdd || back.spill.kept != total.spill.kept {
		t.Errorf("%+v, %+v, %v", total.spill.odd, back.spill.odd, err)
	}
	for range 3 { // what is made for a reader alone does not count
		total.Report(digest.Options{})
	}
	if back.spill.kept != total.spill.kept {
		t.Errorf("%d distributions, were %d", total.spill.kept, back.spill.kept)
	}
}

// TestDistributionsHaveABound: one more column keeps what it needs for sums alone.
func TestDistributionsHaveABound(t *testing.T) {
	s := &summary{spill: &spill{kept: maxDistributions - 1}}
	kept, left := s.column(0), s.column(1)
	if kept.bins == nil || left.bins != nil || s.spill.kept != maxDistributions {
		t.Errorf("%v, %v of %d", kept.bins, left.bins, s.spill.kept)
	}
}
