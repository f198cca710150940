// Package finding holds the values of a diagnosis: Symptom, Evidence, Finding and Action.
//
// A Symptom is an abnormal measurement. A Finding connects symptoms with a cause and says what to
// do; without evidence there is no finding. An Action is a change as data: it describes the change,
// not how to execute it.
package finding

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
)

// Severity ranks findings.
type Severity string

const (
	Critical Severity = "critical" // the server spends most of its capacity on it, or data is at risk
	Warning  Severity = "warning"  // a clear loss or risk
	Notice   Severity = "notice"   // worth knowing: a small loss, or a risk that has not shown yet
	// Fact is what a reader of advice may want, no finding: nothing was measured that suffers from it. `dyno
	// advise` shows it, `dyno diagnose` does not.
	Fact Severity = "fact"
)

// Rank returns 3 for critical, 2 for warning, 1 for notice, 0 for anything else.
func (s Severity) Rank() int {
	switch s {
	case Critical:
		return 3
	case Warning:
		return 2
	case Notice:
		return 1
	default:
		return 0
	}
}

// Evidence is one measured fact with what it is compared with.
type Evidence struct {
	What     string               `json:"what"`              // "rows examined per row sent"
	Value    known.Value[float64] `json:"value,omitzero"`    // unknown for evidence that is only text
	Unit     string               `json:"unit,omitzero"`     // "rows", "1/s", "%", "s"
	Expected string               `json:"expected,omitzero"` // "≤ 10"
	Source   source.Name          `json:"source"`            // name of the snapshot's source it was read from
	Sampled  bool                 `json:"sampled,omitzero"`  // estimated from samples, not counted
	Text     string               `json:"text"`              // the fact as one sentence
}

// Symptom is an abnormal measured fact, before its cause is known.
type Symptom struct {
	ID       string      `json:"id"`      // kind and subject: "scan:<class id>"
	Kind     SymptomKind `json:"kind"`    // "scan", "cpu-saturated", …
	Subject  string      `json:"subject"` // class id, table, resource
	Title    string      `json:"title"`
	Evidence []Evidence  `json:"evidence"`
}

// Confidence says how sure a finding is: what would have to be wrong for it to be wrong.
type Confidence string

const (
	Certain  Confidence = "certain"  // exact counts and the server's own plan agree
	Likely   Confidence = "likely"   // the counts or the plan are estimated or missing
	Possible Confidence = "possible" // only indirect evidence
)

// Finding is a cause with its evidence and what to do about it.
type Finding struct {
	ID         string     `json:"id"`   // stable for the same rule and subject on any target: see MakeID
	Rule       string     `json:"rule"` // "missing-index"
	Severity   Severity   `json:"severity"`
	Confidence Confidence `json:"confidence"`
	Title      string     `json:"title"` // the cause in one line, with its most telling figure
	Cause      string     `json:"cause"` // a sentence or two: why the evidence means that
	Subject    Subject    `json:"subject,omitzero"`
	Evidence   []Evidence `json:"evidence"`
	Against    []string   `json:"against,omitempty"`        // what speaks against it
	Unobserved []string   `json:"not_observable,omitempty"` // what would be needed to be surer
	Falsify    string     `json:"falsify,omitzero"`         // what would show that it is wrong
	Suggestion string     `json:"suggestion"`               // what to do, in words
	Cost       string     `json:"cost,omitzero"`            // what the change costs: writes, bytes, time
	Gain       *Gain      `json:"gain,omitempty"`
	Action     *Action    `json:"action,omitempty"` // the change, where there is one to apply
	// the change was tested on a private server before it was reported
	Tested *Tested `json:"tested,omitempty"`
	// of the server's statement time in the window that the change can give back, 0 to 1; ranks findings
	Share float64 `json:"share"`
	// lines for a file: my.cnf, or sysctl.conf in findings about the machine
	Setting []string `json:"config,omitempty"`
	// which file Setting is for: "my.cnf" ([mysqld]), "/etc/sysctl.d/", …
	File    string `json:"file,omitzero"`
	Restart bool   `json:"restart,omitzero"` // the change takes a restart of the server
	// flavors and versions that the advice applies to, when not to all
	Valid     string `json:"valid,omitzero"`
	Reference string `json:"reference,omitzero"` // the manual's section or the paper that says so
	// Explains are the effects that this cause accounts for, Rests those without which there would be no finding: see
	// package advise. A finding all of whose Rests are explained by another one is that one's consequence and told
	// there, in Merged.
	Explains []string `json:"explains,omitempty"`
	Rests    []string `json:"rests,omitempty"`
	Merged   []string `json:"merged,omitempty"` // titles of findings that are consequences of this one
	Symptoms []string `json:"symptoms,omitempty"`
	// Excludes are the ids of findings whose change must not be made together with this one's: each rests on what the
	// other takes away.
	Excludes []string `json:"excludes,omitempty"`
	Why      []Reason `json:"why,omitempty"` // the reasoning, step by step, for --why
}

// Subject is what a finding is about.
type Subject struct {
	Classes []string     `json:"classes,omitempty"` // ids of query classes
	Tables  []schema.Ref `json:"tables,omitempty"`
	Columns []string     `json:"columns,omitempty"`

	Variables []string `json:"variables,omitempty"` // settings of the server or the kernel
	Sessions  []uint64 `json:"sessions,omitempty"`  // as KILL takes them
}

// Gain is the expected effect of the change as a range, never one figure.
type Gain struct {
	What string  `json:"what"` // "time per call of the class"
	Lo   float64 `json:"lo"`   // factor: 2 means half the time
	Hi   float64 `json:"hi"`
	Text string  `json:"text"`
}

// Tested is what a trial of the change on a private server showed, the captured statements running there against
// sampled rows.
type Tested struct {
	// "better", "worse", "same", "unstable", "invalid"; "" when it could not be tested, see Text
	Result string  `json:"result"`
	What   string  `json:"what,omitzero"` // what was compared: "statements per second"
	Lo     float64 `json:"lo,omitzero"`   // the ratio with the change against without, and its 95 % interval
	Center float64 `json:"center,omitzero"`
	Hi     float64 `json:"hi,omitzero"`
	N      int     `json:"n,omitzero"`  // pairs of trials
	On     string  `json:"on,omitzero"` // the private server
	Text   string  `json:"text"`        // the outcome in a sentence, with what it does not show
}

// Reason is one step of reasoning: a question, its answer, and where the answer came from.
type Reason struct {
	Ask    string      `json:"ask"`
	Answer string      `json:"answer"`
	Source source.Name `json:"source,omitzero"`
}

// ActionKind names a kind of change.
type ActionKind string

// The kinds of change.
const (
	AddIndex    ActionKind = "add_index"    // adds one secondary index: Table, Index
	DropIndex   ActionKind = "drop_index"   // drops one: Table, Index with its whole definition
	HideIndex   ActionKind = "hide_index"   // makes one invisible (MySQL 8.0) or ignored (MariaDB 10.6): Table, Index
	AlterTable  ActionKind = "alter_table"  // changes a table: Table, Changes
	SetVariable ActionKind = "set_variable" // SET GLOBAL while the server runs: Variable, Value
	// SetKernel sets one of the kernel's settings on the machine that the server runs on: Variable names it as
	// snapshot.Host.Settings does.
	SetKernel ActionKind = "set_kernel"
	// KillSession ends a session: Value is its number, Was whose it is. No finding suggests it and nothing undoes it.
	KillSession ActionKind = "kill_session"
)

// Action is a declarative change. Who carries it out makes the statements of the fields himself and works out the undo
// from the server as it is then; SQL and Undo are for people.
type Action struct {
	Kind     ActionKind      `json:"kind"`
	Table    schema.Ref      `json:"table,omitzero"`
	Index    schema.Index    `json:"index,omitzero"`
	Changes  []schema.Clause `json:"changes,omitempty"`
	Variable string          `json:"variable,omitzero"` // "innodb_io_capacity"
	Value    string          `json:"value,omitzero"`    // as SHOW VARIABLES would print it
	// Instead and Unread are what advice to take Index away rests on, and is refused without: the index that serves
	// instead of it; that nothing has read it.
	Instead string `json:"instead,omitzero"`
	Unread  bool   `json:"unread,omitzero"`
	// Was, Now and Reverse are filled in when the action is carried out: the variable's value or the table's definition
	// before and after, and the changes that take the table back.
	Was     string          `json:"was,omitzero"`
	Now     string          `json:"now,omitzero"`
	Reverse []schema.Clause `json:"reverse,omitempty"`
	// SQL has no trailing semicolon. A finding's lacks the clauses, such as ALGORITHM and LOCK, that are chosen when
	// the change is planned, from what the server can do; a journal entry's is complete.
	SQL  string `json:"sql"`
	Undo string `json:"undo"` // the undo statement; empty when none is needed
}

// MakeID returns rule, a dash and eight hexadecimal digits of a hash over rule and subject, so that the same cause has
// the same id in every diagnosis.
func MakeID(rule string, subject ...string) string {
	h := sha256.Sum256([]byte(rule + "\x00" + strings.Join(subject, "\x00")))
	return rule + "-" + hex.EncodeToString(h[:4])
}
