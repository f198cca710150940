// Package event holds the events on the timeline of a target: what happened, when, and where to
// read more. The package detects none itself.
package event

import "time"

// Kind says what sort of thing happened.
type Kind string

const (
	Annotation Kind = "annotation" // a person's note
	DDL        Kind = "ddl"        // a schema change
	Config     Kind = "config"     // a variable changed
	Run        Kind = "run"        // a load began or ended
	Action     Kind = "action"     // Dyno changed something, see the journal
	Variant    Kind = "variant"    // an experiment switched to another variant
	Restart    Kind = "restart"    // the server came up again
	Gap        Kind = "gap"        // nothing was observed for a while

	// Incidents, see package incident.
	Down       Kind = "down"       // the server did not answer
	Locks      Kind = "locks"      // sessions piled up behind locks
	Deadlock   Kind = "deadlock"   // the server rolled a transaction back to resolve one
	Saturation Kind = "saturation" // more sessions ran than the machine has CPUs for
	Refused    Kind = "refused"    // the server refused connections
	Login      Kind = "login"      // the server refused Dyno's login

	Replication Kind = "replication" // a thread of a replica does not run
)

// Cause says why nothing was observed, or nothing kept, for the time of a Gap.
type Cause string

const (
	NoCPU      Cause = "cpu"        // Dyno got no CPU
	SlowScrape Cause = "scrape"     // the previous scrape took too long
	ClockAhead Cause = "clock"      // the clock went forward, or the machine slept
	ClockBack  Cause = "clock-back" // the clock was set back
	DiskFull   Cause = "disk"       // what was read could not be stored
	TooMany    Cause = "events"     // events came faster than they could be stored
)

// Event is one mark. It is a moment when Until is zero, else the time from At to Until.
type Event struct {
	ID     string    `json:"id,omitempty"`
	At     time.Time `json:"at"`
	Until  time.Time `json:"until,omitzero"`
	Target string    `json:"target,omitempty"` // name of the target as the user knows it
	Kind   Kind      `json:"kind"`
	Cause  Cause     `json:"cause,omitempty"` // of a Gap
	Text   string    `json:"text"`            // one line for people
	Ref    string    `json:"ref,omitempty"`   // id of the run, action or experiment it belongs to
}
