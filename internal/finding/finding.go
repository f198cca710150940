// Package finding holds the words of judgement: Symptom, Evidence, Finding, Action.
//
// A Symptom is a measured fact out of order. A Finding joins symptoms to a cause and says what to do; without evidence
// there is no finding. An Action is a change as data: what it is, never how it is carried out.
package finding

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"dyno/internal/known"
	"dyno/internal/schema"
)

// Severity ranks findings.
type Severity string

const (
	Critical Severity = "critical" // the server spends most of its capacity on it, or data is at risk
	Warning  Severity = "warning"  // a clear loss or risk
	Notice   Severity = "notice"   // worth knowing
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

// Evidence is one measured fact with what it is held against.
type Evidence struct {
	What     string               `json:"what"`              // "rows examined per row sent"
	Value    known.Value[float64] `json:"value,omitzero"`    // unknown for evidence that is only text
	Unit     string               `json:"unit,omitzero"`     // "rows", "1/s", "%", "s"
	Expected string               `json:"expected,omitzero"` // "≤ 10"
	Source   string               `json:"source"`            // name of the snapshot's source it was read from
	Sampled  bool                 `json:"sampled,omitzero"`  // estimated by looking, not by counting
	Text     string               `json:"text"`              // the fact as one sentence
}

// Symptom is a measured fact out of order, before anybody knows why.
type Symptom struct {
	ID       string     `json:"id"`      // kind and subject: "scan:<class id>"
	Kind     string     `json:"kind"`    // "scan", "cpu-saturated", …
	Subject  string     `json:"subject"` // class id, table, resource
	Title    string     `json:"title"`
	Evidence []Evidence `json:"evidence"`
}

// Confidence says how sure a finding is: what would have to be wrong for it to be wrong.
type Confidence string

const (
	Certain  Confidence = "certain"  // exact counts and the server's own plan agree
	Likely   Confidence = "likely"   // one of them is estimated or missing
	Possible Confidence = "possible" // only indirect evidence
)

// Finding is a cause with its evidence and what to do about it.
type Finding struct {
	ID         string     `json:"id"`   // stable for the same rule and subject on any target: see MakeID
	Rule       string     `json:"rule"` // "missing-index"
	Severity   Severity   `json:"severity"`
	Confidence Confidence `json:"confidence"`
	Title      string     `json:"title"` // the verdict in one line, with its most telling figure
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
	Share      float64    `json:"share"`            // of the server's statement time in the window that the cause holds, 0 to 1; ranks findings
	Symptoms   []string   `json:"symptoms,omitempty"`
	Why        []Reason   `json:"why,omitempty"` // the reasoning, step by step, for --why
}

// Subject is what a finding is about.
type Subject struct {
	Classes []string     `json:"classes,omitempty"` // ids of query classes
	Tables  []schema.Ref `json:"tables,omitempty"`
	Columns []string     `json:"columns,omitempty"`
}

// Gain is the expected effect of the change as a range, never one figure.
type Gain struct {
	What string  `json:"what"` // "time per call of the class"
	Lo   float64 `json:"lo"`   // factor: 2 means half the time
	Hi   float64 `json:"hi"`
	Text string  `json:"text"`
}

// Reason is one step of reasoning: a question, its answer, and where the answer came from.
type Reason struct {
	Ask    string `json:"ask"`
	Answer string `json:"answer"`
	Source string `json:"source,omitzero"`
}

// ActionKind names a kind of change.
type ActionKind string

// AddIndex adds one secondary index.
const AddIndex ActionKind = "add_index"

// Action is a declarative change.
type Action struct {
	Kind  ActionKind   `json:"kind"`
	Table schema.Ref   `json:"table,omitzero"`
	Index schema.Index `json:"index,omitzero"`
	SQL   string       `json:"sql"`  // what would be executed, complete, without a trailing semicolon
	Undo  string       `json:"undo"` // what takes it back
}

// MakeID returns rule, a dash and eight hexadecimal digits of a hash over rule and subject, so that the same cause has the
// same id in every diagnosis.
func MakeID(rule string, subject ...string) string {
	h := sha256.Sum256([]byte(rule + "\x00" + strings.Join(subject, "\x00")))
	return rule + "-" + hex.EncodeToString(h[:4])
}
