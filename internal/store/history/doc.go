// Package history stores what a server was doing, in one SQLite file: its states per second, its
// query classes per minute with sums per hour and day, execution plans when they change, and
// examples of statements. It stores no metrics; package series does.
//
// # States
//
// A state is its JSON document (package state), compressed. It is a row of its own at first. When a
// target has a minute of them, they are packed together, which takes a fraction of the space
// because consecutive seconds are similar. Several processes may read while one writes.
//
// # Durability
//
// New data reach the file within a second, in one transaction for all targets. kill -9 loses at
// most that second, and never more than two. The write-ahead log is not synced at each transaction:
// a power cut may lose the last seconds, never the file.
//
// # Bounds
//
// Each kind has a maximum age and size; beyond it, the oldest rows are removed, see Options. Usage
// reports the size of each kind. All targets share a size: a target that takes no more than an
// equal part of it loses nothing because of another one. A full disk costs what does not fit into a
// buffer of limited size; writing continues automatically when there is space.
package history
