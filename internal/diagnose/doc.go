// Package diagnose turns a snapshot into symptoms: abnormal measurements, before their cause is
// known. The package asks no server and names no cause.
//
// Rates apply to the snapshot's window, and are never totals since the server's start. Missing data
// are a symptom of their own, because a report must not read as healthy where Dyno saw nothing.
package diagnose
