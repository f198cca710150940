package series

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
)

// point is a sample whose value can be compared, whatever it is.
type point struct {
	at   int64
	bits uint64
}

// full is what a store that writes everything holds: by the labels of a series, its samples and stale markers.
type full struct {
	points map[string][]point
	labels map[string]labels.Labels
	live   map[groupKey]map[string]bool
}

func newFull() *full {
	return &full{points: map[string][]point{}, labels: map[string]labels.Labels{}, live: map[groupKey]map[string]bool{}}
}

// add keeps a reading as Prometheus would.
func (f *full) add(r reading.Reading) {
	t, rest := r.At.UnixMilli(), r.Samples
	for i, p := range append(slices.Clone(r.Parts), reading.Part{Source: roundSource, Samples: -1}) {
		mine := rest
		if i < len(r.Parts) {
			mine, rest = rest[:p.Samples], rest[p.Samples:]
		}
		key, now := groupKey{r.Target, string(p.Source)}, map[string]bool{}
		for _, m := range mine {
			ls, err := join(&m, metric.L(targetLabel, r.Target), "")
			if err != nil {
				panic(err)
			}
			v := m.Value
			if v != v {
				v = ordinaryNaN
			}
			now[ls.String()] = true
			f.labels[ls.String()] = ls
			f.points[ls.String()] = append(f.points[ls.String()], point{t, math.Float64bits(v)})
		}
		for name := range f.live[key] {
			if !now[name] {
				f.points[name] = append(f.points[name], point{t, value.StaleNaN})
			}
		}
		f.live[key] = now
	}
}

// within returns what the full copy has from lo to hi.
func (f *full) within(lo, hi int64) map[string][]point {
	out := map[string][]point{}
	for name, ps := range f.points {
		for _, p := range ps {
			if p.at >= lo && p.at <= hi {
				out[name] = append(out[name], p)
			}
		}
	}
	return out
}

// stored reads everything from lo to hi.
func stored(t *testing.T, s *Store, lo, hi int64) map[string][]point {
	t.Helper()
	q, err := s.queryable().Querier(lo, hi)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	out := map[string][]point{}
	set := q.Select(t.Context(), true, nil, every())
	var it chunkenc.Iterator
	var before labels.Labels
	for set.Next() {
		x := set.At()
		if labels.Compare(before, x.Labels()) >= 0 {
			t.Errorf("%v comes after %v", x.Labels(), before)
		}
		before = x.Labels()
		it = x.Iterator(it)
		var ps []point
		for it.Next() != chunkenc.ValNone {
			at, v := it.At()
			ps = append(ps, point{at, math.Float64bits(v)})
		}
		if it.Err() != nil {
			t.Fatal(it.Err())
		}
		if len(ps) > 0 {
			out[x.Labels().String()] = ps
		}
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// world makes readings as servers do: series that stand still, move now and then or always, rows that come and go,
// sources that fail, are slow, or are read less often.
type world struct {
	rnd   *rand.Rand
	value map[string]float64
	gone  map[string]bool
	calm  bool // no source fails, no row goes
}

func newWorld(seed uint64) *world {
	return &world{rnd: rand.New(rand.NewPCG(seed, 1)), value: map[string]float64{}, gone: map[string]bool{}}
}

func (w *world) read(target string, at int64) reading.Reading {
	r := reading.Reading{Target: target, At: time.UnixMilli(at)}
	for i, src := range []struct {
		name  string
		every int64
		rows  int
	}{{"status", 1000, 12}, {"rows", 1000, 5}, {"slow", 7000, 4}, {"rare", 600_000, 2}} {
		if at%src.every != 0 || !w.calm && w.rnd.IntN(50) == 0 {
			continue
		}
		n := len(r.Samples)
		if w.calm || w.rnd.IntN(40) > 0 {
			for row := range src.rows {
				key := fmt.Sprint(target, i, row)
				if !w.calm && w.rnd.IntN(60) == 0 && src.name != "status" {
					w.gone[key] = !w.gone[key]
				}
				if w.gone[key] {
					continue
				}
				m := metric.Sample{Name: fmt.Sprintf("%s_%d", src.name, row%3), Labels: metric.L("row", fmt.Sprint(row),
					"src", src.name), At: at, Kind: metric.Kind(row % 2)}
				switch chance := []int{0, 1, 2, 30, 1000}[row%5]; {
				case chance == 0 || w.rnd.IntN(chance) > 0:
				case m.Kind == metric.Counter:
					w.value[key] += float64(w.rnd.IntN(100))
					if w.rnd.IntN(100) == 0 {
						w.value[key] = float64(w.rnd.IntN(10)) // the server was restarted
					}
				default:
					w.value[key] = []float64{
						w.rnd.NormFloat64(), 0, math.Copysign(0, -1), math.NaN(), math.Inf(1),
						math.Float64frombits(value.StaleNaN),
					}[max(0, w.rnd.IntN(40)-34)]
				}
				m.Value = w.value[key]
				r.Samples = append(r.Samples, m)
			}
		}
		r.Parts = append(r.Parts, reading.Part{Source: source.Name(src.name), Samples: len(r.Samples) - n})
	}
	r.Samples = append(r.Samples, metric.Sample{Name: "up", At: at, Value: float64(w.rnd.IntN(20) / 19)})
	return r
}

// TestSparseIsReadAsFull writes readings sparsely and reads them as if every second had been written, over restarts of
// the store, gaps and compactions.
func TestSparseIsReadAsFull(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w, exp, dir := newWorld(seed), newFull(), t.TempDir()
	s := mustOpen(t, dir)
	at := t0
	for i := range 3000 {
		at += 1000
		switch w.rnd.IntN(700) {
		case 0:
			at += int64(w.rnd.IntN(900)) * 1000 // a gap
		case 1, 2:
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = mustOpen(t, dir)
			clear(exp.live) // nobody knows any more what was there
		case 3:
			at += 500 // the clock was set
		}
		for _, target := range []string{"a", "b"}[:1+i%2] {
			r := w.read(target, at)
			exp.add(r)
			if err := s.AppendRound(r); err != nil {
				t.Fatal(err)
			}
		}
		if i == 2300 {
			if err := s.db.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	compare := func(lo, hi int64) {
		t.Helper()
		if d := cmp.Diff(exp.within(lo, hi), stored(t, s, lo, hi), cmp.AllowUnexported(point{})); d != "" {
			t.Fatalf("from %d to %d: %.3000s", lo-t0, hi-t0, d)
		}
	}
	compare(math.MinInt64, math.MaxInt64)
	for range 20 {
		lo := t0 + w.rnd.Int64N(at-t0)
		compare(lo, lo+w.rnd.Int64N(1_000_000))
	}
	seeks(t, s, exp, w.rnd, at)
	if names, err := s.Names(t.Context()); err != nil || slices.Contains(names, markName) {
		t.Errorf("%v, %v", names, err)
	}
	stores := 0
	set := mustRaw(t, s)
	for set.Next() {
		if set.At().Labels().Get(nameLabel) == markName {
			continue
		}
		for it := set.At().Iterator(nil); it.Next() != chunkenc.ValNone; {
			stores++
		}
	}
	all := 0
	for _, ps := range exp.points {
		all += len(ps)
	}
	t.Logf("%d samples, %d stored", all, stores)
	if stores >= all {
		t.Errorf("%d samples were stored for %d", stores, all)
	}
}

func mustRaw(t *testing.T, s *Store) storage.SeriesSet {
	t.Helper()
	q, err := s.db.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q.Select(t.Context(), false, nil, every())
}

// seeks goes through the series in leaps.
func seeks(t *testing.T, s *Store, exp *full, rnd *rand.Rand, end int64) {
	t.Helper()
	q, err := s.queryable().Querier(t0, end)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	set := q.Select(t.Context(), false, nil, every())
	for set.Next() {
		x := set.At()
		all := exp.points[x.Labels().String()]
		it, i, at := x.Iterator(nil), 0, t0
		for {
			var typ chunkenc.ValueType
			if rnd.IntN(2) == 0 {
				at += rnd.Int64N([]int64{3000, 100_000, 1_000_000}[rnd.IntN(3)])
				for i < len(all) && all[i].at < at {
					i++
				}
				typ = it.Seek(at)
			} else if typ = it.Next(); i < len(all) && (at > t0 && all[i].at <= at) {
				i++
			}
			if i == len(all) {
				if typ != chunkenc.ValNone {
					t.Fatalf("%v goes on behind its end", x.Labels())
				}
				break
			}
			if typ == chunkenc.ValNone {
				t.Fatalf("%v ends before %v", x.Labels(), all[i])
			}
			got, v := it.At()
			if got != all[i].at || math.Float64bits(v) != all[i].bits {
				t.Fatalf("%v: %d %v, want %v", x.Labels(), got, v, all[i])
			}
			at = got
		}
	}
	if set.Err() != nil {
		t.Fatal(set.Err())
	}
}

func TestRoundIsTakenOnceAndInOrder(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	put := func(at int64, v float64) error {
		return s.AppendRound(reading.Reading{
			Target: "a", At: time.UnixMilli(at),
			Samples: []metric.Sample{{Name: "x", At: at, Value: v}},
		})
	}
	for range 2 { // the second time a process that remembers nothing
		for _, at := range []int64{t0, t0, t0 + 1000, t0 + 2000} {
			err := put(at, 1)
			var late *OutOfOrderError
			if err != nil && (!errors.As(err, &late) || late.Samples != 1) {
				t.Fatal(err)
			}
		}
		var late *OutOfOrderError
		if err := put(t0+500, 2); !errors.As(err, &late) {
			t.Fatalf("an older round: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, dir)
	}
	got := mustSelect(t, s, "x", nil, 0, math.MaxInt64)
	exp := []metric.Series{{Name: "x", Labels: metric.L("target", "a"), Points: []metric.Point{
		{At: t0, Value: 1},
		{At: t0 + 1000, Value: 1},
		{At: t0 + 2000, Value: 1},
	}}}
	if d := cmp.Diff(exp, got); d != "" {
		t.Error(d)
	}
}

func TestRoundLeavesOutWhatCannotBeStored(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	r := reading.Reading{
		Target: "a", At: time.UnixMilli(t0), Parts: []reading.Part{{Source: "x", Samples: 3}},
		Samples: []metric.Sample{
			{Name: "x", Value: 1},
			{Name: "", Value: 1},
			{Name: "y", Labels: metric.L("target", "b")},
			{Name: "z", Value: 2},
		},
	}
	if err := s.AppendRound(r); err != nil {
		t.Fatal(err)
	}
	if got := mustSelect(t, s, "", nil, t0, t0); len(got) != 2 || len(s.Warnings()) != 2 {
		t.Errorf("%v, %q", got, s.Warnings())
	}
	r.Target = ""
	if err := s.AppendRound(r); err == nil {
		t.Error("a reading of nobody is stored")
	}
	r.Target, r.At, r.Parts[0].Samples = "a", time.UnixMilli(t0+1000), 9
	if err := s.AppendRound(r); err == nil {
		t.Error("more parts than samples are stored")
	}
	if got := mustSelect(t, s, "", nil, t0+1000, t0+1000); len(got) != 0 {
		t.Errorf("part of a refused round is stored: %v", got)
	}
}

// TestStandingStill counts what a series costs that does not move.
func TestStandingStill(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	for i := range int64(3600) {
		r := reading.Reading{
			Target: "a", At: time.UnixMilli(t0 + i*1000),
			Samples: []metric.Sample{{Name: "x", Value: 1}},
		}
		if err := s.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
	set, n := mustRaw(t, s), 0
	for set.Next() {
		if set.At().Labels().Get(nameLabel) == "x" {
			for it := set.At().Iterator(nil); it.Next() != chunkenc.ValNone; {
				n++
			}
		}
	}
	if exp := 3600/300 + int(runOffMS/1000) + 1; n > exp {
		t.Errorf("an hour is %d samples, want at most %d", n, exp)
	}
	if got := mustSelect(t, s, "x", nil, t0, math.MaxInt64); len(got) != 1 || len(got[0].Points) != 3600 {
		t.Error("not every second is read")
	}
}

// TestSourceMoves lets another source give a series: it stays one series.
func TestSourceMoves(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	for i := range int64(20) {
		at := t0 + i*1000
		r := reading.Reading{
			Target: "a", At: time.UnixMilli(at), Samples: []metric.Sample{{Name: "x", Value: 1}},
			Parts: []reading.Part{{Source: source.Name(fmt.Sprint(i / 10)), Samples: 1}},
		}
		if err := s.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
	if got := mustSelect(t, s, "x", nil, t0, math.MaxInt64); len(got) != 1 || len(got[0].Points) != 20 {
		t.Errorf("%+v", got)
	}
}
