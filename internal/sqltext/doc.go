// Package sqltext turns statements into fingerprints and class ids, equal to those of pt-query-digest, and knows Dyno's
// own statements.
//
// A fingerprint is a statement without its literals, comments and differences of case and white space. Equal means:
// for well-formed statements Fingerprint and ID give what pt-query-digest 3 prints, oddities included, because its ids
// stand in tickets and run books. Among the oddities: digits and signs within identifiers become ? as well (sbtest1 is
// sbtest?, a+b is a?), an x, b or dot before such a ? vanishes (tab1 is ta?), a string with a doubled quote in it gives
// two marks, a comment at the end leaves its space behind. Dyno departs from it only where following would show a
// literal, damage the statement, or give another answer for a fingerprint that is put in again:
//
//   - strings are read as the server reads them: a backslash hides the character after it; a string cut off in the
//     middle is ? to the end
//   - upper-case hexadecimal literals (0xAB) are ?
//   - a comment is recognised by the server's rules, also one with a quote in it; /**/ is a comment
//   - a multi-row INSERT is shortened also when a comment or white space stands before it
//   - CALL keeps the procedure's name only, without whatever is in the arguments, and with or without parentheses
//   - USE with white space around it is still "use ?"
//   - only the word asc is dropped after ORDER BY, never the first letters of ascii()
package sqltext
