package series

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
)

// The benchmarks fill a store with a server of 1500 series, one reading a second, and measure what it costs to keep and
// to read. They take minutes: DYNO_BENCH_SERIES_HOURS says how much is written, else they are skipped.

// mix makes readings of a server: of 1500 series 1 - busy stand still, and of the others two thirds are counters. idle
// ones move once in a while.
type mix struct {
	rnd     *rand.Rand
	samples []metric.Sample
	moves   []float64 // chance to move in a second
	speed   []float64
}

func newMix(busy float64) *mix {
	m := &mix{rnd: rand.New(rand.NewPCG(1, 2))}
	for i := range 1500 {
		kind := metric.Counter
		if i%3 == 0 {
			kind = metric.Gauge
		}
		m.samples = append(m.samples, metric.Sample{
			Name:   fmt.Sprintf("mysql_global_status_%03d", i/3),
			Labels: metric.L("i", strconv.Itoa(i)), Kind: kind, Value: float64(m.rnd.IntN(1_000_000)),
		})
		chance := 0.0002
		if m.rnd.Float64() < busy {
			chance = []float64{1, 1, 1, 0.3, 0.05}[i%5]
		}
		m.moves = append(m.moves, chance)
		m.speed = append(m.speed, []float64{3, 40, 2000, 1e6}[i%4])
	}
	return m
}

func (m *mix) reading(at int64) reading.Reading {
	for i := range m.samples {
		x := &m.samples[i]
		x.At = at
		if m.rnd.Float64() >= m.moves[i] {
			continue
		}
		switch x.Kind {
		case metric.Counter:
			x.Value += float64(int64(m.speed[i] * (0.8 + 0.4*m.rnd.Float64())))
		default:
			x.Value = float64(int64(m.speed[i] * m.rnd.Float64()))
		}
	}
	return reading.Reading{
		Target: "shop", At: time.UnixMilli(at), Samples: m.samples,
		Parts: []reading.Part{{Source: "global_status", Samples: len(m.samples)}},
	}
}

func benchHours(b *testing.B) int {
	h, err := strconv.Atoi(os.Getenv("DYNO_BENCH_SERIES_HOURS"))
	if err != nil {
		b.Skip("DYNO_BENCH_SERIES_HOURS says how many hours are written")
	}
	return h
}

// fillMix writes hours and returns the store, compacted, and the time of the last reading.
func fillMix(b *testing.B, dir string, busy float64, hours int) (*Store, int64) {
	b.Helper()
	s, err := openStill(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	m, at, began := newMix(busy), t0, time.Now()
	for i := range hours * 3600 {
		at += 1000
		if err := s.AppendRound(m.reading(at)); err != nil {
			b.Fatal(err)
		}
		if i%1800 == 1799 {
			if err := condense(b.Context(), s); err != nil {
				b.Fatal(err)
			}
			if err := s.db.Compact(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := s.minutes.Compact(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d hours written in %v", hours, time.Since(began).Round(time.Second))
	return s, at
}

func blockBytes(dir string) (n int64) {
	_ = eachBlock(dir, func(block string) {
		_ = filepath.WalkDir(block, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				if st, err := d.Info(); err == nil {
					n += st.Size()
				}
			}
			return nil
		})
	})
	return n
}

func BenchmarkStore(b *testing.B) {
	hours := benchHours(b)
	for _, x := range []struct {
		name string
		busy float64
	}{{"real", 0.11}, {"busy", 0.7}} {
		b.Run(x.name, func(b *testing.B) {
			dir := b.TempDir()
			s, end := fillMix(b, dir, x.busy, hours)
			seconds := 0.0
			for _, k := range s.db.Blocks() {
				seconds += float64(k.Meta().MaxTime-k.Meta().MinTime) / 1000 * 1500
			}
			b.Logf("seconds: %d blocks, %.3f bytes per series and second in blocks", len(s.db.Blocks()),
				float64(blockBytes(dir))/seconds)
			made := 0.0
			for _, k := range s.minutes.Blocks() {
				made += float64(k.Meta().MaxTime-k.Meta().MinTime) / 1000 * 1500
			}
			b.Logf("minutes: %d blocks, %.3f bytes per series and second in blocks", len(s.minutes.Blocks()),
				float64(blockBytes(filepath.Join(dir, minutesDir)))/made)
			end = floor(end, minuteMS)
			e := NewEngine(s, nil, Limits{})
			f := func(name, expr string, span, step time.Duration) {
				if span > time.Duration(hours)*time.Hour {
					return
				}
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						if _, err := e.QueryRange(b.Context(), expr, time.UnixMilli(end).Add(-span),
							time.UnixMilli(end), step, QueryOptions{}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			ten := `{i=~"10[0-9]"}`
			f("rate_1h", `rate(`+ten+`[1m])`, time.Hour, 15*time.Second)
			f("rate_24h", `rate(`+ten+`[5m])`, 24*time.Hour, 2*time.Minute)
			f("rate_24h_seconds", `rate(`+ten+`[90s])`, 24*time.Hour, 90*time.Second)
			f("rate_7d", `rate(`+ten+`[15m])`, 7*24*time.Hour, 10*time.Minute)
			b.Run("select_24h", func(b *testing.B) {
				for b.Loop() {
					q, err := s.queryable().Querier(end-24*3_600_000, end)
					if err != nil {
						b.Fatal(err)
					}
					set, n := q.Select(b.Context(), false, nil,
						labels.MustNewMatcher(labels.MatchRegexp, "i", "10[0-9]")), 0
					for set.Next() {
						for it := set.At().Iterator(nil); it.Next() != 0; {
							n++
						}
					}
					if err := q.Close(); err != nil || n == 0 {
						b.Fatal(n, err)
					}
				}
			})
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.Logf("heap %d MiB, from the system %d MiB", m.HeapAlloc>>20, m.Sys>>20)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.Run("open", func(b *testing.B) {
				for b.Loop() {
					s, err := openStill(dir, Options{})
					if err != nil {
						b.Fatal(err)
					}
					if err := s.Close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func BenchmarkAppendRound(b *testing.B) {
	for _, busy := range []float64{0.11, 0.7} {
		b.Run(fmt.Sprint(busy), func(b *testing.B) {
			s, err := Open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			m, at := newMix(busy), t0
			b.ReportAllocs()
			for b.Loop() {
				at += 1000
				if err := s.AppendRound(m.reading(at)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
