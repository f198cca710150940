package remotewrite

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// BenchmarkForward sends five seconds of one target, as serve does it.
func BenchmarkForward(b *testing.B) {
	const n = 2000
	st, err := series.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }))
	defer r.Close()
	from := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	var ss []metric.Sample
	for i := range n {
		ss = append(ss, metric.Sample{
			Name:   fmt.Sprintf("mysql_global_status_some_%d", i%400),
			Labels: metric.L("what", fmt.Sprint(i)), Kind: metric.Counter,
		})
	}
	for at := from; at.Before(from.Add(5 * time.Minute)); at = at.Add(time.Second) {
		for i := range ss {
			if ss[i].At = at.UnixMilli(); i%10 == 0 {
				ss[i].Value += float64(i)
			}
		}
		if err := st.AppendRound(reading.Reading{
			Target: "t", At: at, Samples: ss,
			Parts: []reading.Part{{Source: "s", Samples: n}},
		}); err != nil {
			b.Fatal(err)
		}
	}
	w, err := New(Options{URL: r.URL, Cursor: b.TempDir() + "/c", Backfill: true, Rate: 1e9}, st)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.cur.Acked, w.span = from.Add(4*time.Minute).UnixMilli(), 5*time.Second
		clear(w.last)
		if _, err := w.forward(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(w.Status().Bytes)/float64(w.Status().Samples), "bytes/sample")
	b.ReportMetric(float64(w.Status().Samples)/float64(b.N), "samples/op")
}
