// Package index turns symptoms and a snapshot into findings about indexes.
//
// A rule is one file with a function from a view of the snapshot to findings; Rules lists them. Rules see only what any
// stranger with the same grants could have captured, and read no clock: the same snapshot gives the same findings, byte
// for byte.
package index
