package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// want is a source that judgement leans on, with what is lost without it.
type want struct {
	name source.Name
	lost string
}

// wanted are those of the MySQL family.
var wanted = []want{
	{source.GlobalStatus, "the server's own counters"},
	{source.Digests, "exact figures of every class of statements"},
	{source.Samples, "examples of running statements"},
	{source.Process, "the CPU time and the reads of the server's process"},
	{source.Host, "the CPU time and the disks of the machine"},
}

// wantedOfPostgres are those of PostgreSQL.
var wantedOfPostgres = []want{
	{source.Database, "the server's own counters"},
	{source.Digests, "exact figures of every class of statements"},
	{source.Processlist, "the sessions, their transactions and who waits for whom"},
	{source.Process, "the CPU time and the reads of the server's process"},
	{source.Host, "the CPU time and the disks of the machine"},
}

// blind says which of the wanted sources gave nothing, why, and what would mend it.
func blind(s *snapshot.Snapshot) (out []finding.Symptom) {
	all := wanted
	if s.Target.Flavor.IsPostgres() {
		all = wantedOfPostgres
	}
	for _, w := range all {
		src := s.Source(w.name)
		if src.State == source.OK {
			continue
		}
		text := fmt.Sprintf("Data unavailable: %s (%s: %s", w.lost, w.name, src.State)
		if src.Reason != "" {
			text += ", " + src.Reason
		}
		text += ")."
		if src.Fix != "" {
			text += " Fix: " + src.Fix
		}
		out = append(out, finding.Symptom{
			ID: finding.NotObservable.ID(string(w.name)), Kind: finding.NotObservable, Subject: string(w.name),
			Title:    "data unavailable: " + w.lost,
			Evidence: []finding.Evidence{{What: "source " + string(w.name), Source: w.name, Text: text}},
		})
	}
	return out
}

// needed are the sources without which most causes stay hidden.
var needed = []source.Name{
	source.Processlist, source.Transactions, source.Locks, source.InnodbMetrics, source.InnodbStatus, source.Digests,
	source.Samples, source.Waits,
	source.TableIO, source.Replication, source.Tables, source.Plans,
}

// Denial is what the account of a server may not see of what judgement needs.
type Denial struct {
	Sources []string `json:"sources"`           // the names of the data sources
	Reasons []string `json:"reasons,omitempty"` // each once
	Fixes   []string `json:"fixes,omitempty"`   // GRANT statements without an end, or a hint; each once
}

// DeniedOf returns what of the needed sources the account may not read; ok is false when it may read all.
func DeniedOf(sources []source.Source) (d Denial, ok bool) {
	// servers and Dyno quote names differently
	bare := func(text string) string { return strings.ReplaceAll(text, "`", "") }
	add := func(to *[]string, text string) {
		if text != "" && !slices.ContainsFunc(*to, func(x string) bool { return bare(x) == bare(text) }) {
			*to = append(*to, text)
		}
	}
	for _, x := range sources {
		if x.State == source.Denied && slices.Contains(needed, x.Name) {
			add(&d.Sources, string(x.Name))
			add(&d.Reasons, x.Reason)
			add(&d.Fixes, x.Fix)
		}
	}
	return d, len(d.Sources) > 0
}

// Denied says which sources that judgement needs the account may not read, and the GRANTs that change it; "" when it
// may read all.
func Denied(sources []source.Source) string {
	d, ok := DeniedOf(sources)
	if !ok {
		return ""
	}
	text := "The account may not see: " + strings.Join(d.Sources, ", ") + "."
	if len(d.Fixes) > 0 {
		text += " Fix: " + strings.Join(d.Fixes, "; ") + "."
	}
	return text
}
