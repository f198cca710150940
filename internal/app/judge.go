package app

import (
	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/judge"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// judging is a family that says how its servers are judged.
type judging interface{ Judgement() judge.Family }

// judged returns what judgement needs to know of the servers of a flavor; the zero value for one that Dyno does not
// know.
func judged(f dbms.Flavor) judge.Family {
	if x, ok := FamilyOf(f.Lower()); ok {
		if x, ok := x.(judging); ok {
			return x.Judgement()
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
