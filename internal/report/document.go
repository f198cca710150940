package report

import (
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// Format is the version of the JSON form that this program writes. It reads this one and refuses others.
const Format = 1

// Kind says what a document reports on.
type Kind string

const (
	Demo      Kind = "demo"       // a planted fault, found, cured and proven
	Diagnosis Kind = "diagnosis"  // findings on a target
	Proof     Kind = "proof"      // an action, before and after
	Run       Kind = "run"        // one execution of a workload
	Compare   Kind = "comparison" // an experiment: variants against their baselines
)

// Document is everything one report shows. Only Kind, Title and At are always there; a section without content is left
// out.
type Document struct {
	Format   int    `json:"dyno_report"` // set by JSON
	Kind     Kind   `json:"kind"`
	ID       string `json:"id,omitzero"` // what `dyno report ID` takes
	Title    string `json:"title"`
	Sentence string `json:"sentence,omitzero"` // the outcome in one sentence
	// Verdict is the comparison that the report is about, nil when nothing was compared. A Ratio with N = 0 stands for
	// "no interval could be given".
	Verdict *stat.Verdict `json:"verdict,omitempty"`

	At    time.Time `json:"at"`            // when the document was made
	From  time.Time `json:"from,omitzero"` // the time that it reports on; zero of the time axes and of the story
	To    time.Time `json:"to,omitzero"`
	Place Place     `json:"place"`

	Measures []Measure `json:"measures,omitempty"` // before and after, most telling first
	Charts   []Chart   `json:"charts,omitempty"`
	// marks for all charts; those of kind variant and gap shade a span
	Events     []event.Event     `json:"events,omitempty"`
	Findings   []finding.Finding `json:"findings,omitempty"`
	Statements []Statement       `json:"statements,omitempty"` // of the classes that the findings are about
	Reasoning  []Node            `json:"reasoning,omitempty"`  // from what was seen to what was found
	Change     *AppliedChange    `json:"change,omitempty"`
	Experiment *Experiment       `json:"experiment,omitempty"`
	Live       *proof.Live       `json:"live,omitempty"` // of a proof: windows of live traffic around the change
	Classes    []ClassChange     `json:"classes,omitempty"`
	Run        *loadresult.Run   `json:"run,omitempty"`
	Comparison *trial.Result     `json:"comparison,omitempty"`
	Story      []Step            `json:"story,omitempty"`
	Sources    []source.Source   `json:"sources,omitempty"` // all may be given, only those not OK are shown
	Warnings   []string          `json:"warnings,omitempty"`
	Commands   []Command         `json:"commands,omitempty"` // how to repeat it, exactly
}

// Statement is a class of statements, without its literals.
type Statement struct {
	Class       string `json:"class"`
	Schema      string `json:"schema,omitzero"`
	Fingerprint string `json:"fingerprint"`
}

// Node is one thought of a reasoning with those that follow from it.
type Node struct {
	Text string `json:"text"`
	Then []Node `json:"then,omitempty"`
}

// Place says where it happened.
type Place struct {
	Target   string      `json:"target,omitzero"` // name as the user knows it
	URL      string      `json:"url,omitzero"`    // without a password
	Flavor   dbms.Flavor `json:"flavor,omitzero"`
	Version  string      `json:"version,omitzero"`
	Host     []Fact      `json:"host,omitempty"`     // machine: CPUs, memory, kernel, governor
	Settings []Fact      `json:"settings,omitempty"` // of the server and of the load, those that matter
	Dyno     string      `json:"dyno,omitzero"`      // version of the program
}

// Fact is a name with its value, both for people.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Direction says which way a figure should go.
type Direction string

const (
	Neither Direction = ""     // neither is good or bad by itself
	More    Direction = "more" // more is better
	Less    Direction = "less"
)

// Metric names a figure that experiments compare.
type Metric struct {
	Name   string    `json:"name"`  // "qps"
	Title  string    `json:"title"` // "queries per second"
	Unit   string    `json:"unit"`  // see Measure
	Better Direction `json:"better,omitzero"`
}

// Measure is one figure before and after.
//
// Unit is one of "1/s", "rows/s", "ms", "s", "B", "B/s", "%", "cores", "rows" or any other word; it decides how values
// are written.
type Measure struct {
	Metric
	Before known.Value[float64] `json:"before,omitzero"`
	After  known.Value[float64] `json:"after,omitzero"`
	// Ratio is after ÷ before; with N = 0 the plain quotient is shown, without an interval.
	Ratio stat.Interval `json:"ratio,omitzero"`
}

// Chart is one picture over time.
type Chart struct {
	Title string `json:"title"`
	Unit  string `json:"unit"` // of all lines, as Measure's
	Lines []Line `json:"lines"`
	// Limit is a horizontal line that the values cannot or should not pass, with LimitText beside it: CPUs of the
	// machine.
	Limit     known.Value[float64] `json:"limit,omitzero"`
	LimitText string               `json:"limit_text,omitzero"`
	Note      string               `json:"note,omitzero"`
}

// Line is one line of a chart. Where a reading is missing its points are too: a pause of more than 2½ usual steps is
// drawn as a gap.
type Line struct {
	Name   string         `json:"name"`
	Points []metric.Point `json:"points"` // in order of time
}

// ActionID returns the id of the journal's action that the document is about, "" for none.
func (d *Document) ActionID() string {
	if d.Change == nil {
		return ""
	}
	return d.Change.Journal
}

// AppliedChange is what was done to the server.
type AppliedChange struct {
	Text        string `json:"text"` // "index idx_customer added to shop.orders"
	SQL         string `json:"sql"`
	Undo        string `json:"undo,omitzero"`         // SQL that undoes it
	UndoCommand string `json:"undo_command,omitzero"` // "dyno undo a-3f9k2 --execute"
	Journal     string `json:"journal,omitzero"`      // id of the journal's entry
	// user of the web UI who requested it; empty for the command line
	By      string               `json:"by,omitzero"`
	State   journal.State        `json:"state,omitzero"`
	TookSec known.Value[float64] `json:"took_sec,omitzero"`
	Notes   []journal.Note       `json:"notes,omitempty"`
}

// ClassChange is one query class before and after. Either side is nil when the class was not seen there.
type ClassChange struct {
	ID          string        `json:"id"`
	Fingerprint string        `json:"fingerprint"`
	Schema      string        `json:"schema,omitzero"`
	Origin      class.Origin  `json:"origin,omitzero"`
	Sampled     bool          `json:"sampled,omitzero"`
	Before      *ClassFigures `json:"before,omitempty"`
	After       *ClassFigures `json:"after,omitempty"`
	Verdict     string        `json:"verdict,omitzero"` // of a proof: "faster", "slower" or "unproven"
}

// ClassFigures is what a class did in one window, per second and per call.
type ClassFigures struct {
	PerSec   known.Value[float64] `json:"per_sec,omitzero"` // executions per second
	MeanSec  known.Value[float64] `json:"mean_sec,omitzero"`
	P95Sec   known.Value[float64] `json:"p95_sec,omitzero"`
	Examined known.Value[float64] `json:"examined_per_call,omitzero"` // rows
	Sent     known.Value[float64] `json:"sent_per_call,omitzero"`     // rows
	Share    known.Value[float64] `json:"share,omitzero"`             // of the statement time of all classes, 0 to 1
}

// Experiment is how the verdict was reached.
type Experiment struct {
	Baseline  string   `json:"baseline"`       // name of the variant before: "index hidden"
	Variant   string   `json:"variant"`        // and after: "index visible"
	Text      string   `json:"text,omitzero"`  // how it was done, in a sentence
	SettleSec float64  `json:"settle_sec"`     // left out after each switch
	WindowSec float64  `json:"window_sec"`     // length of a window
	Seed      uint64   `json:"seed"`           // of the order within the pairs
	Metrics   []Metric `json:"metrics"`        // what the windows' values are, in the order of columns
	Windows   []Window `json:"windows"`        // in the order they were measured
	Main      string   `json:"main,omitempty"` // name of the metric that the verdict is about; the first one when empty
}

// Window is one measurement of one variant.
type Window struct {
	Pair    int                `json:"pair"`    // from 1; a pair has one window of each variant
	Variant string             `json:"variant"` // Baseline or Variant of the experiment
	From    time.Time          `json:"from"`
	To      time.Time          `json:"to"`
	Values  map[string]float64 `json:"values"`           // by name of metric; what is not there was not measured
	Invalid string             `json:"invalid,omitzero"` // why it does not count
}

// StepState says how a step of the story ended.
type StepState string

const (
	StepDone    StepState = "done"
	StepFailed  StepState = "failed"
	StepSkipped StepState = "skipped"
	StepNote    StepState = "" // nothing to end
)

// Step is one thing that happened, in the words of the one who did it.
type Step struct {
	At    time.Time `json:"at"`
	Text  string    `json:"text"` // "index added in 1.2 s"
	State StepState `json:"state,omitzero"`
}

// Command is a command line to type again.
type Command struct {
	Text string `json:"text"` // what it does
	Line string `json:"line"`
}
