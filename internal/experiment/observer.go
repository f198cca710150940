package experiment

import (
	"time"

	"github.com/dyno-perf/dyno/internal/compare"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/trial"
)

// Observer is told what happens while it happens, from the goroutine that called Compare. Every member may be nil.
type Observer struct {
	Planned  func(Planned)     // once, before the first trial
	Begin    func(Begin)       // a trial begins
	Progress progress.Sink     // within a trial, as the Bench reports it
	End      func(trial.Trial) // a trial has ended and is on record
	Judged   func(Judged)      // a round is complete
}

// Planned is what lies ahead.
type Planned struct {
	Variants int
	Min, Max int // rounds
	Trials   int // at most, in Max rounds with all variants open, without repeated ones
	Done     int // on record from before
	// Shortest and Longest estimate the whole from the plan's own times; what comes before a trial is not in it as it
	// is not known yet.
	Shortest, Longest time.Duration
}

// Begin is the beginning of a trial.
type Begin struct {
	Seq     int
	N, Most int // this is the Nth trial of at most Most; fewer when variants are decided early
	Round   int
	Variant string
	Control bool
	Again   bool // the first one of this round was invalid
	// Remaining is the time until the end if no variant is decided before the last round, from the measured times of
	// the trials so far; 0 when none has ended yet. A budget ends it earlier.
	Remaining time.Duration
}

// Judged is what a complete round has brought.
type Judged struct {
	Round   int
	Open    []string // keys of the variants that run on
	Closed  []string // those that this round has closed: decided, or not to be measured
	Outcome compare.Outcome
}
