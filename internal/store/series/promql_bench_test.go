package series

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
)

// BenchmarkQueryRange asks what a page of graphs asks: ten series over an hour, 240 points each.
func BenchmarkQueryRange(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "s"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	rnd := rand.New(rand.NewPCG(1, 2))
	var values [10]float64
	for i := range 3600 {
		r := reading.Reading{Target: "a", At: time.UnixMilli(t0 + int64(i)*1000)}
		for j := range values {
			values[j] += float64(rnd.IntN(1000))
			r.Samples = append(r.Samples, metric.Sample{
				Name: "m", Labels: metric.L("n", fmt.Sprint(j)),
				Kind: metric.Counter, At: r.At.UnixMilli(), Value: values[j],
			})
		}
		if err := s.AppendRound(r); err != nil {
			b.Fatal(err)
		}
	}
	e := NewEngine(s, nil, Limits{})
	for _, expr := range []string{`m`, `rate(m[1m])`, `sum(rate(m[5m]))`} {
		b.Run(expr, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a, err := e.QueryRange(b.Context(), expr, moment(0), moment(3599), 15*time.Second, QueryOptions{})
				if err != nil || len(a.Series) == 0 {
					b.Fatal(err)
				}
				_ = a.AppendJSON(nil)
			}
		})
	}
}
