// Package demo_test runs the whole loop with the program as users get it: planted, found from outside, cured, proven;
// and killed half-way.
package demo_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/pgserver"
	"github.com/dyno-perf/dyno/test/program"
)

// dynoPath is the built program; TestMain sets it before any test runs.
var dynoPath string

func TestMain(m *testing.M) { os.Exit(program.Main(m, &dynoPath)) }

// place is a home of its own for one test. What is left of it in the end is checked and removed.
type place struct {
	t    *testing.T
	home string
}

func newPlace(t *testing.T) place {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers")
	}
	home, err := os.MkdirTemp("/var/tmp", "dyno-demo-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	p := place{t, home}
	t.Cleanup(func() {
		p.dyno("sandbox", "rm", "--all")
		p.nothingRuns()
		os.RemoveAll(home)
	})
	return p
}

func (p place) command(args ...string) *exec.Cmd {
	if tree := os.Getenv("DYNO_TEST_MYSQL"); tree != "" && len(args) > 0 && args[0] == "demo" {
		args = append(args, "--server-dir="+tree)
		if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "postgres@") }) {
			args = append(args, "--server-dir="+pgserver.Tree(p.t, "17"))
		}
	}
	c := exec.Command(dynoPath, args...)
	c.Env = append(os.Environ(), "DYNO_HOME="+p.home)
	return c
}

// dyno runs a command that must succeed and returns its standard output.
func (p place) dyno(args ...string) string {
	p.t.Helper()
	c := p.command(args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		p.t.Fatalf("dyno %s: %v\n%s\n%s", strings.Join(args, " "), err, &errs, tail(out.String()))
	}
	return out.String()
}

func tail(s string) string { return s[max(0, len(s)-3000):] }

// nothingRuns fails when a process still has the home in its arguments.
func (p place) nothingRuns() {
	p.t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range procs {
		b, err := os.ReadFile(f)
		if err == nil && bytes.Contains(b, []byte(p.home)) {
			p.t.Errorf("still running: %s: %s", f, bytes.ReplaceAll(b, []byte{0}, []byte(" ")))
		}
	}
}

type finding struct {
	ID       string `json:"id"`
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
	Evidence []struct {
		What    string `json:"what"`
		Text    string `json:"text"`
		Sampled bool   `json:"sampled"`
	} `json:"evidence"`
	Gain   *struct{ Lo, Hi float64 } `json:"gain"`
	Action *struct {
		SQL   string `json:"sql"`
		Table struct {
			Schema, Table string
		} `json:"table"`
	} `json:"action"`
}

type figures struct {
	QPS      *float64 `json:"qps"`
	P95      *float64 `json:"p95_ms"`
	CPU      *float64 `json:"server_cpu_cores"`
	RowsRead *float64 `json:"rows_read_per_s"`
}

type outcome struct {
	Fault, Server, Sandbox string
	Found                  bool
	Findings               []finding
	Foreign                []finding
	Before, After          *figures
	Action                 string
	Verdict                *struct {
		Result string
		Ratio  struct {
			Center, Lo, Hi float64
			N              int
		}
		Reasons []string
	}
	Report string
}

// last reads the closing object of a demo.
func (p place) last(out string) (o outcome) {
	p.t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, l := range lines {
		if !json.Valid([]byte(l)) {
			p.t.Fatalf("line %d is not JSON: %s", i+1, l)
		}
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &raw); err != nil {
		p.t.Fatal(err)
	}
	for _, list := range []string{"findings", "foreign"} {
		if v := string(raw[list]); !strings.HasPrefix(v, "[") {
			p.t.Errorf("%s is %s, not a list", list, v)
		}
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &o); err != nil {
		p.t.Fatal(err)
	}
	return o
}

// adds is how an index is added.
var adds = map[string]string{
	"mariadb": "ADD INDEX", "mysql@9.7": "ADD INDEX", "postgres@17": "CREATE INDEX CONCURRENTLY",
}

func TestMissingIndexIsFoundCuredAndProven(t *testing.T) {
	for _, server := range []string{"mariadb", "mysql@9.7", "postgres@17"} {
		t.Run(server, func(t *testing.T) {
			p := newPlace(t)
			var o outcome
			for range 3 {
				o = p.last(p.dyno("demo", "missing-index", "--server", server, "--pairs", "3", "--output", "json"))
				if v := o.Verdict; v == nil || v.Result != "invalid" && v.Result != "unstable" {
					break
				}
				// A machine that is busy with something else may leave too few windows; a verdict must then say why.
				if len(o.Verdict.Reasons) == 0 {
					t.Fatalf("verdict %+v without a reason", o.Verdict)
				}
				t.Logf("measured again: %+v", o.Verdict)
			}
			if !o.Found || len(o.Foreign) != 0 || len(o.Findings) != 1 {
				t.Fatalf("found %v, findings %+v, foreign %+v", o.Found, o.Findings, o.Foreign)
			}
			f := o.Findings[0]
			if f.Rule != "missing-index" || f.Severity == "" || f.Title == "" || len(f.Evidence) < 4 ||
				f.Action == nil || !strings.Contains(f.Action.SQL, adds[server]) {
				t.Fatalf("finding %+v", f)
			}
			for _, side := range []*figures{o.Before, o.After} {
				if side == nil || side.QPS == nil || side.P95 == nil || side.CPU == nil || side.RowsRead == nil {
					t.Fatalf("before %+v after %+v", o.Before, o.After)
				}
			}
			if v := o.Verdict; v == nil || v.Result != "better" || v.Ratio.Lo <= 2 || v.Ratio.Lo > v.Ratio.Center ||
				v.Ratio.Center > v.Ratio.Hi || v.Ratio.N != 3 {
				t.Fatalf("verdict %+v", v)
			}
			if *o.After.QPS < 2**o.Before.QPS || *o.After.P95 > *o.Before.P95 ||
				*o.After.RowsRead > *o.Before.RowsRead {
				t.Fatalf("before %+v after %+v", *o.Before, *o.After)
			}
			var doc struct {
				Measures []struct {
					Name  string
					Ratio struct{ Center, Lo, Hi float64 }
				}
			}
			if err := json.Unmarshal([]byte(p.dyno("report", filepath.Base(filepath.Dir(o.Report)), "--format",
				"json")), &doc); err != nil {
				t.Fatal(err)
			}
			if m, v := doc.Measures[0], o.Verdict.Ratio; m.Name != "qps" || m.Ratio.Center != v.Center ||
				m.Ratio.Lo != v.Lo || m.Ratio.Hi != v.Hi {
				t.Errorf("the report has %+v, the verdict %+v", m, v)
			}
			p.tellsWhatWasDone(o, server)
			html, err := os.ReadFile(o.Report)
			if err != nil || !bytes.Contains(html, []byte("<svg")) || !bytes.Contains(html, []byte("index added")) {
				t.Fatalf("report %s: %v, %d bytes", o.Report, err, len(html))
			}
			p.nothingRuns()
		})
	}
}

// turned is how a report words what was done between the windows.
var turned = map[string]string{
	"mariadb":     "hidden from the optimizer and shown again in turn",
	"mysql@9.7":   "hidden from the optimizer and shown again in turn",
	"postgres@17": "dropped and built again in turn",
}

// tellsWhatWasDone holds the report of a demo whose server ran all the time to that: none of it says that it was
// started again between the windows.
func (p place) tellsWhatWasDone(o outcome, server string) {
	p.t.Helper()
	id := filepath.Base(filepath.Dir(o.Report))
	var doc struct {
		Experiment struct{ Text string }
		Story      []struct{ Text string }
	}
	out := p.dyno("report", id, "--format", "json")
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		p.t.Fatal(err)
	}
	if text := doc.Experiment.Text; !strings.HasPrefix(text, "The same load ran all the time. ") ||
		!strings.Contains(text, turned[server]) {
		p.t.Errorf("the report says of the windows: %s", text)
	}
	starts := 0
	for _, s := range doc.Story {
		starts += strings.Count(s.Text, "Starting ")
	}
	if starts != 1 {
		p.t.Errorf("the server was started once, the story says %d times: %+v", starts, doc.Story)
	}
	for _, form := range []string{"text", "md", "html"} {
		text := strings.ToLower(p.dyno("report", id, "--format", form))
		for _, wrong := range []string{"restart", "was started with", "and a new start"} {
			if strings.Contains(text, wrong) {
				p.t.Errorf("the report as %s says %q", form, wrong)
			}
		}
	}
}

// TestTheSameFindingFromOutside lets another process diagnose the demo's server, with names that no rule can know and
// with performance_schema off, as MariaDB ships.
func TestTheSameFindingFromOutside(t *testing.T) {
	p := newPlace(t)
	o := p.last(p.dyno("demo", "missing-index", "--no-cure", "--keep", "--random-names", "--seed", "8", "--set",
		"performance_schema=OFF", "--output", "json"))
	if !o.Found || len(o.Foreign) != 0 {
		t.Fatalf("found %v, findings %+v, foreign %+v", o.Found, o.Findings, o.Foreign)
	}
	box := "sandbox:" + o.Sandbox
	p.load(box, "--names-seed=8", "--db-ps-mode=disable")
	var exit *exec.ExitError
	if err := p.command("diagnose", box, "--quiet", "--fail-on", "warning", "--window", "5s").Run(); !errors.As(err,
		&exit) || exit.ExitCode() != 3 {
		t.Fatalf("--fail-on warning ended with %v, want code 3", err)
	}
	var fs []finding
	for s := bufio.NewScanner(strings.NewReader(p.dyno("diagnose", box, "--output", "json"))); s.Scan(); {
		var f finding
		if err := json.Unmarshal(s.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		fs = append(fs, f)
	}
	if len(fs) != 1 || fs[0].ID != o.Findings[0].ID || fs[0].Action.SQL != o.Findings[0].Action.SQL {
		t.Fatalf("got %+v, the demo found %+v", fs, o.Findings)
	}
	sampled := false
	for _, e := range fs[0].Evidence {
		sampled = sampled || e.Sampled
	}
	if !sampled {
		t.Fatalf("nothing is marked as sampled: %+v", fs[0].Evidence)
	}
}

// load runs the fault's load on a sandbox until the test ends.
func (p place) load(target string, more ...string) {
	p.t.Helper()
	c := p.command(append([]string{
		"load", "missing-index", "run", "--target", target, "--threads=3", "--time=300",
		"--quiet",
	}, more...)...)
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Process.Signal(os.Interrupt); c.Wait() })
}

// TestApplyUndoProof carries the change out by hand, as on anybody's server.
func TestApplyUndoProof(t *testing.T) {
	p := newPlace(t)
	o := p.last(p.dyno("demo", "missing-index", "--no-cure", "--keep", "--random-names", "--seed",
		"7", "--output", "json"))
	box := "sandbox:" + o.Sandbox
	p.load(box, "--names-seed=7")
	id := o.Findings[0].ID
	p.dyno("diagnose", box)
	if out := p.dyno("apply", box, id, "--blocking"); !strings.Contains(out, "To execute: dyno apply "+box+" "+id+
		" --blocking --execute") {
		t.Errorf("the command for what was shown is missing: %s", out)
	}
	if out := p.dyno("apply", box, id); !strings.Contains(out, "Nothing was changed") ||
		!strings.Contains(out, "ADD INDEX") {
		t.Fatalf("dry run says %s", out)
	}
	var e struct{ ID, State string }
	if err := json.Unmarshal([]byte(p.dyno("apply", box, id, "--execute", "--output", "json")), &e); err != nil ||
		e.State != "done" {
		t.Fatalf("got %+v, %v", e, err)
	}
	type side struct {
		Examined *float64 `json:"rows_examined_per_call"`
	}
	var proof struct {
		Touched []struct {
			TimeRatio     *float64 `json:"time_ratio"`
			Before, After side
		}
		Mix struct{ Shift *float64 }
	}
	if err := json.Unmarshal([]byte(p.dyno("proof", e.ID, "--window", "5s", "--output", "json")), &proof); err != nil {
		t.Fatal(err)
	}
	if len(proof.Touched) == 0 || proof.Touched[0].TimeRatio == nil || *proof.Touched[0].TimeRatio < 2 ||
		proof.Mix.Shift == nil {
		t.Fatalf("proof %+v", proof)
	}
	if b, a := proof.Touched[0].Before.Examined, proof.Touched[0].After.Examined; b == nil || a == nil || *b < 1 ||
		*b < 10**a { // which is 0 when no call of the window found a row
		t.Fatalf("rows examined per call: before %+v, after %+v", b, a)
	}
	// How well the promise holds is a matter of seconds, which a busy machine does not tell.
	if g := o.Findings[0].Gain; g == nil || g.Lo < 2 || g.Hi < g.Lo {
		t.Errorf("expected gain %+v", g)
	}
	if out := p.dyno("diagnose", box, "--output", "json"); out != "" {
		t.Fatalf("cured, and yet: %s", out)
	}
	if out := p.dyno("undo", e.ID); !strings.Contains(out, "Nothing was changed") ||
		!strings.Contains(out, "DROP INDEX") || strings.Contains(out, "Blocked") {
		t.Fatalf("dry run says %s", out)
	}
	if out := p.dyno("undo", "--list", box); !strings.Contains(out, "\n"+e.ID) || !strings.Contains(out, box+" ") ||
		!strings.Contains(out, " done ") || !strings.Contains(out, "ADD INDEX") {
		t.Errorf("the journal of %s is %s", box, out)
	}
	p.dyno("undo", e.ID, "--execute")
	if out := p.dyno("undo", "--list"); !strings.Contains(out, "\n"+e.ID) || !strings.Contains(out, " undone ") {
		t.Errorf("the journal is %s", out)
	}
	if out := p.dyno("undo", e.ID); !strings.Contains(out, "Blocked: it is undone") {
		t.Fatalf("a dry run of what is undone says %s", out)
	}
	if out := p.dyno("diagnose", box, "--output", "json"); !strings.Contains(out, id) {
		t.Fatalf("undone, and yet not found again: %q", out)
	}
}

func TestHealthyServersHaveNoFinding(t *testing.T) {
	for _, c := range [][2]string{
		{"healthy-reads", "mariadb"},
		{"healthy-writes", "mariadb"},
		{"healthy-idle", "mariadb"},
		{"healthy-writes", "mysql@9.7"},
	} {
		t.Run(c[0]+" "+c[1], func(t *testing.T) {
			p := newPlace(t)
			o := p.last(p.dyno("demo", c[0], "--server", c[1], "--output", "json"))
			if o.Found || len(o.Findings) != 0 || len(o.Foreign) != 0 {
				t.Fatalf("got %+v", o)
			}
		})
	}
}

// TestKilledHalfWay ends Dyno as a crash would: the server is listed as an orphan and goes without a trace.
func TestKilledHalfWay(t *testing.T) {
	p := newPlace(t)
	c := p.command("demo", "missing-index", "--output", "json")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(out)
	for s.Scan() && !strings.Contains(s.Text(), `"message":"tick"`) {
	}
	c.Process.Signal(syscall.SIGKILL)
	c.Wait()
	if ls := p.dyno("sandbox", "ls"); !strings.Contains(ls, "orphan") {
		t.Fatalf("sandbox ls says %q", ls)
	}
	p.dyno("store", "check")
	p.dyno("sandbox", "rm", "--all")
	if ls := p.dyno("sandbox", "ls", "--output", "json"); ls != "" {
		t.Fatalf("sandbox ls says %q", ls)
	}
	p.nothingRuns()
	for _, dir := range []string{"sandboxes", "templates"} {
		if left, err := os.ReadDir(filepath.Join(p.home, dir)); err == nil && len(left) > 0 {
			t.Fatalf("left in %s: %v", dir, left)
		}
	}
}

// TestStopped presses Ctrl-C in the middle.
func TestStopped(t *testing.T) {
	for _, server := range []string{"mariadb", "postgres@17"} {
		t.Run(server, func(t *testing.T) {
			p := newPlace(t)
			c := p.command("demo", "missing-index", "--server", server)
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var errs bytes.Buffer
			c.Stderr = &errs
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			s := bufio.NewScanner(out)
			for s.Scan() && !strings.Contains(s.Text(), "from outside") {
			}
			c.Process.Signal(os.Interrupt)
			c.Process.Signal(os.Interrupt) // as sudo and timeout do, which signal the process and its group
			done := make(chan error, 1)
			go func() {
				for s.Scan() {
				}
				done <- c.Wait()
			}()
			select {
			case err = <-done:
			case <-time.After(30 * time.Second):
				c.Process.Kill()
				t.Fatal("still running 30 s after Ctrl-C")
			}
			if err == nil || !strings.Contains(errs.String(), "stopped") {
				t.Fatalf("ended with %v and said %q", err, errs.String())
			}
			if ls := p.dyno("sandbox", "ls", "--output", "json"); ls != "" {
				t.Fatalf("left behind: %s", ls)
			}
			if left, err := os.ReadDir(filepath.Join(p.home, "reports")); err != nil || len(left) > 0 {
				t.Errorf("a recording without a report is left behind: %v, %v", left, err)
			}
			p.nothingRuns()
		})
	}
}

// TestWrongServer asks for what cannot be: the answer says what there is, and nothing is left.
func TestWrongServer(t *testing.T) {
	p := newPlace(t)
	f := func(want string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		c := p.command(append([]string{"demo"}, args...)...)
		c.Stdout, c.Stderr = &out, &errs
		var exit *exec.ExitError
		if err := c.Run(); !errors.As(err, &exit) || !strings.Contains(errs.String(), want) || out.Len() > 0 {
			t.Errorf("%v: %v, %s%s", args, err, &out, &errs)
		}
	}
	const elsewhere = "plant lock-pileup: it does not exist on postgres, only on mysql and mariadb"
	f("find server postgres@99: no such server build", "--server", "postgres@99")
	f("neither a flavor nor a path", "--server", "postgre@17")
	f(elsewhere, "lock-pileup", "--server", "postgres@17")
	f(elsewhere, "missing-index+lock-pileup", "--server", "postgres@17")
	f(elsewhere, "lock-pileup", "--server", "postgres@99") // there is no build to install for that
	f("did you mean \"missing-index\"? `dyno demo --list`", "missing-indx")
	if left, err := os.ReadDir(filepath.Join(p.home, "reports")); err == nil && len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
