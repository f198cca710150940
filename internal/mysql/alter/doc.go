// Package alter executes schema changes on a live table while its users continue: it waits for the
// metadata lock in short attempts and reports who holds it. It does not decide whether a change is
// right, and keeps no journal.
package alter
