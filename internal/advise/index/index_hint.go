package index

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
)

// indexHints finds classes that read much of a table because a hint names the only indexes that the server may use. An
// index that is added does not help them while the hint is there.
func indexHints(v *advise.View, all []group) []finding.Finding { return only(v, all, indexHint) }

// withoutHint says what to do about a hint. The statement has to change first, so that there is no action.
func withoutHint(v *advise.View, x scan, w wish, f *finding.Finding) {
	f.Cause = fmt.Sprintf("The statement says %s: the server may use no other index of %s. ", x.hint,
		x.t.Ref)
	if x.barred != "" {
		f.Cause += fmt.Sprintf("The index %s serves its conditions, and the hint keeps the server from it.", x.barred)
		f.Suggestion = fmt.Sprintf("Leave the hint out of the statement, or name %s in it.", x.barred)
		f.Cost = "A change of the statement. Nothing is built."
	} else {
		f.Cause += "No index that it names is usable for the conditions."
		f.Suggestion = fmt.Sprintf("Leave the hint out of the statement and measure again. If it still reads as much, "+
			"add an index on %s (%s): while the hint is there the server does not use it.", x.t.Ref,
			v.Dialect.Parts(w.Parts))
		f.Cost = "A change of the statement. " + f.Cost
	}
	f.Suggestion += " A hint is right for the data and the version that it was written for; update the statistics " +
		"(ANALYZE TABLE) before it is needed again."
	f.Against = append(f.Against, "Whoever wrote the hint may have had a reason that the window does not show: other "+
		"values of the parameters, or another time of the day.")
	f.Falsify = "Disproved if EXPLAIN of the statement without the hint reads as many rows."
}
