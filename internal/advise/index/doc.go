// Package index holds the rules for indexes. They turn symptoms and a snapshot into findings, and
// change no table.
//
// Each rule is a function from a view of the snapshot to findings; Rules lists them. The rules that
// add an index share one search, in rule_add.go; most of their own files only filter its result.
// Rules see only what any account with the same grants could have captured, and read no clock: the
// same snapshot gives the same findings, byte for byte.
package index
