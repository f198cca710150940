// Package advise holds what all kinds of rules share: the Rule, the View of a snapshot that it
// gets, the effects that separate findings from their consequences, and Settle, which makes one
// list of all findings. The rules themselves are in its subpackages.
//
// A rule is a pure function in its own file, with its test next to it: at least one case that it
// must find, and its silent twin. A rule sees only what any account with the same grants could have
// captured, reads no clock, and depends on no particular table name.
package advise

import (
	"cmp"
	"slices"

	"github.com/dyno-perf/dyno/internal/finding"
)

// Kind is what advice is about; each has a package of rules below this one.
type Kind string

// The kinds of advice, in the order in which causes go before consequences: a lacking index explains busy disks, never
// the other way round.
const (
	Session Kind = "session" // sessions, locks and transactions: what clients do to each other
	Index   Kind = "index"
	Schema  Kind = "schema"
	Config  Kind = "config" // settings, load and replicas
	Host    Kind = "host"   // the machine, accounts and encryption
)

// Kinds returns all of them in that order.
func Kinds() []Kind { return []Kind{Session, Index, Schema, Config, Host} }

// Rule is one kind of finding.
type Rule struct {
	Name string // as in Finding.Rule
	Doc  string // what it looks for, one sentence
	Find func(*View) []finding.Finding
}

// Effects are what causes bring about. A finding lists in Explains those that its cause accounts for, and in Rests
// those that are all that speaks for it.
const (
	EffectCPU          = "cpu"             // the CPUs are busy
	EffectDiskReads    = "disk-reads"      // the server reads from its disk
	EffectDiskWrites   = "disk-writes"     // it writes pages, its logs aside
	EffectPoolMisses   = "pool-misses"     // pages are wanted that the buffer pool does not hold
	EffectCheckpoint   = "checkpoint"      // the redo log is full of changes to pages that are not written yet
	EffectFsyncs       = "fsyncs"          // commits wait for the disk
	EffectRowLocks     = "row-locks"       // sessions wait for locks on rows
	EffectMetadata     = "metadata-lock"   // sessions wait for locks on tables' definitions
	EffectHistory      = "history"         // old row versions pile up
	EffectRunning      = "running"         // many statements run at a time
	EffectTmpDisk      = "tmp-disk"        // temporary tables go to disk
	EffectMemory       = "memory"          // memory runs out
	EffectReplicaLag   = "replica-lag"     // a replica falls behind
	EffectReplicaStop  = "replica-stopped" // a thread of a replica does not run
	EffectMutex        = "mutex"           // threads of the server wait for each other inside of it
	EffectTableOpens   = "table-opens"     // tables are opened again and again
	EffectConnects     = "connects"        // connections come and go
	effectClassPrefix  = "class:"
	effectTablePrefix  = "table:"
	effectSourcePrefix = "source:"
)

// ClassTime is the effect that a class of statements takes its time.
func ClassTime(id string) string { return effectClassPrefix + id }

// TableSize is the effect that a table ("schema.name") is as large as it is.
func TableSize(name string) string { return effectTablePrefix + name }

// Settle makes one list of the findings of all rules, given by kind in the order of Kinds: consequences are folded into
// their causes, of two findings with the same id the first stays, and the worst comes first. Findings of severity Fact
// stay apart: they come last and are never folded.
//
// A finding is a consequence when it rests upon something and every bit of that is explained by one finding of an
// earlier kind, or of the same kind with a larger share.
func Settle(byKind map[Kind][]finding.Finding) []finding.Finding {
	type placed struct {
		finding.Finding
		kind int
	}
	var all []placed
	seen := map[string]bool{}
	for n, k := range Kinds() {
		for _, f := range byKind[k] {
			if !seen[f.ID] {
				seen[f.ID] = true
				all = append(all, placed{f, n})
			}
		}
	}
	covers := func(a, b placed) bool { // b is a consequence of a
		if a.ID == b.ID || len(b.Rests) == 0 || a.Severity == finding.Fact || b.Severity == finding.Fact {
			return false
		}
		if a.kind > b.kind || a.kind == b.kind && (a.Share < b.Share || a.Share == b.Share && a.ID > b.ID) {
			return false
		}
		for _, e := range b.Rests {
			if !slices.Contains(a.Explains, e) {
				return false
			}
		}
		return true
	}
	gone := make([]bool, len(all))
	for j := range all {
		for i := range all {
			if !gone[i] && covers(all[i], all[j]) {
				gone[j] = true
				all[i].Merged = append(slices.Clip(all[i].Merged), all[j].Title)
				break
			}
		}
	}
	var out []finding.Finding
	for i, f := range all {
		if !gone[i] {
			out = append(out, f.Finding)
		}
	}
	slices.SortStableFunc(out, func(a, b finding.Finding) int {
		return cmp.Or(cmp.Compare(b.Severity.Rank(), a.Severity.Rank()), cmp.Compare(b.Share, a.Share),
			cmp.Compare(a.ID, b.ID))
	})
	return out
}
