package app

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/advise/index"
	"github.com/dyno-perf/dyno/internal/advise/session"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/judge"
	mysqladvise "github.com/dyno-perf/dyno/internal/mysql/advise"
	"github.com/dyno-perf/dyno/internal/mysql/advise/config"
	"github.com/dyno-perf/dyno/internal/mysql/advise/host"
	"github.com/dyno-perf/dyno/internal/mysql/advise/schema"
	mysqlsession "github.com/dyno-perf/dyno/internal/mysql/advise/session"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	mysqlsymptoms "github.com/dyno-perf/dyno/internal/mysql/symptoms"
	pgadvise "github.com/dyno-perf/dyno/internal/postgres/advise"
	pgsymptoms "github.com/dyno-perf/dyno/internal/postgres/symptoms"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// judged returns what judgement needs to know of the servers of a flavor; the zero value for one that Dyno does not
// know.
func judged(f dbms.Flavor) judge.Family {
	switch {
	case f.IsPostgres():
		// MySQL's parser reads PostgreSQL's classes as well, in the spelling of pgtext.Parsable.
		return judge.Family{
			Dialect: pgadvise.Dialect(sqlshape.Parser{}), Symptoms: pgsymptoms.List(sqlshape.Parse),
			Rules: map[advise.Kind][]advise.Rule{
				advise.Session: session.ClientRules(), advise.Index: index.ExpressionRules(),
			},
		}
	case slices.Contains(dbms.All(), f.Lower()):
		return judge.Family{
			Dialect: mysqladvise.Dialect(), Symptoms: mysqlsymptoms.List(),
			Rules: map[advise.Kind][]advise.Rule{
				advise.Session: mysqlsession.Rules(), advise.Schema: schema.Rules(), advise.Config: config.Rules(),
				advise.Host: host.Rules(),
			},
		}
	}
	return judge.Family{}
}

// Findings judges a snapshot by the rules of its server's family, see judge.Findings.
func Findings(s *snapshot.Snapshot) ([]finding.Symptom, []finding.Finding) {
	return judge.Findings(s, judged(s.Target.Flavor))
}

// Advise asks the rules of some kinds of advice about a snapshot, see judge.Advise.
func Advise(s *snapshot.Snapshot, kinds ...advise.Kind) ([]finding.Symptom, []finding.Finding) {
	return judge.Advise(s, judged(s.Target.Flavor), kinds...)
}

// Sentence is the verdict of a diagnosis in one line, or of the advice of some kinds: without any finding of theirs it
// says how many there are of the others.
func Sentence(s *snapshot.Snapshot, symptoms []finding.Symptom, findings []finding.Finding, advice ...string) string {
	if len(findings) == 0 && len(advice) > 0 && len(advice) < len(advise.Kinds()) {
		if _, others := Findings(s); len(others) > 0 {
			return report.NoAdvice(s, advice, len(others))
		}
	}
	return report.Sentence(s, symptoms, findings)
}

// document tells what a diagnosis found, see report.DiagnosisDocument; advice are the kinds that `dyno advise` was
// asked for.
func document(
	id string, s *snapshot.Snapshot, symptoms []finding.Symptom, findings []finding.Finding, version string,
	advice []string,
) report.Document {
	d := report.DiagnosisDocument(id, s, symptoms, findings, FiguresOf(s.Target.Flavor).Names(), version)
	d.Sentence = Sentence(s, symptoms, findings, advice...)
	return d
}
