package page

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/browser"
)

// figureOf reads the figure of a name at the head of a page, with its unit.
func figureOf(b *browser.Tab, label string) (value, unit string) {
	var x struct{ Value, Unit string }
	b.Eval(fmt.Sprintf(`(() => {
		const f = [...document.querySelectorAll('.figure')].find((f) => f.querySelector('.figure-label').innerText === %q);
		const unit = f?.querySelector('.figure-value .unit')?.innerText ?? '';
		const all = f?.querySelector('.figure-value')?.innerText ?? '';
		return {Value: all.slice(0, all.length - unit.length).trim(), Unit: unit};
	})()`, label), &x)
	return x.Value, x.Unit
}

// plain reads a figure as the page writes it; "–" is none.
func plain(text string) (float64, error) {
	times := 1.0
	if n, ok := strings.CutSuffix(text, "k"); ok {
		text, times = n, 1000
	}
	v, err := strconv.ParseFloat(text, 64)
	return v * times, err
}

// timeShown is a time as the page writes it, "1.23 ms"; beside a figure the unit stands apart without a space.
const timeShown = `([0-9.]+k?) ?(s|ms|µs|ns)`

// seconds reads one.
func seconds(text string) (float64, error) {
	m := regexp.MustCompile("^" + timeShown + "$").FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q is no time", text)
	}
	v, err := plain(m[1])
	return v * map[string]float64{"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[m[2]], err
}

// TestOverhead holds the page to what GET cost answers, and that to what the server counts.
func TestOverhead(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/overhead?target=shop&span=1h")
	b.Wait("global_status")
	near := func(a, b float64) bool { return math.Abs(a-b) <= 0.15*math.Max(math.Abs(a), math.Abs(b)) }
	b.Until("the figures of GET cost", func() error { // they are known from two readings on
		var want struct {
			Server     float64 `json:"server_seconds_per_second"`
			Statements float64 `json:"statements_per_second"`
		}
		s.Get("cost?target=shop&span=1h", &want)
		v, unit := figureOf(b, "Server time per second")
		if got, err := seconds(v + " " + unit); err != nil {
			return err
		} else if !near(got, want.Server) {
			return fmt.Errorf("server time is %s %s, want %v s", v, unit, want.Server)
		}
		v, unit = figureOf(b, "Statements")
		if got, err := plain(v); err != nil {
			return err
		} else if unit != "/s" || !near(got, want.Statements) {
			return fmt.Errorf("statements are %s %s, want %v", v, unit, want.Statements)
		}
		return nil
	})
	head := b.Text("table.table thead")
	for _, w := range []string{"Server time per second", "% of budget", "Read time", "Every"} {
		if !strings.Contains(words(head), w) {
			t.Errorf("the table has no %q: %q", w, head)
		}
	}
	// The row of a source: its share of a budget, and the mean of a reading with its interval, as GET cost has them.
	b.Until("the row of global_status", func() error {
		var want struct {
			Sources []struct {
				Name string
				Mean float64 `json:"mean_ms"`
				Low  float64 `json:"low_ms"`
				High float64 `json:"high_ms"`
			}
		}
		s.Get("cost?target=shop&span=1h", &want)
		var cells []string
		b.Eval(
			`[...([...document.querySelectorAll('table.table tbody tr')].find((r) => r.innerText.includes('global_status'))?.cells ?? [])].map((c) => c.innerText.replace(/\s+/g, ' ').trim())`, &cells)
		if len(cells) < 4 || !strings.Contains(cells[2], "% of ") {
			return fmt.Errorf("it has no share of a budget: %q", cells)
		}
		m := regexp.MustCompile("^" + timeShown + " " + timeShown + " – " + timeShown + "$").
			FindStringSubmatch(cells[3])
		if m == nil {
			return fmt.Errorf("it has no mean with an interval: %q", cells)
		}
		for _, x := range want.Sources {
			if x.Name != "global_status" {
				continue
			}
			for i, ms := range []float64{x.Mean, x.Low, x.High} {
				if got, err := seconds(m[2*i+1] + m[2*i+2]); err != nil {
					return err
				} else if !near(got, ms/1000) {
					return fmt.Errorf("it says %q, want %v ms within %v to %v", cells[3], x.Mean, x.Low, x.High)
				}
			}
			return nil
		}
		return fmt.Errorf("GET cost has no global_status: %+v", want)
	})
	b.Until("Dyno's memory", func() error {
		v, unit := figureOf(b, "Memory")
		if got, err := plain(v); err != nil {
			return err
		} else if unit != "MiB" || got < 10 {
			return fmt.Errorf("it is %s %s", v, unit)
		}
		return nil
	})
	inBoth(b, "overhead")
}

// TestOverheadOfNothing: of a server that was never reached nothing is measured, which is not nothing.
func TestOverheadOfNothing(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/overhead?target=down")
	b.Wait("Not measured in this time range")
	if v, _ := figureOf(b, "Server time per second"); v != "–" {
		t.Errorf("server time is %q", v)
	}
	inBoth(b, "overhead-down")
}
