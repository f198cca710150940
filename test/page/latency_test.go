package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/service"
)

// bimodal is a statement that takes about a millisecond or about 1200, by its argument.
func bimodal(i int) string {
	return fmt.Sprintf("SELECT SLEEP(%v), 'bimodal'", []float64{0.001, 0.001, 1.2}[i%3])
}

// bimodals is how many calls of it there are, a third of them slow.
const bimodals = 45

// callBimodal calls both kinds so many times.
func (s *Stage) callBimodal(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		var a, b string
		if err := s.DB.QueryRowContext(t.Context(), bimodal(i)).Scan(&a, &b); err != nil {
			t.Fatal(err)
		}
	}
}

// bands says of each of three stretches of the heat map, from the top, whether anything in them is painted in the
// colour of statements: above both edges, which are shares of its height, between them, and below.
const bands = `((upper, lower) => {
	const c = document.querySelector('.heat-box canvas')
	const {width, height} = c, d = c.getContext('2d').getImageData(0, 0, width, height).data
	const out = [false, false, false]
	const edge = (x) => (4 + x * (c.clientHeight - 26)) * height / c.clientHeight
	for (let y = 0; y < height; y++) for (let x = Math.ceil(60 * width / c.clientWidth); x < width; x++) {
		const i = 4 * (y * width + x)
		if (d[i + 3] > 20 && d[i + 2] > d[i] + 60) out[y < edge(upper) - 1 ? 0 : y > edge(lower) + 1 ? 2 : 1] = true
	}
	return out.join()
})(%v, %v)`

// latencyBands looks at the class of callBimodal: its fast and its slow calls are two bands of the heat map.
func latencyBands(t *testing.T, s *Stage) {
	t.Helper()
	id := class.ID(mytext.Fingerprint(bimodal(0)))
	var a service.Latency
	minutes(t, "the distribution is kept", func() error {
		if err := getJSON(s.URL, "latency?target=shop&id="+id+"&from=-15m", &a); err != nil {
			return err
		}
		p50, p95 := a.P50.Or(0), a.P95.Or(0)
		if a.Count != bimodals || p50 < 0.001 || p50 > 0.3 || p95 < 1.1 || p95 > 5 {
			return fmt.Errorf("%d statements, p50 %v, p95 %v, %q", a.Count, p50, p95, a.Reason)
		}
		return nil
	})
	b := s.Browser(t)
	visit(b, "/queries?target=shop&from=-10m&class="+id)
	b.Wait(".heat-box canvas")
	// Between the edges of rows at about 1.1 and 0.8 s there is nothing.
	share := func(sec float64) float64 {
		row := slices.IndexFunc(a.Bounds, func(x float64) bool { return x > sec }) - 1
		return 1 - float64(row)/float64(len(a.Bounds)-1)
	}
	b.Until("two bands", func() error {
		var got string
		b.Eval(fmt.Sprintf(bands, share(1.15), share(0.8)), &got)
		if got != "true,false,true" {
			return fmt.Errorf("slow, between, fast: %s", got)
		}
		return nil
	})
	b.Eval("document.querySelector('.heat-box').focus(), 1", new(int))
	b.Key("ArrowLeft")
	b.WaitText(".heat-at", " statements")
	b.Axe(".latency")
	shots(b, "latency", ".latency")
}

// TestNoLatency looks at a class of a server without histograms: the page says why, and what would help.
func TestNoLatency(t *testing.T) {
	s := stage(t)
	s.callBimodal(t, 4)
	id := class.ID(mytext.Fingerprint(bimodal(0)))
	minutes(t, "the reason is kept", func() error {
		var a service.Latency
		if err := getJSON(s.URL, "latency?target=shop&id="+id+"&from=-15m", &a); err != nil {
			return err
		}
		if a.Count != 0 || !strings.Contains(a.Reason, "MariaDB does not") ||
			!strings.Contains(a.Reason, "slow_query_log is off") {
			return fmt.Errorf("%+v", a)
		}
		return getJSON(s.URL, "class?target=shop&id="+id+"&from=-15m", &struct{}{})
	})
	b := s.Browser(t)
	visit(b, "/queries?target=shop&from=-15m&class="+id)
	b.WaitText(".latency", "MariaDB does not")
	b.Axe(".latency")
}
