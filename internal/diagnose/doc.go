// Package diagnose turns a snapshot into symptoms: measured facts out of order, before anybody knows why.
//
// Rates are of the snapshot's window, never totals since the server's start. What could not be seen is a symptom of its own,
// for a report must not read as healthy where it was blind.
package diagnose
