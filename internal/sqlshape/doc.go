// Package sqlshape parses a statement with a SQL parser into what index advice needs: tables, predicates, joins, order, output.
//
// It looks at the outermost level of one statement and says in Shape.Opaque what it did not understand, so that advice can
// be silent where it would have to guess. It is the only package that knows the parser.
package sqlshape
