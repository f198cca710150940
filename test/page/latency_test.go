package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/service"
)

// bimodal is a statement that takes about a millisecond or about a hundred, by its argument.
func bimodal(i int) string {
	return fmt.Sprintf("SELECT SLEEP(%v), 'bimodal'", []float64{0.001, 0.1}[i%2])
}

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

// bands counts the stretches of the heat map with many statements, from bottom to top, where there are most: a busy
// machine has a few statements take any time between the two.
const bands = `(() => {
	const c = document.querySelector('.heat-box canvas')
	if (!c) return 0
	const {width, height} = c, d = c.getContext('2d').getImageData(0, 0, width, height).data
	let best = 0
	for (let x = Math.ceil(60 * width / c.clientWidth); x < width; x++) {
		let n = 0, gap = 9
		for (let y = 0; y < height; y++) {
			const i = 4 * (y * width + x)
			const on = d[i + 3] > 190 && d[i + 2] > d[i] + 60
			if (on && gap > 8) n++
			gap = on ? 0 : gap + 1
		}
		best = Math.max(best, n)
	}
	return best
})()`

// latencyBands looks at the class of callBimodal: its fast and its slow calls are two bands of the heat map.
func latencyBands(t *testing.T, s *Stage) {
	t.Helper()
	id := class.ID(mytext.Fingerprint(bimodal(0)))
	minutes(t, "the distribution is kept", func() error {
		var a service.Latency
		if err := getJSON(s.URL, "latency?target=shop&id="+id+"&from=-15m", &a); err != nil {
			return err
		}
		p50, p95 := a.P50.Or(0), a.P95.Or(0)
		if a.Count < 40 || p50 < 0.001 || p50 > 0.11 || p95 < 0.095 || p95 > 0.5 {
			return fmt.Errorf("%d statements, p50 %v, p95 %v, %q", a.Count, p50, p95, a.Reason)
		}
		return nil
	})
	b := s.Browser(t)
	visit(b, "/queries?target=shop&from=-10m&class="+id)
	b.Wait(".heat-box canvas")
	b.Until("two bands", func() error {
		var n int
		b.Eval(bands, &n)
		if n != 2 {
			return fmt.Errorf("%d bands", n)
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
		return nil
	})
	b := s.Browser(t)
	visit(b, "/queries?target=shop&from=-15m&class="+id)
	b.WaitText(".latency", "MariaDB does not")
	b.Axe(".latency")
}
