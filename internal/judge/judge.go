// Package judge turns a snapshot into symptoms and findings, by the rules of every kind of advice.
package judge

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/advise/host"
	"github.com/dyno-perf/dyno/internal/advise/index"
	"github.com/dyno-perf/dyno/internal/advise/session"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/advise/config"
	"github.com/dyno-perf/dyno/internal/mysql/advise/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// Rules returns the rules of every kind of advice.
func Rules() map[advise.Kind][]advise.Rule {
	return map[advise.Kind][]advise.Rule{
		advise.Session: session.Rules(), advise.Index: index.Rules(), advise.Schema: schema.Rules(),
		advise.Config: config.Rules(), advise.Host: host.Rules(),
	}
}

// Findings turns a snapshot into symptoms and findings. It is pure: the same snapshot always gives the same answer.
// Facts that nothing suffers from, of severity Fact, are not among the findings; see Advise.
func Findings(s *snapshot.Snapshot) ([]finding.Symptom, []finding.Finding) {
	symptoms, all := Advise(s, advise.Kinds()...)
	return symptoms, slices.DeleteFunc(all, func(f finding.Finding) bool { return f.Severity == finding.Fact })
}

// Advise asks the rules of some kinds of advice, and tells also facts that nothing suffers from.
func Advise(s *snapshot.Snapshot, kinds ...advise.Kind) ([]finding.Symptom, []finding.Finding) {
	symptoms := diagnose.Symptoms(s, looks(s.Target.Flavor))
	v := advise.NewView(s, symptoms)
	found := map[advise.Kind][]finding.Finding{}
	for kind, rules := range Rules() {
		if slices.Contains(kinds, kind) {
			for _, r := range rules {
				if r.About(v, kind) {
					found[kind] = append(found[kind], r.Find(v)...)
				}
			}
		}
	}
	all := advise.Settle(found)
	advise.Link(all, symptoms)
	advise.Exclude(all, s.Tables)
	return symptoms, all
}
