package experiment

import (
	"context"
	"fmt"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/trial"
)

// Bench carries out trials. Compare calls it from one goroutine, one trial at a time.
type Bench interface {
	// Trial provides what v asks for, loads it as p says and returns what was measured; Seq, Round, Variant and Control
	// are filled in by Compare. With control the trial is the second one of a baseline in its round and must be carried
	// out like any other.
	//
	// A trial that broke (server errors, a client at its limit, a server that died) is returned with Invalid set, not
	// as an error. An error of type *Unusable means that this variant will never run here: it is closed and the others
	// go on. Any other error ends the experiment. Trial ends early with ctx's error.
	Trial(ctx context.Context, v plan.Variant, p plan.Plan, control bool, sink progress.Sink) (trial.Trial, error)
}

// Recorder keeps each trial before the next begins. Put returns when the trial would survive the end of the process.
type Recorder interface {
	Put(ctx context.Context, t trial.Trial) error
}

// Unusable is the answer of a Bench to a variant that cannot be measured: its server will not start, or is not to be
// had.
type Unusable struct {
	Reason string // for people; of a server that does not start the last error of its log
	Err    error  // may be nil
}

func (e *Unusable) Error() string {
	switch {
	case e.Err == nil:
		return e.Reason
	case e.Reason == "":
		return e.Err.Error()
	}
	return fmt.Sprintf("%s: %v", e.Reason, e.Err)
}

// Unwrap returns the cause.
func (e *Unusable) Unwrap() error { return e.Err }
