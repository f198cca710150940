package page

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"

	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/test/browser"
)

const labPlan = `dyno_plan: 1
name: page-threads
title: Are more sessions better on <b>this</b> machine?
server: mariadb
settings: {innodb_buffer_pool_size: 32M}
workload: oltp_point_select
options: {table-size: 500}
axes:
  - threads: [1, 2, 4]
placement: shared
trials: {time: 1s, warmup: 200ms..200ms, rounds: 3..3, margin: 25%, fresh: none}
show: [tps, p95_ms]
prices: [{for: {threads: 1}, month: 40}]
`

// labHome is a home that the account of private servers can enter; they are gone with the test.
func labHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "dyno-page-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if y, err := sandbox.Open(home, app.Makers()...); err == nil {
			if err := y.RemoveAll(context.Background()); err != nil {
				t.Error(err)
			}
		}
		os.RemoveAll(home)
	})
	return home
}

// reported reads an experiment as `dyno report ID --output json` gives it.
func reported(t *testing.T, home, id string) *trial.Result {
	t.Helper()
	var d struct{ Comparison *trial.Result }
	if err := json.Unmarshal([]byte(try(t, home, "report", id, "--output", "json")), &d); err != nil {
		t.Fatal(err)
	}
	return d.Comparison
}

// TestExperiments runs an experiment from the command line and a recipe from the page, both for real: the page shows
// the figures of the report, a recipe can be started, watched, stopped and resumed; what it disturbs is shown first.
func TestExperiments(t *testing.T) {
	s := stage(t)
	home := labHome(t)
	try(t, home, "target", "add", "shop", s.Server.URL("root"))
	p := serve(t, home)
	p.waitUp(t, "shop")
	b := tab(t, p.URL)

	b.Open("/experiments")
	b.Wait("No experiments yet")
	b.Wait("threads")
	b.Axe()
	b.Shot("lab-empty")

	plan := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(plan, []byte(labPlan), 0o600); err != nil {
		t.Fatal(err)
	}
	compare := exec.Command(dyno, "compare", plan)
	compare.Env = append(os.Environ(), "DYNO_HOME="+home)
	out, cerr := compare.CombinedOutput() // a noisy machine leaves it undecided, which has an exit code of its own
	dirs, err := filepath.Glob(filepath.Join(home, "experiments", "x-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%v %v: %v\n%s", dirs, err, cerr, out)
	}
	id := filepath.Base(dirs[0])
	r := reported(t, home, id)

	b.Open("/experiments")
	b.Wait(id)
	b.Wait("finished")
	b.ClickText("Are more sessions better on <b>this</b> machine?")
	b.WaitURL("id=" + id)
	b.Wait(".lab-grid")
	b.WaitText("main", r.Sentence)
	figuresAre(t, b, r)
	b.Wait(fmt.Sprintf("%d trials in 3 rounds", len(r.Trials)))
	b.Wait("$40")
	for _, picture := range []string{
		"Transactions/s over threads", "Every comparison with its interval",
		"Step by step", "Second by second",
	} {
		b.Wait(picture)
	}
	b.Light()
	b.Settle()
	b.Axe()
	b.ShotAll("lab-experiment-light")
	b.Dark()
	b.Axe()
	b.ShotAll("lab-experiment-dark")
	b.Light()

	// Another value, a cell in full, both in the URL and there again after a reload.
	b.ClickText("Latency p95, ms")
	b.WaitURL("value=p95_ms")
	b.Click(`td[data-variant="threads=2"] button`)
	b.WaitURL("cell=threads")
	b.Reload()
	b.Wait(".lab-cell-detail")
	want := 0
	for _, x := range r.Trials {
		if x.Variant == "threads=2" {
			want++
		}
	}
	if got := b.Count(".lab-cell-detail .lab-trial-bar"); got != want {
		t.Errorf("%d trials of the cell are shown, the report has %d", got, want)
	}
	b.Shot("lab-cell")

	t.Run("phone", func(t *testing.T) {
		b.Phone()
		b.Settle()
		if n := b.Sideways(); n != 0 {
			var who []string
			b.Eval(
				`[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth && e.getBoundingClientRect().right < innerWidth + 8).map((e) => e.tagName + '.' + e.className + ' ' + Math.round(e.getBoundingClientRect().right)).slice(0, 40)`, &who)
			t.Errorf("the page is %d pixels wider than the window: %q", n, who)
		}
		b.ShotAll("lab-phone")
		b.Laptop()
	})
	t.Run("recipe", func(t *testing.T) { startRecipe(t, p, home, tab(t, p.URL)) })
	t.Run("damaged", func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(dirs[0], "experiment.json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		refusals(b, "404|409", `experiment\?id=x-`)
		b.Open("/experiments")
		b.Wait("damaged")
		b.Open("/experiments?id=" + id)
		b.WaitText("main", "damaged")
		if err := os.RemoveAll(dirs[0]); err != nil {
			t.Fatal(err)
		}
		b.Open("/experiments?id=x-deleted")
		b.Wait("No experiment has the id x-deleted")
		b.Shot("lab-gone")
	})
}

// figuresAre holds the table of the page to a result: centre, n, ratio and verdict of every cell.
func figuresAre(t *testing.T, b *browser.Tab, r *trial.Result) {
	t.Helper()
	for _, c := range r.Cells {
		row := strings.Join(b.Texts(fmt.Sprintf(`tr:has([data-variant="%s"])`, c.Variant)), " ")
		fields := regexp.MustCompile(`[0-9]+(?:\.[0-9]+)?`).FindAllString(strings.TrimPrefix(row,
			strings.TrimPrefix(c.Variant, "threads=")), -1)
		if len(fields) == 0 {
			t.Fatalf("%s is not on the page: %q", c.Variant, row)
		}
		v := c.Values["tps"]
		shown, err := strconv.ParseFloat(fields[0], 64)
		if err != nil || v.Center <= 0 || shown < v.Center*0.99 || shown > v.Center*1.01 {
			t.Errorf("%s: the page shows %s transactions/s in %q, the report has %v", c.Variant,
				fields[0], row, v.Center)
		}
		if n := b.Text(fmt.Sprintf(`.lab-grid tr:has([data-variant="%s"]) td:nth-of-type(3)`,
			c.Variant)); n != strconv.Itoa(v.N) {
			t.Errorf("%s: the page says n %s, the report %d: %q", c.Variant, n, v.N, row)
		}
		if c.Verdict != nil && !strings.Contains(row, string(c.Verdict.Result)) {
			t.Errorf("%s: the page says %q, the verdict is %s", c.Variant, row, c.Verdict.Result)
		}
		if c.Verdict == nil && !strings.Contains(row, "baseline") {
			t.Errorf("%s is the baseline, the page says %q", c.Variant, row)
		}
	}
}

// startRecipe starts a recipe from the page, watches it measure, stops it and goes on with it.
func startRecipe(t *testing.T, p *Serve, home string, b *browser.Tab) {
	b.Open("/experiments?tab=recipes")
	b.Wait("How far does it scale?")
	b.Settle()
	b.Axe()
	b.ShotAll("lab-recipes")
	b.ClickText("How far does it scale?")
	b.WaitURL("recipe=threads")
	b.Wait("Dry run")
	b.Settle()
	b.Axe()
	b.ClickText("Run it")
	b.Wait("dialog[open]")
	b.WaitText("dialog[open]", "shop") // it runs on this machine, as the private server does
	b.Fill("#lab-time", "1s")
	b.Shot("lab-start")
	b.Axe("dialog[open]")
	b.Click("dialog[open] .b-main")
	b.WaitURL("id=x-")
	id := b.Param("id")
	b.Wait("running")
	b.Wait(".lab-live-card")
	type answer struct {
		State  string
		Trials int
	}
	var x answer
	measured := func(n int) {
		t.Helper()
		// Its tables are made first, which takes minutes on a busy machine.
		for end := time.Now().Add(6 * time.Minute); x.Trials < n; time.Sleep(200 * time.Millisecond) {
			if err := getJSON(p.URL, "experiment?id="+id, &x); err != nil {
				t.Fatal(err)
			}
			if time.Now().After(end) {
				t.Fatalf("%d trials are on record, not %d", x.Trials, n)
			}
		}
	}
	measured(2)
	b.Until("the table grows while it runs", func() error {
		if n := len(b.Texts(".lab-grid .lab-interval, .lab-grid td.num")); n == 0 {
			return fmt.Errorf("it is empty")
		}
		if !strings.Contains(b.Text("main"), "trials in 1 round") {
			return fmt.Errorf("it shows %q", b.Text("main"))
		}
		return nil
	})
	b.Axe()
	b.Shot("lab-running")
	b.ClickText("Stop")
	b.Wait("stopped early")
	b.Wait("it can be resumed")
	if err := getJSON(p.URL, "experiment?id="+id, &x); err != nil || x.State != "interrupted" || x.Trials < 2 {
		t.Fatalf("%+v %v", x, err)
	}
	if n := len(reported(t, home, id).Trials); n != x.Trials {
		t.Errorf("the report has %d trials, the page %d", n, x.Trials)
	}
	var marks struct {
		Events []struct{ Ref, Target string }
	}
	if err := getJSON(p.URL, "events?target=shop&kind=run", &marks); err != nil || len(marks.Events) == 0 ||
		marks.Events[0].Ref != id {
		t.Errorf("it is not marked on the timeline of shop: %+v %v", marks, err)
	}
	before := x.Trials
	b.ClickText("Resume")
	b.Wait(".lab-live-card")
	measured(before + 1)
	b.ClickText("Stop")
	b.Wait("stopped early")
}
