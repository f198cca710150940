package page

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/compare"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/store/trials"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/browser"
)

const figuresPlan = `dyno_plan: 1
name: page-figures
title: How many sessions?
server: mariadb
workload: oltp_point_select
options: {table-size: %d}
axes:
  - threads: [1, 2, 4, 8]
trials: {time: 5s, rounds: 5..5, margin: 5%%, fresh: none}
show: [tps, p95_ms]
`

// measured keeps an experiment whose trials have known rates, as the program keeps one that it has carried out: five
// rounds in which the rates of a variant sway by a per cent around those given by its number of sessions.
func measured(t *testing.T, home, id, text string, began time.Time, tps map[string]float64) *trial.Result {
	t.Helper()
	p, err := plan.Parse([]byte(text), plan.Options{File: "plan of " + id, Workloads: workload.All()})
	if err != nil {
		t.Fatal(err)
	}
	vs, err := p.Variants()
	if err != nil {
		t.Fatal(err)
	}
	d, err := trials.Create(filepath.Join(home, "experiments", id), trials.Header{
		ID: id, Plan: text, Hash: p.Hash(),
		Dyno: "1.0", Started: began,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := &trial.Result{Format: trial.Format, ID: id, Plan: p, PlanText: text, Dyno: "1.0", Started: began, Variants: vs}
	put := func(round int, v plan.Variant, control bool, wobble float64) {
		rate := tps[v.Levels["threads"]] * wobble
		x := trial.Trial{
			Seq: len(r.Trials) + 1, Round: round, Variant: v.Key, Control: control,
			From:  began.Add(time.Duration(6*len(r.Trials)) * time.Second),
			Setup: 0.5, Warm: 0.5, Values: map[string]float64{"tps": rate, "p95_ms": 4000 / rate},
		}
		x.To = x.From.Add(5 * time.Second)
		for s := range 5 {
			x.Seconds = append(x.Seconds, trial.Second{
				At:     x.From.Add(time.Duration(s) * time.Second),
				Length: 1, Ops: uint64(rate),
			})
		}
		if err := d.Put(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		r.Trials = append(r.Trials, x)
	}
	for i, wobble := range []float64{1, 1.01, 0.99, 1.005, 0.995} {
		for k, v := range vs {
			put(i+1, v, false, wobble+0.001*float64((i+k)%3-1))
		}
		put(i+1, vs[0], true, wobble)
	}
	r.Ended = r.Trials[len(r.Trials)-1].To
	compare.Fill(r)
	if err := d.PutResult(*r); err != nil {
		t.Fatal(err)
	}
	return r
}

// cellsSay waits until the cells of the table behind the names of the row of a variant have these words, each in its
// place.
func cellsSay(b *browser.Tab, variant string, want ...string) {
	b.Until("the row of "+variant, func() error {
		var cells []string
		b.Eval(
			fmt.Sprintf(
				`[...(document.querySelector('.lab-grid td[data-variant="%s"]')?.closest('tr').querySelectorAll('td') ?? [])].map((c) => c.innerText.replace(/\s+/g, ' ').trim())`, variant), &cells)
		for i, all := range want {
			for _, w := range strings.Fields(all) {
				if i >= len(cells) || !strings.Contains(cells[i], w) {
					return fmt.Errorf("cell %d has no %q: %q", i+1, w, cells)
				}
			}
		}
		return nil
	})
}

// TestVerdicts keeps experiments of known outcome: the page says what is better, worse and the same, by how much, and
// sets two of them beside each other.
func TestVerdicts(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real browser")
	}
	home := folder(t)
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	small, large := fmt.Sprintf(figuresPlan, 500), fmt.Sprintf(figuresPlan, 9000)
	first := measured(t, home, "x-first1", small, began, map[string]float64{"1": 1000, "2": 1500, "4": 700, "8": 1000})
	measured(t, home, "x-second", small, began.Add(20*time.Minute), map[string]float64{
		"1": 2000,
		"2": 1500, "4": 350, "8": 1000,
	})
	measured(t, home, "x-larger", large, began.Add(40*time.Minute), map[string]float64{
		"1": 900,
		"2": 900, "4": 900, "8": 900,
	})
	p := serve(t, home)
	b := tab(t, p.URL)

	// The list has the newest first, each with how its comparisons came out.
	visit(b, "/experiments")
	b.Until("the list", func() error {
		rows := b.Texts("main tbody tr")
		if len(rows) != 3 {
			return fmt.Errorf("rows are %q", rows)
		}
		for i, all := range [][]string{
			{"x-larger", "3 same"},
			{"x-second", "3 worse"},
			{"x-first1", "1 better", "1 worse", "1 same", "25"},
		} {
			for _, w := range all {
				if !strings.Contains(rows[i], w) {
					return fmt.Errorf("row %d has no %q: %q", i+1, w, rows)
				}
			}
		}
		return nil
	})

	visit(b, "/experiments?id=x-first1")
	b.WaitText(".lab-sentence", "2 of 3 differ (1 better, 1 worse), 1 the same")
	for _, words := range []string{"1 better", "1 worse", "1 same"} {
		b.WaitText(".lab-tallies", words)
	}
	b.WaitText(".lab-outcome", "A/A control: same")
	b.WaitText(".lab-grid thead", "Transactions/s")
	cellsSay(b, "threads=1", "1000", "–", "5", "baseline")
	cellsSay(b, "threads=2", "1500", "–", "5", "▲ ×1.50 better", "1.49 –", "5")
	cellsSay(b, "threads=4", "700", "–", "5", "▼ ×0.70 worse", "0.69 –", "5")
	cellsSay(b, "threads=8", "1000", "–", "5", "= ×1.00 same", "–", "5")
	figuresAre(t, b, first)
	shots(b, "lab-verdicts", "main")
	// The other value has its unit, and is the better the less it is.
	b.ClickText("Latency p95, ms")
	b.WaitText(".lab-grid thead", "Latency p95, ms")
	cellsSay(b, "threads=1", "4.00")
	cellsSay(b, "threads=4", "5.71", "–", "5", "×1.428")

	// Beside each other: each pair of one variant, the first experiment is the baseline.
	visit(b, "/experiments?id=x-first1")
	b.Click("[title='Compare with another experiment']")
	b.Wait(".menu-list")
	b.ClickText("x-second")
	b.WaitURL("with=x-second")
	b.Wait("x-first1 compared with x-second")
	b.Wait("They were measured separately, not interleaved")
	b.Wait("x-first1 is the baseline")
	b.WaitText(".lab-sentence", "2 of 4 differ (1 better, 1 worse), 2 the same")
	b.WaitText(".lab-grid thead", "x-second")
	cellsSay(b, "threads=1,result=x-first1", "1000 n=5", "2000 n=5 ▲ ×2.00 better")
	cellsSay(b, "threads=2,result=x-first1", "1500", "1500 = ×1.00 same")
	cellsSay(b, "threads=4,result=x-first1", "700", "350 n=5 ▼ ×0.500 worse")
	shots(b, "lab-beside", "main")
	b.ClickText("Close comparison")
	b.WaitGone("compared with x-second")
	b.WaitText(".lab-sentence", "2 of 3 differ")

	// Those whose plans differ in what decides are shown apart, and why.
	refusals(b, "409", `experiment\?id=x-first1&with=x-larger$`)
	visit(b, "/experiments?id=x-first1&with=x-larger")
	b.Wait("They cannot be compared.")
	b.Wait("table-size: 500, 9000")
	for i, words := range []string{"1500", "900"} {
		b.WaitText(fmt.Sprintf(".lab-beside section:nth-of-type(%d) td[data-variant='threads=2']", i+1), words)
	}
	shots(b, "lab-apart", "main")
}

// TestPrinted has a page printed that is dark on the screen: paper is white, what is pressed on a screen is not on it,
// and all is as wide as a sheet.
func TestPrinted(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real browser")
	}
	home := folder(t)
	measured(t, home, "x-printed", fmt.Sprintf(figuresPlan, 500), time.Now().Add(-time.Hour),
		map[string]float64{"1": 1000, "2": 1500, "4": 700, "8": 1000})
	p := serve(t, home)
	b := tab(t, p.URL)
	visit(b, "/experiments?id=x-printed")
	b.Click(`[aria-label="Theme: the system's"]`)
	b.Click(`[aria-label="Theme: light"]`)
	b.WaitFor(`document.documentElement.dataset.theme === 'dark'`)
	b.Wait(".rail")
	b.WaitText("td[data-variant='threads=2']", "1500")
	b.Paper()
	for _, css := range []string{".rail", ".bar-side", ".lab-choice", ".skip"} {
		b.Until(css+" is not printed", func() error {
			if n := len(b.Texts(css)); n > 0 {
				return errNotYet
			}
			return nil
		})
	}
	b.WaitText(".lab-sentence", "2 of 3 differ")
	cellsSay(b, "threads=2", "1500", "–", "5", "▲ ×1.50 better")
	if n := b.Sideways(); n > 0 {
		t.Errorf("%d pixels do not fit on the sheet", n)
	}
	// Backgrounds are not printed: each word must be seen on white.
	var pale []string
	b.Eval(`(() => {
		const light = (c) => { const v = c / 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
		const faint = (e) => {
			const [r, g, b, a = 1] = getComputedStyle(e).color.match(/[\d.]+/g).map(Number);
			const on = (c) => light(c * a + 255 * (1 - a));
			return 1.05 / (0.2126 * on(r) + 0.7152 * on(g) + 0.0722 * on(b) + 0.05) < 4.5;
		};
		return [...document.querySelectorAll('main *, h1')].filter((e) => e.getClientRects().length && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) && !e.closest('svg'))
			.filter(faint).map((e) => e.innerText).slice(0, 10);
	})()`, &pale)
	if len(pale) > 0 {
		t.Errorf("on white paper nobody can read %q", pale)
	}
	b.ShotAll("printed")
}
