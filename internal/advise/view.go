package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// View is a snapshot prepared for rules: what they look up often is looked up once. It belongs to one goroutine.
type View struct {
	*snapshot.Snapshot
	variables
	Symptoms []finding.Symptom
	Dialect  Dialect // of the target's family
	Postgres bool    // the target is PostgreSQL
	Total    float64 // statement time of all classes, seconds
	Window   float64 // seconds

	plans    map[key]explain.Plan
	shapes   map[string]parsed
	general  map[string]parsed
	compared map[string]parsed
	series   map[string][]int // positions of the series of a name
	classes  map[string]int
	tables   map[string][]int   // positions of the tables of a name in lower case
	resolved map[schema.Ref]int // positions of the tables that were asked for, none where it is not told
	patterns int                // names among them that have lost their digits
	writers  map[schema.Ref][]Writer
}

const (
	none = -1
	// mostNames bounds the names of tables without their digits that are looked for: each is compared with those of all
	// tables.
	mostNames = 5000
)

// key tells the classes and plans of one statement apart that runs in several databases.
type key struct{ schema, id string }

// parsed is what a statement, or its fingerprint, says.
type parsed struct {
	shape    sqlshape.Shape
	compared []sqlshape.Comparison // if that was asked for
	err      error
}

// NewView prepares a snapshot with its symptoms.
func NewView(s *snapshot.Snapshot, symptoms []finding.Symptom) *View {
	v := &View{
		Snapshot: s, Symptoms: symptoms, Total: s.TotalTime(), Window: s.Seconds(), plans: map[key]explain.Plan{},
		Dialect: dialectOf(s.Target.Flavor), Postgres: s.Target.Flavor.IsPostgres(),
		variables: s.Variables, shapes: map[string]parsed{},
		general: map[string]parsed{}, compared: map[string]parsed{}, series: map[string][]int{},
		classes: map[string]int{}, tables: map[string][]int{},
		resolved: map[schema.Ref]int{},
	}
	for _, p := range s.Plans {
		if k := (key{p.Schema, p.Class}); p.Error == "" && len(p.Steps) > 0 {
			if _, dup := v.plans[k]; !dup {
				v.plans[k] = p
			}
		}
	}
	for i, x := range s.Series {
		v.series[x.Name] = append(v.series[x.Name], i)
	}
	for i, c := range s.Classes {
		if _, dup := v.classes[c.ID]; !dup {
			v.classes[c.ID] = i
		}
	}
	for i, t := range s.Tables {
		k := strings.ToLower(t.Table)
		v.tables[k] = append(v.tables[k], i)
	}
	return v
}

// MariaDB reports whether the target is one.
func (v *View) MariaDB() bool { return v.Target.Flavor.IsMariaDB() }

// AtLeast reports whether the target's version is the one named or newer; with two numbers the third does not matter.
// Flavors count apart: ask MariaDB first. It is for validity of advice in words; what a server can do is told by its
// variables.
func (v *View) AtLeast(version ...int) bool {
	have := strings.FieldsFunc(v.Target.Version, func(r rune) bool { return r < '0' || r > '9' })
	for i, want := range version {
		if i >= len(have) {
			return true
		}
		n, err := strconv.Atoi(have[i])
		if err != nil || n != want {
			return err == nil && n > want
		}
	}
	return true
}

// Plan returns the plan of a class; false when there is none that holds steps. As in Snapshot.Plan, one that does not
// say in which database it was asked for is taken where there is no better.
func (v *View) Plan(c class.Class) (explain.Plan, bool) {
	p, ok := v.plans[key{c.Schema, c.ID}]
	if !ok {
		p, ok = v.plans[key{"", c.ID}]
	}
	return p, ok
}

// Class returns the class with the id, the first one where several databases have it.
func (v *View) Class(id string) (class.Class, bool) {
	i, ok := v.classes[id]
	if !ok {
		return class.Class{}, false
	}
	return v.Classes[i], true
}

// ClassOf returns the class that a plan is of.
func (v *View) ClassOf(p explain.Plan) (class.Class, bool) {
	if c, ok := v.ClassIn(p.Schema, p.Class); ok || p.Schema != "" {
		return c, ok
	}
	return v.Class(p.Class)
}

// Share returns which part of the statement time a class holds, 0 to 1.
func (v *View) Share(c class.Class) float64 {
	if v.Total <= 0 {
		return 0
	}
	return c.TimeSec / v.Total
}

// Severity is that of a cause that holds a share of the statement time: critical when it is at least half of it, on a
// server that has little left, else a warning.
func (v *View) Severity(share float64) finding.Severity {
	_, full := v.Has(finding.CPUSaturated, "")
	if cpus, ok := v.Host.CPUs.Get(); ok && v.Window > 0 && v.Total/v.Window >= cpus/2 {
		full = true
	}
	if share >= 0.5 && full {
		return finding.Critical
	}
	return finding.Warning
}

// All returns every series of a name, those whose labels include all of want.
func (v *View) All(name string, want ...metric.Label) (out []metric.Series) {
next:
	for _, i := range v.series[name] {
		for _, w := range want {
			if v.Series[i].Labels.Get(w.Name) != w.Value {
				continue next
			}
		}
		out = append(out, v.Series[i])
	}
	return out
}

// Find returns the first series of a name whose labels include all of want.
func (v *View) Find(name string, want ...metric.Label) (metric.Series, bool) {
	if all := v.All(name, want...); len(all) > 0 {
		return all[0], true
	}
	return metric.Series{}, false
}

// Rate returns the growth per second of a counter over the window; unknown when it was not observed at least twice.
func (v *View) Rate(name string, want ...metric.Label) known.Value[float64] {
	if x, ok := v.Find(name, want...); ok {
		if r, ok := x.Rate(); ok {
			return known.Of(r)
		}
	}
	return known.None[float64]()
}

// Status returns the growth per second of a counter of SHOW GLOBAL STATUS, named as the server names it:
// "Created_tmp_disk_tables". Those of a metric.Family, and pages of the buffer pool, have other names.
func (v *View) Status(name string) known.Value[float64] {
	return v.Rate("mysql_global_status_" + strings.ToLower(name))
}

// Gauge returns the last value of a figure of SHOW GLOBAL STATUS, counters as they stand since the server's start.
func (v *View) Gauge(name string) known.Value[float64] {
	return v.Last("mysql_global_status_" + strings.ToLower(name))
}

// Last returns the last value of a series.
func (v *View) Last(name string, want ...metric.Label) known.Value[float64] {
	if x, ok := v.Find(name, want...); ok && len(x.Points) > 0 {
		return known.Of(x.Points[len(x.Points)-1].Value)
	}
	return known.None[float64]()
}

// Mean returns the mean of a gauge's values in the window, each weighing the same.
func (v *View) Mean(name string, want ...metric.Label) known.Value[float64] {
	x, ok := v.Find(name, want...)
	if !ok || len(x.Points) == 0 {
		return known.None[float64]()
	}
	sum := 0.0
	for _, p := range x.Points {
		sum += p.Value
	}
	return known.Of(sum / float64(len(x.Points)))
}

// variables are the global ones of a server.
type variables map[string]string

// Variable returns a global variable, in lower case; false when the server has none of the name.
func (vs variables) Variable(name string) (string, bool) {
	x, ok := vs[name]
	return x, ok
}

// Number returns a variable that is a number; unknown when the server has none of the name or it is something else.
func (vs variables) Number(name string) known.Value[float64] {
	x, err := strconv.ParseFloat(vs[name], 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) { // a server's word may be anything
		return known.None[float64]()
	}
	return known.Of(x)
}

// On reports whether a variable is switched on; false too when the server has none of the name.
func (vs variables) On(name string) bool {
	switch strings.ToUpper(vs[name]) {
	case "ON", "1", "YES", "TRUE", "DEMAND", "FORCE":
		return true
	}
	return false
}

// SetVariable is the action that sets a variable while the server runs, with the way back to what it is now.
func (vs variables) SetVariable(name, value string) *finding.Action {
	a := &finding.Action{Kind: finding.SetVariable, Variable: name, Value: value, SQL: mytext.SetGlobal(name, value)}
	if old, ok := vs.Variable(name); ok {
		a.Undo = mytext.SetGlobal(name, old)
	}
	return a
}

// Seen reports whether a source gave what it should.
func (v *View) Seen(name source.Name) bool { return v.Source(name).State == source.OK }

// Blind says in one sentence why a source gave nothing and what would mend that; empty when it gave what it should.
func (v *View) Blind(name source.Name) string {
	if name == source.Transactions && v.Postgres { // read with the sessions
		name = source.Processlist
	}
	x := v.Source(name)
	if x.State == source.OK {
		return ""
	}
	text := fmt.Sprintf("Data unavailable: %s (%s)", name, cmp.Or(x.Reason, string(x.State)))
	if x.Fix != "" {
		text += ". Fix: " + x.Fix
	}
	return text
}

// LastMoment returns the latest moment; nil when there is none.
func (v *View) LastMoment() *state.State {
	if len(v.Moments) == 0 {
		return nil
	}
	return &v.Moments[len(v.Moments)-1]
}

// parse asks read about a class once: about its example, which still has every name, or else about its fingerprint.
func parse(memo map[string]parsed, c class.Class, example string, read func(sql string) parsed) parsed {
	p, ok := memo[c.ID]
	if !ok {
		p.err = sqlshape.ErrNotUnderstood
		if example != "" {
			p = read(example)
		}
		if p.err != nil {
			p = read(c.Text())
		}
		memo[c.ID] = p
	}
	return p
}

func shape(sql string) (p parsed) {
	p.shape, p.err = sqlshape.Parse(sql)
	return p
}

// Shape returns what a class asks of its tables.
func (v *View) Shape(c class.Class) (sqlshape.Shape, error) {
	p := parse(v.shapes, c, c.Example, shape)
	return p.shape, p.err
}

// General returns the shape of a class's fingerprint, which stands for all tables whose names differ in digits only: an
// example shows one.
func (v *View) General(c class.Class) (sqlshape.Shape, error) {
	p := parse(v.general, c, "", shape)
	return p.shape, p.err
}

// Compared returns the shape of a class and its comparisons, see sqlshape.Compared.
func (v *View) Compared(c class.Class) (sqlshape.Shape, []sqlshape.Comparison, error) {
	p := parse(v.compared, c, c.Example, func(sql string) (p parsed) {
		p.shape, p.compared, p.err = sqlshape.Compared(sql)
		return p
	})
	return p.shape, p.compared, p.err
}

// Has returns the symptom of a kind, about a subject when one is given.
func (v *View) Has(kind finding.SymptomKind, subject string) (finding.Symptom, bool) {
	for _, x := range v.Symptoms {
		if x.Kind == kind && (subject == "" || x.Subject == subject) {
			return x, true
		}
	}
	return finding.Symptom{}, false
}

// Resolve finds the table that a reference of a statement means; no answer when there is none in the snapshot or more
// than one that it could be.
func (v *View) Resolve(c class.Class, r sqlshape.TableRef) (schema.Table, bool) {
	if r.Name == "" {
		return schema.Table{}, false
	}
	k := schema.Ref{Schema: cmp.Or(r.Schema, c.Schema), Table: r.Name}
	i, asked := v.resolved[k]
	if !asked {
		i = resolve(v, k)
		v.resolved[k] = i
	}
	if i == none {
		return schema.Table{}, false
	}
	return v.Tables[i], true
}

func resolve(v *View, want schema.Ref) int {
	found := none
	// other reports whether table i is another one than the first that was found.
	other := func(i int) bool {
		t := &v.Tables[i]
		if want.Schema != "" && !sqlshape.Match(want.Schema, t.Schema) || !sqlshape.Match(want.Table, t.Table) {
			return false
		}
		if found != none {
			return true
		}
		found = i
		return false
	}
	if strings.Contains(want.Table, "?") { // digits of a fingerprint
		if v.patterns++; v.patterns > mostNames {
			return none
		}
		for i := range v.Tables {
			if other(i) {
				return none
			}
		}
		return found
	}
	if slices.ContainsFunc(v.tables[strings.ToLower(want.Table)], other) {
		return none
	}
	return found
}

// TablesOf finds the tables that a statement of a class reads.
func (v *View) TablesOf(c class.Class, refs []sqlshape.TableRef) *Tables {
	x := &Tables{List: make([]schema.Table, len(refs))}
	for i, r := range refs {
		x.List[i], _ = v.Resolve(c, r)
	}
	return x
}

// Unobserved repeats what could not be seen, with what would mend it.
func (v *View) Unobserved() (out []string) {
	for _, s := range v.Symptoms {
		if s.Kind == finding.NotObservable {
			for _, e := range s.Evidence {
				out = append(out, e.Text)
			}
		}
	}
	return out
}
