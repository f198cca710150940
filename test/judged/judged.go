// Package judged judges snapshots in tests of packages that do not see all families of servers.
package judged

import (
	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/advise/index"
	"github.com/dyno-perf/dyno/internal/advise/session"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/judge"
	"github.com/dyno-perf/dyno/internal/mysql/advise/config"
	"github.com/dyno-perf/dyno/internal/mysql/advise/host"
	"github.com/dyno-perf/dyno/internal/mysql/advise/schema"
	mysqlsession "github.com/dyno-perf/dyno/internal/mysql/advise/session"
	mysqlsymptoms "github.com/dyno-perf/dyno/internal/mysql/symptoms"
	pgsymptoms "github.com/dyno-perf/dyno/internal/postgres/symptoms"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/test/snap"
)

// Family returns what judgement knows of the family of a snapshot's server.
func Family(s *snapshot.Snapshot) judge.Family {
	f := judge.Family{
		Dialect: snap.Dialect(s), Symptoms: pgsymptoms.List(snap.Dialect(s).Parse),
		Rules: map[advise.Kind][]advise.Rule{
			advise.Session: session.ClientRules(), advise.Index: index.ExpressionRules(),
		},
	}
	if !s.Target.Flavor.IsPostgres() {
		f.Symptoms = mysqlsymptoms.List()
		f.Rules = map[advise.Kind][]advise.Rule{
			advise.Session: mysqlsession.Rules(), advise.Schema: schema.Rules(), advise.Config: config.Rules(),
			advise.Host: host.Rules(),
		}
	}
	return f
}

// Findings is judge.Findings.
func Findings(s *snapshot.Snapshot) ([]finding.Symptom, []finding.Finding) {
	return judge.Findings(s, Family(s))
}

// Advise is judge.Advise.
func Advise(s *snapshot.Snapshot, kinds ...advise.Kind) ([]finding.Symptom, []finding.Finding) {
	return judge.Advise(s, Family(s), kinds...)
}
