// Package apply is how servers of the MySQL family are changed: it implements the Changer of
// package change, which keeps the journal and decides what happens when. For each kind of action it
// has the preconditions (preflight), the statements, and how to see whether the server shows the
// result. It does not decide what to change; package advise does.
package apply
