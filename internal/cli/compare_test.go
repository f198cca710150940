package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/recipe"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/store/trials"
	"github.com/dyno-perf/dyno/internal/trial"
)

// TestResumeWithOthers goes on with an experiment with options that it was not begun with: that is a usage error. With
// those that it was begun with it only fails later, for its server is not there.
func TestResumeWithOthers(t *testing.T) {
	r, err := recipe.Find("threads")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	begin := func(id string, h trials.Header) {
		t.Helper()
		h.ID, h.Started = id, time.Now()
		d, err := trials.Create(filepath.Join(home, "experiments", id), h)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	const nowhere = "/nowhere/mysqld"
	begin("x-1", trials.Header{
		Plan: string(r.Text), Scale: "medium", Axes: map[string][]string{"threads": {"1", "2"}},
		Set: map[string]string{"trials.time": "20s", "server": nowhere},
	})
	begin("x-2", trials.Header{Plan: "dyno_plan: 1\nname: mine\nserver: " + nowhere + "\nworkload: oltp_read_only\n"})
	f := func(code int, want, args string) {
		t.Helper()
		var out, said bytes.Buffer
		got := Run(t.Context(), strings.Fields(args), Streams{In: strings.NewReader(""), Out: &out, Err: &said},
			func(k string) string {
				return map[string]string{"DYNO_HOME": home, "HOME": home}[k]
			}, "test")
		if got != code || !strings.Contains(said.String(), want) || out.Len() > 0 {
			t.Errorf("%s: exit %d, want %d\n%swant %q\n%s", args, got, code, said.String(), want, out.String())
		}
	}
	f(1, nowhere, "compare --resume x-1")
	f(1, nowhere, "compare --resume x-1 --scale medium --set trials.time=20s --axis threads=1,2")
	f(2, "resume x-1: it was started with --set trials.time=20s, not with --set trials.time=5s: leave that out",
		"compare --resume x-1 --set trials.time=5s")
	f(2, "started without it, not with --set trials.margin=5%", "compare --resume x-1 --set trials.margin=5%")
	f(2, "started with --axis threads=1,2, not with --axis threads=1,4", "compare --resume x-1 --axis threads=1,4")
	f(2, "started with --scale medium, not with --scale small", "compare --resume x-1 --scale small")
	f(2, "started without it, not with --scale small; it was started without it, not with --axis threads=1",
		"compare --resume x-2 --scale small --axis threads=1")
	f(1, nowhere, "recipe run threads --resume x-1")
	f(1, nowhere, "recipe run threads --resume x-1 --scale medium")
	f(2, "not with --scale small", "recipe run threads --resume x-1 --scale small")
	f(2, "resume x-1: it is of threads, not of the recipe charset; `dyno compare --resume x-1` resumes it",
		"recipe run charset --resume x-1")
	f(2, "it is of mine, not of the recipe threads", "recipe run threads --resume x-2")
	f(1, nowhere, "compare --resume x-2")
	// How long it may take is no part of what is measured.
	f(1, nowhere, "compare --resume x-1 --set budget=3h")
	f(1, nowhere, "compare --resume x-2 --set budget=3h")
	f(2, "not with --set trials.margin=5%", "compare --resume x-1 --set budget=3h --set trials.margin=5%")
	finish := func(stopped string) {
		t.Helper()
		d, err := trials.Open(filepath.Join(home, "experiments", "x-2"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.PutResult(trial.Result{Format: trial.Format, Stopped: stopped}),
			d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	finish("it was interrupted")
	f(1, nowhere, "compare --resume x-2")
	finish("") // its report is missing still
	f(1, nowhere, "compare --resume x-2")
	report := filepath.Join(home, "reports", "x-2", "report.html")
	if err := errors.Join(os.MkdirAll(filepath.Dir(report), 0o755), os.WriteFile(report, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	f(2, "resume x-2: it is finished, and there is nothing to resume", "compare --resume x-2")
}

// TestExitOfResults: what could not be measured at all is a failure, whether or not anything was to be compared.
func TestExitOfResults(t *testing.T) {
	f := func(want int, r trial.Result) {
		t.Helper()
		code := 0
		var x *exitError
		if err := verdictExit(&r, "worse"); errors.As(err, &x) {
			code = x.code
		}
		if code != want {
			t.Errorf("exit %d, want %d: %+v", code, want, r.Cells)
		}
	}
	verdict := func(x stat.Result) trial.Cell { return trial.Cell{Valid: 3, Verdict: &stat.Verdict{Result: x}} }
	f(exitFailed, trial.Result{
		Cells:   []trial.Cell{{Failed: "no such variable"}, {Failed: "no such variable"}},
		Stopped: "nothing is left to compare",
	})
	f(0, trial.Result{Cells: []trial.Cell{{Valid: 1}, {Failed: "no such variable"}}})
	f(0, trial.Result{Cells: []trial.Cell{{Valid: 3}, verdict(stat.Better)}})
	f(exitWorse, trial.Result{Cells: []trial.Cell{{Valid: 3}, verdict(stat.Worse)}})
	f(exitUndecided, trial.Result{Cells: []trial.Cell{{Valid: 3}, verdict(stat.Unstable)}})
	f(exitUndecided, trial.Result{Cells: []trial.Cell{{}, verdict(stat.Invalid)}})
}

// TestProgressFits: a line that is wider than the terminal would leave a row behind with each second.
func TestProgressFits(t *testing.T) {
	began := time.Unix(1000, 0)
	p := progress.Progress{
		Step: "trial 12 of at most 27, all done within 4m10s: measuring", Unit: "s", Started: began,
		At: began.Add(9 * time.Second), Done: 9, Total: 20,
	}
	for _, columns := range []int{1, 2, 20, 40, 60, 80, 96, 200} {
		got := fitted(p, columns)
		if n := utf8.RuneCountInString(got); n >= columns && columns > 1 || n > 1 && columns == 1 {
			t.Errorf("%d columns: %d in %q", columns, n, got)
		}
		if columns >= 40 && !strings.Contains(got, "45 %  11s left") {
			t.Errorf("%d columns: how long still is not in %q", columns, got)
		}
	}
	if got := fitted(p, 200); got != "  "+progressLine(p) {
		t.Errorf("%q", got)
	}
}
