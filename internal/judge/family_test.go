package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/judge"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/test/judged"
)

// TestNoFamily: of a server of a flavor that Dyno does not know its machine is judged, and nothing looks healthy.
func TestNoFamily(t *testing.T) {
	for name, s := range kept(t) {
		b, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		x, err := snapshot.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		x.Target.Flavor = "another"
		symptoms, all := judge.Advise(x, judge.Family{}, advise.Kinds()...)
		if i := slices.IndexFunc(symptoms, func(y finding.Symptom) bool { return y.Subject == "flavor" }); i < 0 ||
			symptoms[i].Kind != finding.NotObservable {
			t.Errorf("%s: the symptoms do not say what is not judged", name)
		}
		for _, f := range all {
			if !slices.ContainsFunc(judge.Rules()[advise.Host], func(r advise.Rule) bool { return r.Name == f.Rule }) {
				t.Errorf("%s: %s", name, f.ID)
			}
		}
	}
}

// TestSessionsOfThePast: what is said of a session of a window that is over does not lead to killing another one.
func TestSessionsOfThePast(t *testing.T) {
	named := 0
	for name, s := range kept(t) {
		x := *s
		for _, x.Past = range []*snapshot.Past{nil, {From: s.From, To: s.To}} {
			_, all := judged.Findings(&x)
			for _, f := range all {
				warned := slices.ContainsFunc(f.Against, func(s string) bool {
					return strings.HasPrefix(s, "The window is over")
				})
				if len(f.Subject.Sessions) > 0 {
					named++
				}
				if warned != (x.Past != nil && len(f.Subject.Sessions) > 0) {
					t.Errorf("%s: %s, past %v: %q", name, f.ID, x.Past != nil, f.Against)
				}
			}
		}
	}
	if named < 10 {
		t.Errorf("%d findings name sessions", named)
	}
}

// TestRulesOfAFamily: what only one family has is asked of its servers alone.
func TestRulesOfAFamily(t *testing.T) {
	of := func(f dbms.Flavor) judge.Family {
		return judged.Family(&snapshot.Snapshot{Target: snapshot.Target{Flavor: f}})
	}
	for _, f := range dbms.All() {
		for _, k := range []advise.Kind{advise.Session, advise.Schema, advise.Config, advise.Host} {
			if len(of(f).Rules[k]) == 0 {
				t.Errorf("%s: no rules of the kind %s", f, k)
			}
		}
	}
	var own []string
	for _, k := range advise.Kinds() {
		for _, r := range of(dbms.Postgres).Rules[k] {
			own = append(own, r.Name)
		}
	}
	if want := []string{"n-plus-one", "large-results", "expression-index"}; !slices.Equal(own, want) {
		t.Errorf("PostgreSQL: %v, want %v", own, want)
	}
}
