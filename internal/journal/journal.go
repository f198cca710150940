// Package journal holds the record of what Dyno did to servers: one Entry per action, with its
// undo. An Entry is written before the first statement is sent, so the undo exists even if Dyno is
// killed half-way. The ledger stores the entries.
package journal

import (
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
)

// State says how far an entry got.
type State string

const (
	Planned State = "planned" // written down, nothing sent yet
	Running State = "running" // sent; after a crash the truth is on the server, not here
	Done    State = "done"    // seen on the server; a note says where it made something else of it than was asked for
	Failed  State = "failed"  // the server refused or verification failed, see Error
	Undone  State = "undone"  // taken back and verified
)

// Entry is one action on one target.
type Entry struct {
	ID     string `json:"id"`
	Target string `json:"target"` // name as the user knows it
	URL    string `json:"url"`    // where it was, without a password
	// the server's own identity: uuid or hostname:port and datadir, so that an undo cannot hit another one
	Server  string         `json:"server"`
	By      string         `json:"by,omitzero"`      // user of the web UI who requested it; empty for the command line
	Finding string         `json:"finding,omitzero"` // id of the finding that suggested it
	Action  finding.Action `json:"action"`
	State   State          `json:"state"`
	Error   string         `json:"error,omitzero"`
	Planned time.Time      `json:"planned"`
	Started time.Time      `json:"started,omitzero"`
	Ended   time.Time      `json:"ended,omitzero"`
	// UndoBegan is when the last try to undo it began, UndoBy who requested that, as By. After a crash only the server
	// knows the outcome.
	UndoBegan time.Time `json:"undo_began,omitzero"`
	UndoBy    string    `json:"undo_by,omitzero"`
	UndoneAt  time.Time `json:"undone_at,omitzero"`
	// Before is the id of the diagnosis whose snapshot shows the target before the change.
	Before string `json:"before,omitzero"`
	Notes  []Note `json:"notes,omitempty"` // what happened on the way, for people: retries, lock waits
}

// Note is one remark during an action. No code reads its text.
type Note struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}
