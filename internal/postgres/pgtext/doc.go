// Package pgtext reads the text of PostgreSQL's statements: the fingerprint of a class, the same whether the text comes
// from pg_stat_statements, from a log or from pg_stat_activity; what a parser of another dialect can read of it; and
// whether Dyno itself sent it. It does not parse SQL.
//
// A fingerprint is the statement without literals, comments and differences of white space and case (names in quotes
// keep theirs). Constants, $1 and the marks of a fingerprint are all ?, and lists of them fold as pt-query-digest folds
// them: in(?+), values(?+). Unlike there, digits in names stay: no source of PostgreSQL loses them.
package pgtext
