// Package judge turns a snapshot into symptoms and findings, by the rules of every kind of advice:
// those of all families of servers, and those that the family of the snapshot's server brings.
package judge

import (
	"fmt"
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/advise/config"
	"github.com/dyno-perf/dyno/internal/advise/host"
	"github.com/dyno-perf/dyno/internal/advise/index"
	"github.com/dyno-perf/dyno/internal/advise/session"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// Family is what judgement needs to know of a family of servers: how to word things, and the rules that only its
// servers have. The zero value is for servers of no family that Dyno knows.
type Family struct {
	Dialect  advise.Dialect
	Symptoms []diagnose.Look
	Rules    map[advise.Kind][]advise.Rule
}

// known reports whether its statements can be read, which the rules of all families lean on.
func (f Family) known() bool { return f.Dialect.Reader != nil }

// Rules returns the rules of all families, by kind of advice.
func Rules() map[advise.Kind][]advise.Rule {
	return map[advise.Kind][]advise.Rule{
		advise.Session: session.Rules(), advise.Index: index.Rules(), advise.Config: config.Rules(),
		advise.Host: host.Rules(),
	}
}

// rules returns what a server of the family is asked. Of all families' rules only those about its machine need no
// dialect.
func (f Family) rules(k advise.Kind) []advise.Rule {
	if !f.known() && k != advise.Host {
		return f.Rules[k]
	}
	return slices.Concat(Rules()[k], f.Rules[k])
}

// Findings turns a snapshot of a server of a family into symptoms and findings. It is pure: the same snapshot always
// gives the same answer. Facts that nothing suffers from, of severity Fact, are not among the findings; see Advise.
func Findings(s *snapshot.Snapshot, f Family) ([]finding.Symptom, []finding.Finding) {
	symptoms, all := Advise(s, f, advise.Kinds()...)
	return symptoms, slices.DeleteFunc(all, func(f finding.Finding) bool { return f.Severity == finding.Fact })
}

// Advise asks the rules of some kinds of advice, and tells also facts that nothing suffers from.
func Advise(s *snapshot.Snapshot, f Family, kinds ...advise.Kind) ([]finding.Symptom, []finding.Finding) {
	looks := f.Symptoms
	if !f.known() {
		looks = diagnose.Everywhere()
	}
	symptoms := diagnose.Symptoms(s, looks)
	if !f.known() {
		symptoms = append(symptoms, unjudged(s))
	}
	v := advise.NewView(s, symptoms, f.Dialect)
	found := map[advise.Kind][]finding.Finding{}
	for _, kind := range advise.Kinds() {
		if slices.Contains(kinds, kind) {
			for _, r := range f.rules(kind) {
				found[kind] = append(found[kind], r.Find(v)...)
			}
		}
	}
	all := advise.Settle(found)
	advise.Link(all, symptoms)
	advise.Exclude(all, s.Tables)
	if s.Past != nil {
		for i := range all {
			if f := &all[i]; len(f.Subject.Sessions) > 0 {
				f.Against = append(f.Against, sessionsOver)
			}
		}
	}
	return symptoms, all
}

// sessionsOver is said of sessions that a finding of a window that is over names.
const sessionsOver = "The window is over: the session may have ended since, and its id may be another session's now. " +
	"Kill none by this finding."

// unjudged says what is not judged of a server whose family is not known.
func unjudged(s *snapshot.Snapshot) finding.Symptom {
	const lost = "sessions, statements, indexes, tables and settings are not judged"
	return finding.Symptom{
		ID: finding.NotObservable.ID("flavor"), Kind: finding.NotObservable, Subject: "flavor",
		Title: "data unavailable: " + lost,
		Evidence: []finding.Evidence{{
			What: "flavor of the server", Text: fmt.Sprintf("The server is of the flavor %q, which this version of "+
				"Dyno does not know: only its machine is judged; %s.", s.Target.Flavor, lost),
		}},
	}
}
