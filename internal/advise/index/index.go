package index

import (
	"cmp"
	"slices"
	"strings"

	"dyno/internal/class"
	"dyno/internal/explain"
	"dyno/internal/finding"
	"dyno/internal/schema"
	"dyno/internal/snapshot"
	"dyno/internal/sqlshape"
)

// Rule is one kind of advice.
type Rule struct {
	Name string // as in Finding.Rule
	Doc  string // what it looks for, one sentence
	Find func(*View) []finding.Finding
}

// Rules returns every rule, in the order in which they are asked.
func Rules() []Rule {
	return []Rule{
		{Name: "missing-index", Doc: "A class of statements reads whole tables to find few rows, and no index serves its conditions.", Find: missing},
	}
}

// Advise asks every rule. Findings come with the largest share of the statement time first.
func Advise(s *snapshot.Snapshot, symptoms []finding.Symptom) []finding.Finding {
	v := newView(s, symptoms)
	var out []finding.Finding
	for _, r := range Rules() {
		out = append(out, r.Find(v)...)
	}
	slices.SortStableFunc(out, func(a, b finding.Finding) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// View is a snapshot prepared for rules: what they look up often is looked up once.
type View struct {
	*snapshot.Snapshot
	Symptoms []finding.Symptom
	Total    float64 // statement time of all classes, seconds
	Window   float64 // seconds

	plans  map[string]explain.Plan
	shapes map[string]parsed
}

type parsed struct {
	shape sqlshape.Shape
	err   error
}

func newView(s *snapshot.Snapshot, symptoms []finding.Symptom) *View {
	v := &View{Snapshot: s, Symptoms: symptoms, Total: s.TotalTime(), Window: s.Seconds(), plans: map[string]explain.Plan{}, shapes: map[string]parsed{}}
	for _, p := range s.Plans {
		if _, dup := v.plans[p.Class]; !dup && p.Error == "" && len(p.Steps) > 0 {
			v.plans[p.Class] = p
		}
	}
	return v
}

// Shape parses a class once: its example, which still has every name, or else its fingerprint.
func (v *View) Shape(c class.Class) (sqlshape.Shape, error) {
	p, ok := v.shapes[c.ID]
	if !ok {
		p.err = sqlshape.ErrNotUnderstood
		if c.Example != "" {
			p.shape, p.err = sqlshape.Parse(c.Example)
		}
		if p.err != nil {
			p.shape, p.err = sqlshape.Parse(c.Fingerprint)
		}
		v.shapes[c.ID] = p
	}
	return p.shape, p.err
}

// Has returns the symptom of a kind, about a subject when one is given.
func (v *View) Has(kind, subject string) (finding.Symptom, bool) {
	for _, x := range v.Symptoms {
		if x.Kind == kind && (subject == "" || x.Subject == subject) {
			return x, true
		}
	}
	return finding.Symptom{}, false
}

// Resolve finds the table that a reference of a statement means; no answer when there is none in the snapshot or more than
// one that it could be.
func (v *View) Resolve(c class.Class, r sqlshape.TableRef) (schema.Table, bool) {
	if r.Name == "" {
		return schema.Table{}, false
	}
	var found []schema.Table
	for _, t := range v.Tables {
		switch want := cmp.Or(r.Schema, c.Schema); {
		case want != "" && !sqlshape.Match(want, t.Schema):
		case !sqlshape.Match(r.Name, t.Table):
		default:
			found = append(found, t)
		}
	}
	if len(found) != 1 {
		return schema.Table{}, false
	}
	return found[0], true
}

// column finds the one column of t that a name from a statement means.
func column(t schema.Table, name string) (schema.Column, bool) {
	if !strings.Contains(name, "?") {
		return t.Column(name)
	}
	var found []schema.Column
	for _, c := range t.Columns {
		if sqlshape.Match(name, c.Name) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return schema.Column{}, false
	}
	return found[0], true
}
