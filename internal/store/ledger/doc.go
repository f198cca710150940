// Package ledger keeps targets, runs, diagnoses, findings, the journal and events in SQLite.
package ledger
