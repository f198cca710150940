package series

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dyno-perf/dyno/internal/metric"
)

const t0 = int64(1_764_000_000_000)

func mustOpen(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustSelect(t *testing.T, s *Store, name string, match metric.Labels, from, to int64) []metric.Series {
	t.Helper()
	got, err := s.Select(t.Context(), name, match, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// second returns a scrape of n series: counters, gauges, with and without labels.
func second(at int64, n int) []metric.Sample {
	var ms []metric.Sample
	for i := range n {
		m := metric.Sample{Name: fmt.Sprintf("m%02d", i/3), At: at, Value: float64(at-t0)/1000 + float64(i)/8}
		switch i % 3 {
		case 0:
			m.Kind = metric.Counter
		case 1:
			m.Labels = metric.L("mode", "user")
		case 2:
			m.Labels = metric.L("device", "sd a\xff\"\n", "mode", "ü")
			m.Kind = metric.Counter
		}
		ms = append(ms, m)
	}
	return ms
}

// want returns what the store must hold after the given scrapes.
func want(extra metric.Labels, scrapes ...[]metric.Sample) []metric.Series {
	var out []metric.Series
	index := map[string]int{}
	for _, ms := range scrapes {
		for _, m := range ms {
			var kv []string
			for _, ls := range []metric.Labels{m.Labels, extra} {
				for _, l := range ls {
					kv = append(kv, l.Name, l.Value)
				}
			}
			ls := metric.L(kv...)
			key := fmt.Sprint(m.Name, ls, m.Kind)
			i, ok := index[key]
			if !ok {
				i = len(out)
				index[key] = i
				if len(ls) == 0 {
					ls = nil
				}
				out = append(out, metric.Series{Name: m.Name, Labels: ls, Kind: m.Kind})
			}
			out[i].Points = append(out[i].Points, metric.Point{At: m.At, Value: m.Value})
		}
	}
	sortSeries(out)
	return out
}

func TestReadEqualsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "metrics")
	s := mustOpen(t, dir)
	extra := metric.L("target", "shop")
	var scrapes [][]metric.Sample
	for i := range 300 { // more than one chunk
		ms := second(t0+int64(i)*1000, 9)
		scrapes = append(scrapes, ms)
		if err := s.Append(ms, extra); err != nil {
			t.Fatal(err)
		}
	}
	exp := want(extra, scrapes...)
	if d := cmp.Diff(exp, mustSelect(t, s, "", nil, math.MinInt64, math.MaxInt64)); d != "" {
		t.Fatal(d)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, dir)
	if d := cmp.Diff(exp, mustSelect(t, s, "", nil, t0, t0+299_000)); d != "" {
		t.Fatal("after reopening", d)
	}
	if w := s.Warnings(); len(w) > 0 {
		t.Errorf("a store that was closed warns: %q", w)
	}

	f := func(name string, match metric.Labels, from, to int64, series, points int) {
		t.Helper()
		got := mustSelect(t, s, name, match, from, to)
		n := 0
		for _, x := range got {
			n += len(x.Points)
		}
		if len(got) != series || n != points {
			t.Errorf("%s %v %d to %d: %d series, %d points, want %d, %d", name, match, from-t0, to-t0,
				len(got), n, series, points)
		}
	}
	f("m00", nil, t0, t0+2000, 3, 9) // both ends included
	f("m00", nil, t0+1, t0+1999, 3, 3)
	f("m01", metric.L("mode", "user"), t0, t0, 1, 1)
	f("m01", metric.L("mode", "user", "target", "shop"), t0, t0, 1, 1)
	f("m01", metric.L("target", "other"), t0, t0, 0, 0)
	f("m09", nil, t0, t0+1e6, 0, 0)
	f("", metric.L("mode", "ü"), t0, t0, 3, 3)

	names, err := s.Names(t.Context())
	if d := cmp.Diff([]string{"m00", "m01", "m02"}, names); err != nil || d != "" {
		t.Error(err, d)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", st.Mode(), err)
	}
}

func TestSpecialValues(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	for i, v := range []float64{
		math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.MaxFloat64,
		math.SmallestNonzeroFloat64, 1 << 63,
	} {
		at := t0 + int64(i)*1000
		if err := s.Append([]metric.Sample{{Name: "x", At: at, Value: v}}, nil); err != nil {
			t.Fatal(err)
		}
		got := mustSelect(t, s, "x", nil, at, at)
		if len(got) != 1 || math.Float64bits(got[0].Points[0].Value) != math.Float64bits(v) {
			t.Errorf("%g: %v", v, got)
		}
	}
}

func TestSameTimeIsIgnoredAndCounted(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	put := func(at int64, v float64) error {
		t.Helper()
		return s.Append([]metric.Sample{{Name: "x", At: at, Value: v}}, nil)
	}
	counts := func(dup, dis uint64) {
		t.Helper()
		if a, b := s.Ignored(); a != dup || b != dis {
			t.Errorf("ignored %d and %d, want %d and %d", a, b, dup, dis)
		}
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(put(t0, 1))
	ok(put(t0, 2)) // the first one stays
	counts(1, 0)
	// Twice in one call, and the others of the call are stored.
	ok(s.Append([]metric.Sample{
		{Name: "x", At: t0 + 1000, Value: 3},
		{Name: "x", At: t0 + 1000, Value: 4},
		{Name: "y", At: t0 + 1000, Value: 5},
	}, nil))
	counts(2, 0)

	var late *OutOfOrderError
	err := s.Append([]metric.Sample{{Name: "x", At: t0 + 500, Value: 9}, {Name: "y", At: t0 + 2000, Value: 6}}, nil)
	if !errors.As(err, &late) || late.Samples != 1 || late.Name != "x" || late.Newest-late.At != 500 {
		t.Errorf("an older sample: %v", err)
	}
	counts(2, 1)

	// Another process has no memory of it.
	ok(s.Close())
	s = mustOpen(t, dir)
	ok(put(t0+1000, 7))
	counts(1, 0)
	if err := put(t0, 7); !errors.As(err, &late) {
		t.Errorf("an older sample after reopening: %v", err)
	}
	if err := put(t0-1e9, 7); !errors.As(err, &late) {
		t.Errorf("a much older sample after reopening: %v", err)
	}
	counts(1, 2)
	ok(put(t0+3000, 8))
	exp := []metric.Series{
		{Name: "x", Points: []metric.Point{{At: t0, Value: 1}, {At: t0 + 1000, Value: 3}, {At: t0 + 3000, Value: 8}}},
		{Name: "y", Points: []metric.Point{{At: t0 + 1000, Value: 5}, {At: t0 + 2000, Value: 6}}},
	}
	if d := cmp.Diff(exp, mustSelect(t, s, "", nil, t0-2e9, t0+1e6)); d != "" {
		t.Error(d)
	}
}

func TestRefusedSamples(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	f := func(m metric.Sample, extra metric.Labels) {
		t.Helper()
		good := metric.Sample{Name: "good", At: t0}
		if err := s.Append([]metric.Sample{good, m}, extra); err == nil {
			t.Errorf("%+v with %v is stored", m, extra)
		}
		if got := mustSelect(t, s, "", nil, 0, math.MaxInt64); len(got) > 0 {
			t.Errorf("part of a refused call is stored: %v", got)
		}
	}
	f(metric.Sample{At: t0}, nil)
	f(metric.Sample{Name: "x", At: t0, Labels: metric.L("__type__", "x")}, nil)
	f(metric.Sample{Name: "x", At: t0, Labels: metric.L("", "x")}, nil)
	f(metric.Sample{Name: "x", At: t0, Labels: metric.L("target", "a")}, metric.L("target", "b"))
	// What failed can be tried again.
	if err := s.Append([]metric.Sample{{Name: "good", At: t0}}, nil); err != nil {
		t.Fatal(err)
	}
	if got := mustSelect(t, s, "good", nil, 0, math.MaxInt64); len(got) != 1 {
		t.Errorf("the retry is lost: %v", got)
	}
	if d, o := s.Ignored(); d+o != 0 {
		t.Errorf("%d, %d samples ignored", d, o)
	}
}

func TestClosed(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(second(t0, 1), nil); err == nil {
		t.Error("a closed store takes samples")
	}
	if _, err := s.Select(t.Context(), "m00", nil, 0, t0); err == nil {
		t.Error("a closed store is read")
	}
	if _, err := s.Names(t.Context()); err == nil {
		t.Error("a closed store has names")
	}
}

// TestHours writes so much that the head is compacted into blocks and its log is cut, and reads all of it again.
func TestHours(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	const step, n = 5_000, 3 * 3600 / 5
	for i := range n {
		if err := s.Append(second(t0+int64(i)*step, 6), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.Compact(t.Context()); err != nil { // else it comes within a minute
		t.Fatal(err)
	}
	if len(s.db.Blocks()) == 0 {
		t.Fatal("three hours made no block")
	}
	for range 2 {
		got := mustSelect(t, s, "", nil, t0, math.MaxInt64)
		if len(got) != 6 {
			t.Fatalf("%d series", len(got))
		}
		for _, x := range got {
			if len(x.Points) != n {
				t.Fatalf("%s %v: %d points, want %d", x.Name, x.Labels, len(x.Points), n)
			}
			for i, p := range x.Points {
				if p.At != t0+int64(i)*step {
					t.Fatalf("point %d at %d", i, p.At-t0)
				}
			}
		}
		if got[0].Kind != metric.Counter || got[1].Kind != metric.Counter || got[2].Kind != metric.Gauge {
			t.Errorf("kinds: %v %v %v", got[0].Kind, got[1].Kind, got[2].Kind)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, dir)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Check(t.Context(), dir)
	if err != nil || !r.OK() || r.Samples != 6*n || r.Series != 6 || r.Blocks == 0 || len(r.Warnings) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r.From.UnixMilli() != t0 || r.To.UnixMilli() != t0+(n-1)*step {
		t.Errorf("from %v to %v", r.From, r.To)
	}
}

func TestAppendAllocatesLittle(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	ms, extra := second(t0, 999), metric.L("target", "shop")
	at := t0
	next := func() {
		at += 1000
		for i := range ms {
			ms[i].At = at
		}
		if err := s.Append(ms, extra); err != nil {
			t.Error(err)
		}
	}
	next()
	per := testing.AllocsPerRun(20, next) / float64(len(ms))
	if per > 0.2 { // a label set built per sample would be 1 or more
		t.Errorf("%.2f allocations per sample", per)
	}
}

func BenchmarkAppend(b *testing.B) {
	s, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ms, extra := second(t0, 1500), metric.L("target", "shop")
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		for i := range ms {
			ms[i].At = t0 + int64(n)*1000
		}
		if err := s.Append(ms, extra); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTextsWithoutEnd: the database panics over a label of more than 16 MiB, which a server may well give.
func TestTextsWithoutEnd(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := time.Now().UnixMilli()
	long := strings.Repeat("x", 17<<20)
	err = s.Append([]metric.Sample{
		{Name: "version", Labels: metric.L("version", long), At: at, Value: 1},
		{Name: long, At: at, Value: 1},
		{Name: "up", At: at, Value: 1},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Select(t.Context(), "", nil, at, at)
	if err != nil || len(all) != 1 || all[0].Name != "up" {
		t.Errorf("%d series, %v", len(all), err)
	}
}
