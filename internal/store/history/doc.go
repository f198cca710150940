// Package history keeps what a server was doing, in one SQLite file: its states second by second, its query classes minute by minute
// with their sums by hour and day, execution plans when they change, and examples of statements.
//
// # States
//
// A state is its JSON document (package state), compressed. It stands in a row of its own at first; once there are a minute's worth
// of a target they are packed together, which takes a fraction of the room because one second looks like the next. Several processes
// may read while one writes.
//
// # Durability
//
// What was put reaches the file within a second, with one transaction for all targets; kill -9 loses at most that second, and never
// more than two. The write-ahead log is not forced to the disk at each transaction: a power cut may cost the last seconds, never the
// file.
//
// # Bounds
//
// Each kind has an age and a size beyond which its oldest rows go, see Options; Usage tells what each kind takes. All targets share a
// size: who takes no more than an equal part of it loses nothing for another's sake. A full disk costs what
// does not fit into a buffer of bounded size; writing goes on by itself when there is room.
package history
