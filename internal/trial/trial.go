// Package trial holds the results of an experiment: a Trial is one run of one variant, an
// Environment describes what it ran on, and a Result is the comparison of all trials.
package trial

import (
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
)

// Format is the version of a Result's JSON form that this program writes.
const Format = 1

// Trial is one run of one variant.
type Trial struct {
	Seq     int       `json:"seq"`   // from 1, in the order in which they began
	Round   int       `json:"round"` // from 1; a round has one trial of each variant still open, in random order
	Variant string    `json:"variant"`
	Control bool      `json:"control,omitzero"` // the second trial of the baseline in this round: A/A
	From    time.Time `json:"from"`             // of what was measured, after the warm-up
	To      time.Time `json:"to"`
	// Setup and Warm are the seconds before From: provisioning, and load that does not count.
	Setup float64 `json:"setup_sec"`
	Warm  float64 `json:"warm_sec,omitzero"`
	// Values by name, see Metrics. What was not measured is not there.
	Values map[string]float64 `json:"values,omitempty"`
	Texts  map[string]string  `json:"texts,omitempty"` // values that are no numbers: plans, versions
	// Seconds are the operations per second of each tick; Lengths the ticks' lengths. Neighbours are not independent.
	Seconds []Second `json:"seconds,omitempty"`
	// Latency is of the operations that completed; of a woven trial only of those within one turn.
	Latency *hist.Histogram `json:"latency,omitempty"`
	// Errors counts statements that failed, by the server's error number.
	Errors map[string]uint64 `json:"errors,omitempty"`
	Env    *Environment      `json:"env,omitempty"` // as it was during this trial
	// Woven says that the trials of this round took turns under one load; From and To are then those of the whole
	// round. Nil otherwise.
	Woven   *Woven `json:"woven,omitempty"`
	Invalid string `json:"invalid,omitzero"` // why it does not count
	// Unusable: the variant cannot be measured at all, its server does not start for instance; Invalid says why.
	Unusable bool     `json:"unusable,omitzero"`
	Warnings []string `json:"warnings,omitempty"`
	// NotInForce has the limits that were asked for and could not be had, by name, each with what was asked for.
	NotInForce map[string]string `json:"not_in_force,omitempty"`
}

// Woven says how the trials of a round took turns. Of is 2 or more: one for each variant and one for the control.
type Woven struct {
	Turn   float64 `json:"turn_sec"`      // planned length of a turn
	Guard  float64 `json:"guard_sec"`     // of it, at its beginning, left out of the figures
	Turns  int     `json:"turns"`         // that this trial had and that count
	Late   int     `json:"late,omitzero"` // invalid turns: the client itself had stalled, and they were repeated
	Of     int     `json:"of"`
	Time   float64 `json:"time_sec"`  // that the figures are of: turns without guards
	Switch float64 `json:"switch_ms"` // the longest switch to this variant, before its turn began
	// Cut is the share of this trial's work, in operations, that was in operations which a switch cut in two: what
	// distinguishes the variants is blurred by about half of it.
	Cut float64 `json:"cut,omitzero"`
}

// Second is one tick of a trial; of a woven one about a second of its turns.
type Second struct {
	At     time.Time `json:"at"`
	Length float64   `json:"length"` // seconds
	Ops    uint64    `json:"ops"`
	P95    float64   `json:"p95_ms,omitzero"`
	Errors uint64    `json:"errors,omitzero"`
	Speed  float64   `json:"speed,omitzero"` // of the server's CPUs, on a scale of its own; 0 when it was not measured
}

// Correction takes out of the rates of trials what the varying speed of the CPUs put into them: rate ∝ speed to the
// power of Slope.
type Correction struct {
	Used   bool    `json:"used"`
	Why    string  `json:"why,omitzero"` // it is not used
	Slope  float64 `json:"slope"`
	Fit    float64 `json:"fit"`    // correlation of rate and speed between the blocks
	Blocks int     `json:"blocks"` // of some seconds each, that both are estimated from
	Spread float64 `json:"spread"` // standard deviation between blocks of what the speed does to the rate, as a share
	Level  float64 `json:"level"`  // the speed that all trials are brought to: the mean
	// Except are the variants whose comparisons are left as they were measured although it is used; their verdicts tell
	// why.
	Except []string `json:"except,omitempty"`
	// Only are the variants whose comparisons are corrected although it is not used: they were decided at a look at
	// which it was.
	Only []string `json:"only,omitempty"`
}

// Environment is what a trial ran on: facts by group and name, all texts, so that any two can be set against each
// other. Groups are "machine", "kernel", "storage", "client", "server" (build and place), "variable" (every effective
// variable of the server) and "limit".
type Environment struct {
	Facts map[string]map[string]string `json:"facts"`
	// Unknown says what could not be read, and why: "group.name" → reason.
	Unknown map[string]string `json:"unknown,omitempty"`
}

// Difference is one fact that is not the same everywhere.
type Difference struct {
	Group  string            `json:"group"`
	Name   string            `json:"name"`
	Values map[string]string `json:"values"` // by variant (or by result, when results of several machines are compared)
	// Varied says that the fact was not the same in all trials of one variant; its value there lists what it was: "a |
	// b".
	Varied bool `json:"varied,omitzero"`
	// Why says what explains it: "set by the plan", "follows innodb_buffer_pool_size", "comes with the server". Empty
	// for one that nothing explains.
	Why string `json:"why,omitzero"`
}

// Cell is one variant with its figures and its comparison.
type Cell struct {
	Variant string `json:"variant"`
	// Values are centre and interval over the valid trials, by name.
	Values map[string]stat.Interval `json:"values,omitempty"`
	Texts  map[string]string        `json:"texts,omitempty"` // that all valid trials agree in; "a | b" when they do not
	// Verdict compares it with its baseline in the plan's first value; nil for a baseline.
	Verdict *stat.Verdict `json:"verdict,omitempty"`
	// Ratios are variant ÷ baseline of every value, whatever is better, without correction for their number. An invalid
	// verdict holds for them too.
	Ratios   map[string]stat.Interval `json:"ratios,omitempty"`
	Trials   int                      `json:"trials"`                // all
	Valid    int                      `json:"valid"`                 // those that count
	Failed   string                   `json:"failed,omitzero"`       // why there are none: the server's last error
	Steady   *stat.Stability          `json:"steady,omitempty"`      // of the seconds within trials
	Month    float64                  `json:"month,omitzero"`        // price
	Million  *stat.Interval           `json:"per_million,omitempty"` // price per million operations
	Currency string                   `json:"currency,omitempty"`
}

// Result is what an experiment found.
type Result struct {
	Format   int            `json:"dyno_result"`
	ID       string         `json:"id"`
	Plan     plan.Plan      `json:"plan"`
	PlanText string         `json:"plan_text"` // as it was written
	Dyno     string         `json:"dyno"`      // version of the program
	Started  time.Time      `json:"started"`
	Ended    time.Time      `json:"ended"`
	Variants []plan.Variant `json:"variants"`
	Trials   []Trial        `json:"trials"`
	Cells    []Cell         `json:"cells"` // in the order of Variants
	// Control is the A/A comparison: the baseline against itself. Nil when the plan asks for none.
	Control *stat.Verdict `json:"control,omitempty"`
	// Correction says how verdicts and the control are corrected for the speed of the CPUs; nil when it was not
	// measured. Cell.Ratios are never corrected.
	Correction *Correction `json:"correction,omitempty"`
	Env        Environment `json:"env"` // facts that were the same in all trials
	// AlsoDiffers are facts that differ between variants and that no axis explains.
	AlsoDiffers []Difference `json:"also_differs,omitempty"`
	// Explained are those that the axes set or bring along: settings of a level, variables of another version.
	Explained []Difference `json:"explained,omitempty"`
	// Unpaired says that the sides of each comparison were measured apart: two results side by side. Ratios have no
	// pairs then, and their N is the number of trials of the side that has fewer.
	Unpaired bool `json:"unpaired,omitzero"`
	// Stopped says why fewer rounds than the rule asked for were run; empty when it came to its end.
	Stopped string `json:"stopped,omitzero"`
	// Verdict is that of the only comparison; empty when there are several, each cell has its own then.
	Verdict  stat.Result `json:"verdict,omitempty"`
	Sentence string      `json:"sentence"` // the outcome in words
	Warnings []string    `json:"warnings,omitempty"`
}
