package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/compare"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/trial"
)

// compared runs a plan on the servers of this machine and those that DYNO_TEST_POSTGRES names, and returns its result
// as its report has it.
func compared(t *testing.T, text string) trial.Result {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server")
	}
	l := labOf(t)
	o := CompareOptions{Text: []byte(text), File: "p.yaml", Note: func(s string) { t.Log(s) }}
	if root := os.Getenv("DYNO_TEST_POSTGRES"); root != "" { // see build/postgres
		trees, err := filepath.Glob(root + "/*")
		if err != nil {
			t.Fatal(err)
		}
		o.ServerDirs = trees
	}
	c, err := Prepare(t.Context(), l.app, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Compare(t.Context(), l.app, c); err != nil {
		t.Fatal(err)
	}
	led, err := l.app.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := led.Documents.Get(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := report.Decode(d.JSON)
	if err != nil || doc.Comparison == nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(l.app.ReportDir(c.ID), "report.html")); err != nil {
		t.Error(err)
	}
	if x, err := l.Experiment(t.Context(), c.ID); err != nil || x.State != Finished || len(x.Runs) < 6 {
		t.Errorf("%v %d %v", x.State, len(x.Runs), err)
	}
	return *doc.Comparison
}

// judged makes sure that both variants were measured in each round, by so many trials with the control's, and that the
// second was compared with the first.
func judged(t *testing.T, r trial.Result, trials int) {
	t.Helper()
	if len(r.Cells) != 2 || len(r.Trials) < trials {
		t.Fatalf("%d cells of %d trials", len(r.Cells), len(r.Trials))
	}
	for _, x := range r.Trials {
		if x.Invalid != "" && !strings.Contains(x.Invalid, "hypervisor") {
			t.Errorf("trial %d of %s does not count: %s", x.Seq, x.Variant, x.Invalid)
		}
	}
	c := r.Cells[1]
	tps := c.Ratios[compare.Value(r.Plan)]
	if c.Failed != "" || c.Verdict == nil || !(tps.Lo > 0) || !(tps.Hi > tps.Lo) || r.Sentence == "" {
		t.Errorf("%+v %+v", c, tps)
	}
}

// TestComparePostgreSQLSettings compares two values of a setting on one running server.
func TestComparePostgreSQLSettings(t *testing.T) {
	r := compared(t, `dyno_plan: 1
name: commit
server: postgres@17
settings: {shared_buffers: 64MB}
workload: oltp_insert
options: {table-size: 200}
axes:
  - set: synchronous_commit
    values: ["on", "off"]
placement: shared
trials: {time: 1s, warmup: 200ms..200ms, rounds: 3..3, margin: 25%, fresh: none}
`)
	judged(t, r, 9)
	told := func(ds []trial.Difference, name string) int {
		return slices.IndexFunc(ds, func(d trial.Difference) bool { return d.Group == "variable" && d.Name == name })
	}
	if i := told(r.Explained, "synchronous_commit"); i < 0 || r.Explained[i].Why != "set by the plan" {
		t.Errorf("explained: %+v", r.Explained)
	}
	for _, d := range r.AlsoDiffers {
		if d.Group == "variable" || d.Group == "server" {
			t.Errorf("nothing explains %+v", d)
		}
	}
	if r.Env.Facts["variable"]["shared_buffers"] != "64MB" {
		t.Errorf("%v", r.Env.Facts["variable"])
	}
}

// TestCompareFamilies compares servers of two families under the same load.
func TestCompareFamilies(t *testing.T) {
	r := compared(t, `dyno_plan: 1
name: families
servers: [mariadb, postgres@16]
workload: oltp_point_select
options: {table-size: 200}
placement: shared
trials: {time: 1s, warmup: 200ms..200ms, rounds: 3..3, margin: 25%, control: false}
`)
	judged(t, r, 6)
	for _, d := range r.AlsoDiffers {
		if d.Group == "variable" || d.Group == "server" {
			t.Errorf("nothing explains %+v", d)
		}
	}
	if _, there := r.Cells[1].Values["written_bytes_redo"]; !there {
		t.Errorf("%+v", r.Cells[1].Values)
	}
}

// TestCausesOf: what is known of a server's variables follows from how a plan names it.
func TestCausesOf(t *testing.T) {
	for server, want := range map[string]string{
		"mysql@9.7": "MySQL", "mariadb": "MySQL", "postgres@17": "PostgreSQL", "/x/bin/postgres": "PostgreSQL",
		"/usr/sbin/mysqld": "MySQL",
	} {
		if got := causesOf(server).Family; got != want {
			t.Errorf("%s: %s", server, got)
		}
	}
	if _, ok := familyOf("oracle"); ok {
		t.Error("a family of a flavor that is not known")
	}
}

// TestPlanSchema: the schema that editors read is the one that this program prints.
func TestPlanSchema(t *testing.T) {
	want, err := os.ReadFile("../../docs/plan.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, plan.Schema(PlanWords())) {
		t.Error("docs/plan.schema.json is of other words than those of the first family")
	}
}
