package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/judge"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/panel"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// memories is a family of servers that are nothing but settings in memory: all that a family needs to be seen, judged
// and changed is here.
type memories struct{}

func (memories) Name() string           { return "Memory" }
func (memories) Has(f dbms.Flavor) bool { return f == "memory" }
func (memories) Up() string             { return "memory_up" }
func (memories) Panels() []panel.Panel  { return nil }
func (memories) Headline() *state.Names { return nil }
func (memories) Names() family.Names    { return family.Names{} }
func (memories) Help(string) string     { return "" }
func (memories) Sources() []scrape.Info {
	return []scrape.Info{{Name: "sizes", Traits: scrape.Traits{Totals: true}}}
}

func (memories) Resolve(s endpoint.Spec, _ string, _ func(string) string) (endpoint.Spec, error) {
	return s, nil
}

func (memories) Open(_ context.Context, s endpoint.Spec) (family.Server, error) {
	return memory{s, map[string]string{"size": "1"}}, nil
}

func (memories) PasswordFile(endpoint.Spec, string) string { return "" }

func (memories) Trust(context.Context, endpoint.Spec, bool, bool) (endpoint.Accepted, error) {
	return endpoint.Accepted{}, nil
}

func (memories) Grants(dbms.Flavor, string, string, []string) ([]string, error) { return nil, nil }
func (memories) CreateAccount(string) (create, unlock string, err error)        { return "", "", nil }
func (memories) NewAccount(dbms.Flavor, bool, string) []string                  { return nil }
func (memories) Account(f family.Facts) (string, error)                         { return f.User, nil }

func (memories) Refused(s endpoint.Spec, _ error) (string, bool) { return s.User, true }

func (memories) Greeting(context.Context, endpoint.Spec) (dbms.Flavor, string) { return "memory", "" }

func (memories) KindOf(error) endpoint.Kind                  { return endpoint.Unknown }
func (memories) HintOf(error) string                         { return "" }
func (memories) LoginRefused(error) bool                     { return false }
func (memories) Patience(error, time.Duration) time.Duration { return time.Second }

// Judgement has one rule: whoever asks for much needs more room.
func (memories) Judgement() judge.Family {
	return judge.Family{Rules: map[advise.Kind][]advise.Rule{advise.Config: {{
		Name: "small-size", Doc: "a size that is too small for what is asked for",
		Find: func(v *advise.View) (all []finding.Finding) {
			for _, c := range v.Classes {
				if v.Variables["size"] == "1" && c.Count > 2 {
					all = append(all, finding.Finding{
						ID: finding.MakeID("small-size", c.ID), Rule: "small-size",
						Subject:  finding.Subject{Classes: []string{c.ID}},
						Severity: finding.Critical, Confidence: finding.Certain,
						Action: &finding.Action{Kind: finding.SetVariable, Variable: "size", Value: "2"},
					})
				}
			}
			return all
		},
	}}}}
}

// Shown implements shows.
func (memories) Shown(c class.Class) (string, []string, bool) {
	return "ask", nil, c.Origin == "memory"
}

// memory is a server of that family.
type memory struct {
	spec     endpoint.Spec
	settings map[string]string
}

func (memory) Family() family.Family { return memories{} }
func (m memory) Spec() endpoint.Spec { return m.spec }
func (memory) About() family.Facts {
	return family.Facts{Flavor: "memory", Version: "1", Server: "m-1"}
}
func (memory) Judged() []string          { return []string{"sizes"} }
func (memory) Close() error              { return nil }
func (m memory) Changer() change.Changer { return m }

func (m memory) Scraper(o scrape.Options) (*scrape.Scraper, error) {
	own := scrape.Entry{Source: m, Traits: scrape.Traits{Totals: true}}
	return scrape.New(scrape.Parts{Entries: []scrape.Entry{own}, Light: idle{}}, o)
}

// Name and Scrape make it the one source of itself.
func (memory) Name() source.Name { return "sizes" }

func (m memory) Scrape(_ context.Context, at int64, emit func(metric.Sample)) error {
	v, err := strconv.ParseFloat(m.settings["size"], 64)
	emit(metric.Sample{Name: "memory_size", At: at, Value: v})
	return err
}

// Look implements family.Looker.
func (m memory) Look(_ context.Context, o family.Look) (*snapshot.Snapshot, error) {
	now := time.Now()
	return &snapshot.Snapshot{
		Format: snapshot.Format, From: now.Add(-o.Window), To: now,
		Target:    snapshot.Target{Name: m.spec.Name, Server: "m-1", Flavor: "memory", Version: "1"},
		Variables: m.settings,
		Classes: []class.Class{{
			ID: class.ID("ASK ?"), Fingerprint: "ASK ?", Origin: "memory", Count: 3, TimeSec: 1,
		}},
	}, nil
}

// idle is a connection that has nothing to do.
type idle struct{ scrape.Link }

func (idle) Used() scrape.Usage   { return scrape.Usage{} }
func (idle) Retry()               {}
func (idle) Ping(context.Context) {}
func (idle) Close()               {}
func (idle) Hold() func()         { return func() {} }

func (idle) Read(_ context.Context, release func()) func(context.Context) {
	release()
	return func(context.Context) {}
}

func (m memory) Server() change.Server {
	return change.Server{Name: "mem", URL: "memory://", ID: "m-1"}
}
func (m memory) Pin(context.Context) error { return nil }

func (m memory) Check(_ context.Context, a finding.Action, o change.Options) (change.Preview, change.Step, error) {
	was, has := m.settings[a.Variable]
	a.Was, a.SQL, a.Undo = was, "SET "+a.Variable+"="+a.Value, "SET "+a.Variable+"="+was
	p := change.Preview{Target: "mem", Server: "m-1", Action: a, Words: "Set " + a.Variable}
	if !has {
		p.Block("there is no %s", a.Variable)
	}
	s, err := m.Step(a, o)
	return p, s, err
}

func (m memory) Step(a finding.Action, _ change.Options) (change.Step, error) {
	if a.Kind != finding.SetVariable {
		return change.Step{}, fmt.Errorf("%s is not there for it", a.Kind)
	}
	set := func(to string) func(context.Context, progress.Sink, func(string)) error {
		return func(context.Context, progress.Sink, func(string)) error { m.settings[a.Variable] = to; return nil }
	}
	return change.Step{
		Subject: a.Variable, Apply: set(a.Value), Revert: set(a.Was),
		Compare: func(context.Context) (change.Standing, string, error) {
			switch now := m.settings[a.Variable]; now {
			case a.Value:
				return change.InEffect, "", nil
			case a.Was:
				return change.AsBefore, "", nil
			default:
				return change.Different, now, nil
			}
		},
		CheckRevert: func(context.Context, change.Reader, journal.Entry, *change.Preview) error { return nil },
	}, nil
}

// suggested puts findings with these actions into a diagnosis of a target, and returns their ids.
func suggested(t *testing.T, a *App, target string, actions ...finding.Action) (ids []string) {
	t.Helper()
	l, err := a.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := ledger.Diagnosis{ID: "d-1", At: time.Now(), Target: target}
	for i, x := range actions {
		ids = append(ids, fmt.Sprintf("f-%d", i))
		d.Findings = append(d.Findings, finding.Finding{ID: ids[i], Action: &x})
	}
	if err := l.Diagnoses.Put(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return ids
}

// goes takes a finding's change from its preview to its undo; each asks what the server shows.
func goes(t *testing.T, a *App, s family.Server, id string, shows func() string, after string) {
	t.Helper()
	x, before := Actions{a}, shows()
	in, err := x.PreviewChange(t.Context(), s, id, change.Options{})
	if err != nil || !in.Preview.OK() || shows() != before {
		t.Fatalf("%v, %v, the preview left %s", err, in.Preview.Blockers, shows())
	}
	e, err := x.Apply(t.Context(), s, in, nil, func(string) {})
	if err != nil || e.State != journal.Done || shows() != after {
		t.Fatalf("%v, %+v, is %s", err, e, shows())
	}
	p, err := x.PreviewUndo(t.Context(), s, e, change.Options{})
	if err != nil || !p.OK() || p.SQL != in.Preview.Action.Undo || shows() != after {
		t.Fatalf("%v, %+v, is %s", err, p, shows())
	}
	if e, err = x.Undo(t.Context(), s, e.ID, change.Options{Agreed: p.SQL}, nil, func(string) {}); err != nil ||
		e.State != journal.Undone || shows() != before {
		t.Fatalf("%v, %+v, is %s", err, e, shows())
	}
	if kept, err := x.Entry(t.Context(), e.ID); err != nil || kept.State != journal.Undone {
		t.Errorf("the journal has %+v, %v", kept, err)
	}
}

// TestAFamilyIsItsInterfaces: a server of a family that Dyno has never heard of is looked at, read, judged, changed and
// changed back.
func TestAFamilyIsItsInterfaces(t *testing.T) {
	a := alone(t)
	defer func(known []family.Family) { families = known }(families)
	families = append(slices.Clip(families), memories{})
	x, err := memories{}.Open(t.Context(), endpoint.Spec{Name: "mem", Scheme: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	m := x.(memory)
	c, err := (Inspection{a}).CheckOpen(t.Context(), m)
	if err != nil || len(c.Sources) != 1 || c.Sources[0].State != source.OK || c.Flavor != "memory" {
		t.Fatalf("%+v, %v", c, err)
	}
	d, err := (Diagnosing{a}).Diagnose(t.Context(), m, family.Look{Window: family.MinWindow})
	if err != nil || len(d.Findings) != 1 || d.Findings[0].Rule != "small-size" {
		t.Fatalf("%+v, %v", d, err)
	}
	if item, _ := Names(d.Snapshot.Classes[0]); item != "ask" {
		t.Errorf("the class is shown as %s", item)
	}
	goes(t, a, m, d.Findings[0].ID, func() string { return m.settings["size"] }, "2")
	if _, err := Loading(m); err == nil ||
		!strings.Contains(err.Error(), "run a load on mem: dyno cannot do that yet with Memory") {
		t.Errorf("%v", err)
	}
	ids := suggested(t, a, "mem", finding.Action{Kind: finding.AddIndex},
		finding.Action{Kind: finding.SetVariable, Variable: "none", Value: "2"})
	if _, err := (Actions{a}).PreviewChange(t.Context(), m, ids[0], change.Options{}); err == nil {
		t.Error("an index is planned where there are none")
	}
	in, err := (Actions{a}).PreviewChange(t.Context(), m, ids[1], change.Options{})
	if err != nil || in.Preview.OK() {
		t.Fatalf("%v, %+v", err, in.Preview)
	}
	var blocked *change.BlockedError
	if _, err := (Actions{a}).Apply(t.Context(), m, in, nil, nil); !errors.As(err, &blocked) {
		t.Errorf("%v", err)
	}
	if _, err := (Actions{a}).Kill(t.Context(), m, journal.Entry{ID: "a-1"}, change.Session{ID: 1}); err == nil ||
		!strings.Contains(err.Error(), "ends no session") {
		t.Errorf("%v", err)
	}
}

// TestPostgresIsChanged by its URL, from the finding to the undo; the undo reaches it by the URL of the journal.
func TestPostgresIsChanged(t *testing.T) {
	s := pgserver.Start(t, "17")
	s.Exec(t, "postgres", "CREATE TABLE boxes (id int PRIMARY KEY, shelf int)")
	a := alone(t)
	url := fmt.Sprintf("postgres://%s@127.0.0.1:%d/postgres?sslmode=disable", pgserver.Superuser, s.Port)
	x, err := a.Open(t.Context(), url, Login{})
	if err != nil {
		t.Fatal(err)
	}
	if x.Family().Name() != "PostgreSQL" {
		t.Fatalf("%T", x)
	}
	ids := suggested(t, a, x.Spec().Name, finding.Action{
		Kind: finding.AddIndex, Table: schema.Ref{Schema: "public", Table: "boxes"},
		Index: schema.Index{Name: "k", Parts: []schema.IndexPart{{Column: "shelf"}}},
	})
	goes(t, a, x, ids[0], func() string {
		return s.Value(t, "postgres", "SELECT count(*)::text FROM pg_indexes WHERE indexname = 'k'")
	}, "1")
	all, err := (Actions{a}).Journal(t.Context(), "")
	if err != nil || len(all) != 1 {
		t.Fatalf("%v %v", all, err)
	}
	y, err := (Actions{a}).OpenEntry(t.Context(), all[0], Login{})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	if p, err := (Actions{a}).PreviewUndo(t.Context(), y, all[0], change.Options{}); err != nil || p.OK() {
		t.Errorf("%+v, %v", p, err)
	}
}
