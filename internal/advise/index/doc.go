// Package index holds the rules for indexes. They turn symptoms and a snapshot into findings for
// package app, and change no table.
//
// Each rule is one file with a function from a view of the snapshot to findings; Rules lists them.
// Rules see only what any account with the same grants could have captured, and read no clock: the
// same snapshot gives the same findings, byte for byte.
package index
