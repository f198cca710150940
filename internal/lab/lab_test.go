package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/compare"
	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/trials"
	"github.com/dyno-perf/dyno/internal/task"
	"github.com/dyno-perf/dyno/internal/trial"
)

// tinyPlan takes a few seconds.
const tinyPlan = `dyno_plan: 1
name: tiny
title: Are two sessions better than one?
server: mariadb
settings: {innodb_buffer_pool_size: 32M}
workload: oltp_point_select
options: {table-size: 200}
axes:
  - threads: [1, 2]
placement: shared
trials: {time: 1s, warmup: 200ms..200ms, rounds: 3..3, margin: 25%, fresh: none}
`

// labOf returns a lab in a home of its own, whose servers' account can enter it.
func labOf(t *testing.T) *Lab {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "dyno-lab-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	a := &app.App{Home: home, Version: "test", Environ: func(string) string { return "" }}
	var tasks task.List
	t.Cleanup(func() {
		tasks.End()
		y, err := a.Yard()
		if err == nil {
			err = y.RemoveAll(context.Background())
		}
		if err := errors.Join(err, a.Close(), os.RemoveAll(home)); err != nil {
			t.Error(err)
		}
	})
	return New(a, &tasks, func() []ledger.Target { return nil })
}

func lineFor(t *testing.T, l *Lab, id string) Line {
	t.Helper()
	all, err := l.Experiments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		if x.ID == id {
			return x
		}
	}
	t.Fatalf("%s is not in the list: %+v", id, all)
	return Line{}
}

// TestLabShowsWhatWasMeasured runs a tiny experiment on a real server: what the lab shows are the figures of its
// report.
func TestLabShowsWhatWasMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real server")
	}
	l := labOf(t)
	if all, err := l.Experiments(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("%v %v", all, err)
	}
	c, err := Prepare(t.Context(), l.app, CompareOptions{Text: []byte(tinyPlan), File: "tiny.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := Compare(t.Context(), l.app, c)
	if err != nil {
		t.Fatal(err)
	}
	line := lineFor(t, l, r.ID)
	if line.State != Finished || line.Trials != len(r.Trials) || line.Variants != 2 || line.Sentence != r.Sentence ||
		line.Name != "tiny" || line.PID != 0 {
		t.Errorf("%+v", line)
	}
	x, err := l.Experiment(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := app.Reports{App: l.app}.Report(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range doc.Comparison.Cells {
		got := x.Cells[i]
		if got.Variant != want.Variant || got.Values["tps"] != want.Values["tps"] || got.Values["tps"].N == 0 ||
			got.Ratios["tps"] != want.Ratios["tps"] {
			t.Errorf("cell %d is %+v, the report has %+v", i, got, want)
		}
		if at := x.Laid.Cells[i].Figures[0].At; at == nil || at.Center != want.Values["tps"].Center {
			t.Errorf("cell %d is laid out with %v", i, at)
		}
	}
	if len(x.Runs) != len(r.Trials) || x.Runs[0].Values["tps"] != r.Trials[0].Values["tps"] || len(x.Laid.Strips) < 2 ||
		!strings.Contains(x.PlanText, "name: tiny") {
		t.Errorf("%d trials, %d strips, plan %q", len(x.Runs), len(x.Laid.Strips), x.PlanText)
	}
	if len(x.Laid.Env) == 0 || len(x.Laid.Method) == 0 {
		t.Error("neither the environment nor how it was measured is there")
	}
	if _, err := l.SideBySide(t.Context(), r.ID, r.ID); !errors.Is(err, compare.ErrSets) {
		t.Errorf("beside itself: %v", err)
	}
	if _, err := l.Resume(t.Context(), r.ID, "ann"); !errors.Is(err, ErrOptions) {
		t.Errorf("resuming what has ended: %v", err)
	}

	// Its files are damaged: it is still listed, as damaged, and its report is still there once they are gone.
	file := filepath.Join(app.Stores{App: l.app}.ExperimentDir(r.ID), "experiment.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if line := lineFor(t, l, r.ID); line.State != Damaged || line.Problem == "" {
		t.Errorf("damaged: %+v", line)
	}
	if _, err := l.Experiment(t.Context(), r.ID); err == nil {
		t.Error("a damaged experiment is shown")
	}
	if err := os.RemoveAll((app.Stores{App: l.app}).ExperimentDir(r.ID)); err != nil {
		t.Fatal(err)
	}
	if x, err := l.Experiment(t.Context(), r.ID); err != nil || x.Sentence != r.Sentence || x.Kind != "experiment" {
		t.Errorf("by its report alone: %+v %v", x.Line, err)
	}
	if _, err := l.Experiment(t.Context(), "x-gone"); !errors.Is(err, ErrNoRecord) {
		t.Errorf("one that never was: %v", err)
	}
}

// TestLabSideBySide sets an experiment that has ended beside one that still runs: what they ran on is told, and that
// one runs.
func TestLabSideBySide(t *testing.T) {
	l := labOf(t)
	keep := func(id, version string, rate float64) *trials.Dir {
		t.Helper()
		began := time.Unix(1_760_000_000, 0)
		d, err := trials.Create(app.Stores{App: l.app}.ExperimentDir(id), trials.Header{
			ID: id, Plan: tinyPlan,
			Dyno: "test", Started: began,
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			x := trial.Trial{
				Seq: i + 1, Round: i/2 + 1, Variant: []string{"threads=1", "threads=2"}[i%2], From: began,
				To: began.Add(time.Second), Values: map[string]float64{"tps": rate + float64(i)},
				Env: &trial.Environment{Facts: map[string]map[string]string{"server": {"version": version}}},
			}
			if err := d.Put(t.Context(), x); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	if err := keep("x-ended", "10.11.6", 1000).Close(); err != nil {
		t.Fatal(err)
	}
	runs := keep("x-runs", "10.11.8", 2000)
	defer runs.Close()
	if line := lineFor(t, l, "x-runs"); line.State != Running {
		t.Fatalf("%+v", line)
	}
	x, err := l.SideBySide(t.Context(), "x-ended", "x-runs")
	if err != nil {
		t.Fatal(err)
	}
	if want := []report.Fact{{Name: "server version", Value: "10.11.6 in x-ended; 10.11.8 in x-runs"}}; !slices.Equal(
		x.Laid.Differs, want,
	) {
		t.Errorf("also differs: %+v, want %+v", x.Laid.Differs, want)
	}
	all := strings.Join(x.Remarks, "\n")
	for _, want := range []string{"x-ended ended early: it was interrupted", "x-runs: it is still running"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %q", want, x.Remarks)
		}
	}
	if strings.Contains(all, "x-runs ended") || x.Kind != "side by side" || x.State != Finished {
		t.Errorf("%s %s %q", x.Kind, x.State, x.Remarks)
	}
}

// TestLabReportsAlone has reports without a directory: of two results side by side, and of an experiment whose
// directory was removed, with a control or without.
func TestLabReportsAlone(t *testing.T) {
	l := labOf(t)
	led, err := l.app.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := func(id, kind string, change func(*trial.Result)) {
		t.Helper()
		r := trial.Result{Format: trial.Format, ID: id, Started: time.Unix(1_760_000_000, 0)}
		change(&r)
		var b bytes.Buffer
		if err := report.JSON(&b, report.Comparison(&r, r.Started)); err != nil {
			t.Fatal(err)
		}
		if err := led.Documents.Put(t.Context(), string(report.Compare), id, "", "", b.Bytes()); err != nil {
			t.Fatal(err)
		}
		x, err := l.Experiment(t.Context(), id)
		if err != nil || x.Kind != kind {
			t.Errorf("%s: %s, want %s, %v", id, x.Kind, kind, err)
		}
		if line := lineFor(t, l, id); line.Kind != kind {
			t.Errorf("%s in the list: %s, want %s", id, line.Kind, kind)
		}
	}
	f("x-sides", "side by side", func(r *trial.Result) { r.Unpaired, r.Plan.Trials.NoControl = true, true })
	f("x-controlled", "experiment", func(r *trial.Result) { r.Control = &stat.Verdict{Result: stat.Same} })
	f("x-read", "experiment", func(r *trial.Result) { r.Plan.Trials.NoControl = true })
}

// TestLabRunsARecipe starts one, reads what it has measured while it runs, stops it, and goes on with it.
func TestLabRunsARecipe(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real server")
	}
	l := labOf(t)
	l.watched = func() []ledger.Target {
		return []ledger.Target{
			{Name: "here", URL: "unix:///nowhere/s?user=root"},
			{Name: "there", URL: "mysql://root@db.example:3306"},
		}
	}
	d, err := l.Recipe(t.Context(), "threads", "small", nil)
	if err != nil || d.Dry.Variants < 2 || d.Dry.Most < d.Dry.Least || d.Dry.Least <= 0 || len(d.Published) == 0 ||
		len(d.Missing)+len(d.Problems) > 0 {
		t.Fatalf("%+v %v", d, err)
	}
	if len(d.Disturbs) != 1 || d.Disturbs[0] != "here" || !strings.Contains(d.Disturb, "here") {
		t.Errorf("it disturbs %v: %s", d.Disturbs, d.Disturb)
	}
	set := map[string]string{
		"trials.time": "1s", "trials.warmup": "100ms..100ms",
		"options.table-size": "200", "options.tables": "1",
	}
	started, err := l.RunRecipe(t.Context(), "threads", "small", set, "ann")
	if err != nil {
		t.Fatal(err)
	}
	if started.Kind != "recipe" || started.By != "ann" {
		t.Errorf("%+v", started)
	}
	measured := func(more int) (x Experiment) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			now, _ := l.tasks.Find(started.ID)
			if now.State != task.Running {
				t.Fatalf("it ended: %+v", now)
			}
			live, _ := l.Live(started.ID)
			if live.ID == "" {
				continue
			}
			if x, err = l.Experiment(t.Context(), live.ID); err == nil && x.Trials >= more {
				return x
			}
		}
		t.Fatalf("no %d trials in time: %v", more, err)
		return x
	}
	x := measured(2)
	if x.State != Running || x.Task != started.ID || x.Live == nil || x.Live.Most < 2 ||
		x.Recipe != "threads" || len(x.Runs) < 2 {
		t.Errorf("while it runs: %+v %+v", x.Line, x.Live)
	}
	if !slices.ContainsFunc(x.Runs, func(r Trial) bool { return r.Values["tps"] > 0 }) {
		// on a busy machine one of them may have been lost
		t.Errorf("its first trials did no transactions: %+v", x.Runs)
	}
	if line := lineFor(t, l, x.ID); line.State != Running || line.Task != started.ID {
		t.Errorf("in the list: %+v", line)
	}
	if _, err := l.RunRecipe(t.Context(), "index-order", "small", nil, "bob"); !errors.Is(err, task.ErrBusy) ||
		!strings.Contains(err.Error(), x.ID) {
		t.Errorf("a second one: %v", err)
	}
	if now, _ := l.tasks.Find(started.ID); now.Step == "" || len(now.Notes) < 3 {
		t.Errorf("the task says %+v", now)
	}
	stop := func() task.Task {
		t.Helper()
		if err := l.tasks.Cancel(started.ID); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if now, _ := l.tasks.Find(started.ID); now.State != task.Running {
				return now
			}
		}
		t.Fatal("it does not stop")
		return task.Task{}
	}
	if now := stop(); now.State != task.Cancelled || now.Result != x.ID {
		t.Errorf("stopped: %+v", now)
	}
	kept := lineFor(t, l, x.ID)
	if kept.State != Interrupted || kept.Stopped == "" || kept.Trials < 2 || kept.Task != "" {
		t.Errorf("kept: %+v", kept)
	}
	marks, err := app.Actions{App: l.app}.Events(t.Context(), "here", time.Now().Add(-time.Hour),
		time.Now().Add(time.Hour))
	if err != nil || len(marks) != 1 || marks[0].Ref != x.ID || marks[0].Until.Before(marks[0].At) ||
		marks[0].Until.IsZero() {
		t.Errorf("marks: %+v %v", marks, err)
	}

	if started, err = l.Resume(t.Context(), x.ID, "ann"); err != nil {
		t.Fatal(err)
	}
	if y := measured(kept.Trials + 1); y.ID != x.ID || y.Runs[0].From != x.Runs[0].From {
		t.Errorf("resumed as %s, its first trial began at %s", y.ID, y.Runs[0].From)
	}
	stop()
}

func TestLabRefuses(t *testing.T) {
	l := labOf(t)
	f := func(want error, name, scale string, set map[string]string) {
		t.Helper()
		if _, err := l.RunRecipe(t.Context(), name, scale, set, "ann"); !errors.Is(err, want) {
			t.Errorf("%s %s %v: %v", name, scale, set, err)
		}
		if _, err := l.Recipe(t.Context(), name, scale, set); !errors.Is(err, want) {
			t.Errorf("looking at %s %s %v: %v", name, scale, set, err)
		}
	}
	f(ErrNoRecord, "nothing", "small", nil)
	f(ErrNoRecord, "../recipes/threads", "small", nil)
	f(ErrNoRecord, "", "small", nil)
	f(ErrOptions, "threads", "gigantic", nil)
	// Steps of a plan may be commands of the shell.
	f(ErrOptions, "threads", "small", map[string]string{"before": "[{shell: id}]"})
	f(ErrOptions, "threads", "small", map[string]string{"axes": "x"})
	f(ErrOptions, "threads", "small", map[string]string{"trials.time": "{shell: id}"})
	f(ErrOptions, "threads", "small", map[string]string{"trials.time": "never"})
	for _, id := range []string{"", "x-", "x-1/../../etc", "../x-1", "d-1", "x-gone"} {
		if _, err := l.Experiment(t.Context(), id); !errors.Is(err, ErrNoRecord) {
			t.Errorf("experiment %q: %v", id, err)
		}
		if _, err := l.Resume(t.Context(), id, "ann"); !errors.Is(err, ErrNoRecord) {
			t.Errorf("resume %q: %v", id, err)
		}
	}
	if _, err := l.Run(t.Context(), "r-gone"); !errors.Is(err, ErrNoRecord) {
		t.Errorf("%v", err)
	}
}

func TestOnThisMachine(t *testing.T) {
	f := func(name, url string, want bool) {
		t.Helper()
		if got := app.OnThisMachine(name, url); got != want {
			t.Errorf("%s %s: %v", name, url, got)
		}
	}
	f("a", "unix:///run/s?user=root", true)
	f("a", "mysql://root@127.0.0.1:3306", true)
	f("a", "mysql://root@127.8.0.1", true)
	f("a", "mysql://root@localhost:3306", true)
	f("a", "mysql://root@[::1]:3306", true)
	f("sandbox:a", "", true)
	f("a", "mysql://root@10.0.0.1:3306", false)
	f("a", "mysql://root@db.example", false)
	f("a", "no url at all", false)
}

// TestLabRun keeps a run with more seconds than a picture has points: nothing of it is lost.
func TestLabRun(t *testing.T) {
	l := labOf(t)
	led, err := l.app.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t0 := time.Unix(1_760_000_000, 0)
	var ticks []loadresult.Tick
	for i := range 1300 {
		h := hist.New()
		n := 10
		if i == 700 {
			n = 100
		}
		for range n {
			h.Record(2 * time.Millisecond)
		}
		x := loadresult.Tick{
			Seq: i, At: t0.Add(time.Duration(i) * time.Second), Length: time.Second, Threads: 3,
			Ops:  []loadresult.Op{{Name: "pay", Reads: uint64(2 * n), Latency: h}},
			Open: &loadresult.Open{Due: uint64(n)},
		}
		if i == 1299 {
			x.Open.Dropped, x.Errors = 4, map[string]uint64{"1213": 7}
		}
		ticks = append(ticks, x)
	}
	r := loadresult.Run{
		ID: "r-1", Target: "shop", Workload: "pay", Started: t0, Elapsed: 1300 * time.Second, State: loadresult.Done,
		Total: loadresult.Merged(ticks),
	}
	doc := report.RunDocument(r, ticks, "test")
	text, err := report.Encode(&doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(led.PutRun(t.Context(), r), led.Documents.Put(t.Context(), string(doc.Kind), r.ID, r.Target,
		"", text)); err != nil {
		t.Fatal(err)
	}
	all, err := l.Runs(t.Context(), "shop", 10)
	if err != nil || len(all) != 1 || all[0].Errors != 7 || all[0].Sessions != 3 || all[0].P95 == nil {
		t.Fatalf("%+v %v", all, err)
	}
	if none, err := l.Runs(t.Context(), "blog", 10); err != nil || len(none) != 0 {
		t.Errorf("%v %v", none, err)
	}
	x, err := l.Run(t.Context(), "r-1")
	if err != nil {
		t.Fatal(err)
	}
	const operations = 1299*10 + 100
	if x.Operations != operations || x.Queries != 2*operations || x.ByCode["1213"] != 7 || x.Arrivals == nil ||
		x.Arrivals.Due != operations ||
		x.Arrivals.Begun+x.Arrivals.Dropped != x.Arrivals.Due || x.Arrivals.Dropped != 4 {
		t.Errorf("%+v %+v", x, x.Arrivals)
	}
	if len(x.Latencies) == 0 || math.Abs(x.Latencies[0].P95-0.002) > 0.0001 || x.Latencies[0].Count != operations {
		t.Errorf("%+v", x.Latencies)
	}
	if len(x.Charts) < 2 || len(x.Charts[0].X) > labPoints {
		t.Fatalf("%d charts of %d points", len(x.Charts), len(x.Charts[0].X))
	}
	top, sum, n := 0.0, 0.0, 0
	for i, v := range x.Charts[0].Lines[0].Y {
		if v == nil {
			t.Fatalf("point %d is missing", i)
		}
		sum, n = sum+*v, n+1
		top = max(top, *x.Charts[0].Lines[0].Hi[i])
	}
	if top != 100 || math.Abs(sum/float64(n)-float64(operations)/1300) > 0.2 {
		t.Errorf("the highest second is %v, the mean %v", top, sum/float64(n))
	}
}

func TestChartOf(t *testing.T) {
	c := chartOf(report.Chart{Title: "t", Unit: "1/s", Lines: []report.Line{
		{Name: "a", Points: []metric.Point{{At: 1000, Value: 1}, {At: 3000, Value: 3}}},
		{Name: "b", Points: []metric.Point{{At: 2000, Value: 2}}},
	}})
	if len(c.X) != 3 || c.X[0] != 1 || c.Lines[0].Y[1] != nil || *c.Lines[0].Y[2] != 3 || *c.Lines[1].Y[1] != 2 ||
		c.Lines[1].Y[0] != nil || c.Lines[0].Lo != nil {
		t.Errorf("%+v", c)
	}
	if c := chartOf(report.Chart{}); c.X == nil || c.Lines == nil {
		t.Errorf("%+v", c)
	}
}

// TestLabListsReadOnce has lists that are asked for again and again: what a document says is read the first time only.
func TestLabListsReadOnce(t *testing.T) {
	l := labOf(t)
	led, err := l.app.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const size = 8 << 20
	long := []byte(`{"title":"long","sentence":"` + strings.Repeat("x", size) + `"}`)
	for id, kind := range map[string]report.Kind{
		"x-1": report.Compare, "x-2": report.Compare,
		"m-1": report.Demo, "m-2": report.Proof,
	} {
		if err := led.Documents.Put(t.Context(), string(kind), id, "", "", long); err != nil {
			t.Fatal(err)
		}
	}
	other := []byte(fmt.Sprintf(`{"dyno_report":%d,"sentence":"%s"}`, report.Format, strings.Repeat("x", size)))
	if err := led.Documents.Put(t.Context(), string(report.Compare), "x-3", "", "", other); err != nil {
		// it holds no comparison
		t.Fatal(err)
	}
	list := func() uint64 {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sides, err := l.Experiments(t.Context())
		if err != nil || len(sides) != 2 || sides[0].Kind != "side by side" {
			t.Fatal(sides, err)
		}
		docs, err := l.Documents(t.Context(), 10)
		if err != nil || len(docs) != 2 || docs[0].Title != "long" || len(docs[1].Sentence) != size {
			t.Fatal(len(docs), err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if n := list(); n < 5*size {
		t.Errorf("%d bytes for reading %d", n, 5*size)
	}
	if n := list(); n > size {
		t.Errorf("the second time takes %d bytes: it reads them again", n)
	}
}

func TestLabLists(t *testing.T) {
	l := labOf(t)
	all, err := l.Recipes(t.Context())
	if err != nil || len(all) < 6 {
		t.Fatalf("%v %v", all, err)
	}
	for _, r := range all {
		if r.Title == "" || len(r.Scales) != 3 || r.Scales[0].Variants < 2 || r.Scales[0].Problem != "" ||
			len(r.Scales[0].Servers) == 0 {
			t.Errorf("%+v", r)
		}
	}
	led, err := l.app.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := led.Documents.Put(t.Context(), "demo", "m-1", "sandbox:x", "",
		[]byte(`{"title":"A missing index","sentence":"found"}`)); err != nil {
		t.Fatal(err)
	}
	docs, err := l.Documents(t.Context(), 10)
	if err != nil || len(docs) != 1 || docs[0].Title != "A missing index" || docs[0].Kind != "demo" {
		t.Errorf("%+v %v", docs, err)
	}
	if err := led.Documents.Put(t.Context(), "demo", "m-1", "sandbox:x", "",
		[]byte(`{"title":"Stored anew","sentence":"found"}`)); err != nil {
		t.Fatal(err)
	}
	if err := led.Documents.Put(t.Context(), "proof", "p-1", "sandbox:x", "", []byte(`{"title":"A proof"}`)); err != nil {
		t.Fatal(err)
	}
	docs, err = l.Documents(t.Context(), 10)
	titles := map[string]string{}
	for _, d := range docs {
		titles[d.ID] = d.Title
	}
	if err != nil || len(docs) != 2 || titles["m-1"] != "Stored anew" || titles["p-1"] != "A proof" {
		t.Errorf("%+v %v", docs, err)
	}
	if docs, err = l.Documents(t.Context(), 1); err != nil || len(docs) != 1 {
		t.Errorf("%+v %v", docs, err)
	}
	if _, err := l.Experiment(t.Context(), "x-1"); !errors.Is(err, ErrNoRecord) {
		t.Error(err)
	}
	if err := os.MkdirAll((app.Stores{App: l.app}).ExperimentDir("x-1"), 0o755); err != nil {
		// a directory without anything in it
		t.Fatal(err)
	}
	if line := lineFor(t, l, "x-1"); line.State != Damaged {
		t.Errorf("%+v", line)
	}
}
