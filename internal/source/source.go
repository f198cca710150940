// Package source holds the words for the places that figures come from, and for whether they came.
package source

// State says what a source gave.
type State string

const (
	OK      State = "ok"
	Missing State = "missing" // the server has no such thing, or it is switched off
	Denied  State = "denied"  // a grant is missing
	Failed  State = "failed"  // it answered with an error
	Slow    State = "slow"    // it did not answer in time
)

// Source is one place that figures come from, and whether they came.
type Source struct {
	Name   string  `json:"name"` // "global_status", "innodb_metrics", "digests", "processlist", "host", "process", …
	State  State   `json:"state"`
	Reason string  `json:"reason,omitzero"`  // of any state but ok; with ok a remark: overflow, cut texts, a restart
	Fix    string  `json:"fix,omitzero"`     // the GRANT or setting that would mend it
	Took   float64 `json:"took_ms,omitzero"` // mean wall-clock time of one reading, milliseconds
	Reads  int     `json:"reads"`            // successful readings within the window
}
