// Package apply executes one action on a server: it checks the preconditions (preflight), records the
// undo in the journal, applies the change, verifies the result, and can undo it. Packages app, cli
// and httpapi call it with an action that a person has accepted. It does not decide what to change;
// packages advise and app do.
package apply
