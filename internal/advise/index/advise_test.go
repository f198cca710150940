package index

import (
	"dyno/internal/advise"
	"dyno/internal/finding"
	"dyno/internal/snapshot"
)

// Advise asks the rules of this package only.
func Advise(s *snapshot.Snapshot, symptoms []finding.Symptom) []finding.Finding {
	v := advise.NewView(s, symptoms)
	var out []finding.Finding
	for _, r := range Rules() {
		out = append(out, r.Find(v)...)
	}
	return advise.Settle(map[advise.Kind][]finding.Finding{advise.Index: out})
}
