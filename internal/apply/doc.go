// Package apply executes one action on a server: it checks the preconditions (preflight), records
// the undo in the journal, applies the change, verifies the result, and can undo it. The action is
// one that a person has accepted. It does not decide what to change; package advise does.
package apply
