package lab

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/store/trials"
	"github.com/dyno-perf/dyno/internal/testbed"
	"github.com/dyno-perf/dyno/internal/trial"
)

// prepared returns an app with a home of its own, and the comparison of a plan for which no server was looked for.
func prepared(t *testing.T, text string) (*app.App, *Comparison) {
	t.Helper()
	a := &app.App{Home: t.TempDir(), Version: "test", Environ: func(string) string { return "" }}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := plan.Parse([]byte(text), plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &Comparison{Plan: p, o: CompareOptions{Text: []byte(text)}}
	if c.Variants, err = p.Variants(); err != nil {
		t.Fatal(err)
	}
	if c.yard, err = a.Yard(); err != nil {
		t.Fatal(err)
	}
	c.testbed = &testbed.Testbed{Yard: c.yard, Workloads: app.Workloads(), Family: familyOf}
	return a, c
}

// TestNoTrials runs a plan that has no time for a single trial: that is an error with its reason, and nothing is left.
func TestNoTrials(t *testing.T) {
	a, c := prepared(t, tinyPlan)
	c.Plan.Budget = plan.Duration(time.Second) // a plan that says so is refused
	r, _, err := Compare(t.Context(), a, c)
	if err == nil || !strings.Contains(err.Error(), "run tiny: it ended before its first trial: the budget of 1 s") {
		t.Errorf("%v", err)
	}
	left, lerr := Experiments(a)
	if len(r.Trials) != 0 || c.ID != "" || len(left) != 0 || lerr != nil {
		t.Errorf("%d trials of %q, left %v (%v)", len(r.Trials), c.ID, left, lerr)
	}
}

// TestStoppedBeforeTheFirstTrial: an experiment that was stopped while its data were made is no experiment to go on
// with.
func TestStoppedBeforeTheFirstTrial(t *testing.T) {
	a, c := prepared(t, tinyPlan)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := Compare(ctx, a, c); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left, err := Experiments(a); c.ID != "" || len(left) != 0 || err != nil {
		t.Errorf("left of %q: %v (%v)", c.ID, left, err)
	}
}

// TestMissingServers shows what is said of servers that are not there: of a path what is wrong with it, of others how
// to get them.
func TestMissingServers(t *testing.T) {
	f := func(install bool, servers, want string, not ...string) {
		t.Helper()
		_, c := prepared(t, strings.Replace(tinyPlan, "server: mariadb", "servers: ["+servers+"]", 1))
		c.o.Install = install
		err := c.servers(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", servers, err, want)
		}
		for _, n := range not {
			if err != nil && strings.Contains(err.Error(), n) {
				t.Errorf("%s: %v has %q", servers, err, n)
			}
		}
	}
	for _, install := range []bool{false, true} {
		f(install, "/nowhere/mysqld", "/nowhere/mysqld: no such file or directory", "install")
		f(install, "/bin/true", "/bin/true", "install", "not a flavor")
	}
	_, c := prepared(t, strings.Replace(tinyPlan, "server: mariadb", "servers: [mysql@5.5]", 1))
	c.o.Install, c.o.DryRun = true, true
	var missing *MissingServersError
	if err := c.servers(t.Context()); !errors.As(err, &missing) { // to look at what would be done fetches nothing
		t.Errorf("a dry run: %v", err)
	}
	f(false, "mysql@5.5", "not on this machine: mysql@5.5; get it with `dyno sandbox install mysql@5.5` or "+
		"--install; or name", "--server-dir")
	// no command that fails
	f(false, "mysql@1.2", "there is no download of mysql@1.2 (there are mysql@", "sandbox install")
	f(false, "percona@1.2", "there is no download of percona@1.2: unpack its archive and name the directory with "+
		"--server-dir", "sandbox install", "--install")
	f(false, "mysql@5.5, percona@1.2", "not on this machine: mysql@5.5, percona@1.2; get it with `dyno sandbox "+
		"install mysql@5.5` or --install; there is no download of percona@1.2", "install percona")
}

// TestOneExperimentAtATime begins one beside another of the same home, which is refused until the other one has ended.
// What has no time for a trial shows that it was begun.
func TestOneExperimentAtATime(t *testing.T) {
	a, c := prepared(t, tinyPlan)
	c.Plan.Budget = plan.Duration(time.Second)
	begins := func(want string) {
		t.Helper()
		if _, _, err := Compare(t.Context(), a, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	const done = "it ended before its first trial"
	other := &app.App{Home: a.Home}

	free, err := alone(other)
	if err != nil {
		t.Fatal(err)
	}
	begins("run tiny: another experiment is starting")
	dir := filepath.Join(app.Stores{App: a}.ExperimentsDir(), "x-other")
	d, err := trials.Create(dir, trials.Header{ID: "x-other"})
	if err != nil {
		t.Fatal(err)
	}
	begins("run tiny: experiment x-other (process ")
	if err := free(); err != nil {
		t.Fatal(err)
	}
	begins("experiment x-other") // its process knows no lock for all
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	begins(done)
	begins(done) // it does not stand in its own way
	if all, err := Experiments(a); err != nil || len(all) != 1 {
		t.Errorf("left: %+v, %v", all, err)
	}
}

// TestDuration: what a run of a plan is said to take has its setup in it, and is as long as the trials of an earlier
// run say.
func TestDuration(t *testing.T) {
	a, c := prepared(t, tinyPlan)
	c.Plan.Trials.Time, c.Plan.Trials.WarmMin, c.Plan.Trials.WarmMax, c.Plan.Trials.Fresh = 0, 0, 0, plan.FreshNone
	n := time.Duration(len(c.Variants)+1) * time.Duration(c.Plan.Trials.Min)
	least, _, run := duration(a, c.Plan)
	if want := n*setupProbes + prepareData; least != want || run != "" {
		t.Errorf("statements only: %v as in %q, want %v", least, run, want)
	}
	d, err := trials.Create(filepath.Join(app.Stores{App: a}.ExperimentsDir(), "x-1"),
		trials.Header{ID: "x-1", Hash: c.Plan.Hash(), Plan: tinyPlan})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		began := time.Unix(1e9, 0)
		if err := d.Put(t.Context(), trial.Trial{
			Seq: i + 1, Round: 1, Variant: "a", Setup: 2, From: began,
			To: began.Add(time.Second),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	least, most, run := duration(a, c.Plan)
	if want := n*3*time.Second + prepareData; least != want || most < least || run != "x-1" {
		t.Errorf("as measured: %v to %v as in %q, want %v", least, most, run, want)
	}
	c.Plan.Budget = plan.Duration(2 * time.Second)
	if least, most, _ := duration(a, c.Plan); least != 2*time.Second || most != least {
		t.Errorf("with a budget of 2 s: %v to %v", least, most)
	}
}
