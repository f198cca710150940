package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// Want is a source that judgement leans on, with what is lost without it.
type Want struct {
	Source source.Name
	Lost   string // "the server's own counters"
}

// Blind says which of the wanted sources gave nothing, why, and what would mend it.
func Blind(wanted ...Want) Look {
	return func(s *snapshot.Snapshot) []finding.Symptom { return blind(s, wanted) }
}

func blind(s *snapshot.Snapshot, wanted []Want) (out []finding.Symptom) {
	for _, w := range wanted {
		src := s.Source(w.Source)
		if src.State == source.OK {
			continue
		}
		text := fmt.Sprintf("Data unavailable: %s (%s: %s", w.Lost, w.Source, src.State)
		if src.Reason != "" {
			text += ", " + src.Reason
		}
		text += ")."
		if src.Fix != "" {
			text += " Fix: " + src.Fix
		}
		out = append(out, finding.Symptom{
			ID: finding.NotObservable.ID(string(w.Source)), Kind: finding.NotObservable, Subject: string(w.Source),
			Title:    "data unavailable: " + w.Lost,
			Evidence: []finding.Evidence{{What: "source " + string(w.Source), Source: w.Source, Text: text}},
		})
	}
	return out
}

// spared are the sources without which causes are found all the same. Without any other, of whatever family, most stay
// hidden.
var spared = []source.Name{
	source.Binlog, source.Cgroup, source.Compression, source.FileIO, source.Files, source.GlobalStatus,
	source.GroupReplication, source.Host, source.HostCPUs, source.HostDetail, source.Latency, source.Memory,
	source.MemoryUsers, source.Process, source.ProcessDetail, source.ProcessMemory, source.ProcessThreads, source.Sizes,
	source.Stages, source.Userstat, source.Variables, source.Checkpoints, source.Database, source.IO, source.LockCounts,
	source.StatementTotals, source.WAL, source.SlowLog, source.GeneralLog, source.Accounts, source.Classes,
	source.HostFacts, source.Programs, source.RowSamples, source.Series, source.Statements,
}

// Denial is what the account of a server may not see of what judgement needs.
type Denial struct {
	Sources []string `json:"sources"`           // the names of the data sources
	Reasons []string `json:"reasons,omitempty"` // each once
	Fixes   []string `json:"fixes,omitempty"`   // GRANT statements without an end, or a hint; each once
}

// DeniedOf returns what of the sources that judgement needs the account may not read; ok is false when it may read all.
func DeniedOf(sources []source.Source) (d Denial, ok bool) {
	// servers and Dyno quote names differently
	bare := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Quotation_Mark, unicode.Sk) {
				return -1
			}
			return r
		}, text)
	}
	add := func(to *[]string, text string) {
		if text != "" && !slices.ContainsFunc(*to, func(x string) bool { return bare(x) == bare(text) }) {
			*to = append(*to, text)
		}
	}
	for _, x := range sources {
		if x.State == source.Denied && !slices.Contains(spared, x.Name) {
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
