// Package sqlshape parses a statement with a SQL parser into what index advice needs: tables, predicates, joins, order, output.
package sqlshape
