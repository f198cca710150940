// Package sqlshape parses a statement with a SQL parser and returns what index advice needs as the
// values of package shape: tables, predicates, joins, order and output. It is the only package that
// uses the parser.
//
// It analyzes the outermost level of one statement, and lists in Shape.Opaque what it did not
// understand, so that advice can stay silent instead of guessing.
package sqlshape
