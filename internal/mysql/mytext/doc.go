// Package mytext analyzes the text of statements: its tokens (Next), the class of a statement,
// with the fingerprint and id of pt-query-digest, its short form and tables, its text without
// literals. It does not parse SQL; package sqlshape does.
//
// A fingerprint is a statement without its literals, comments and differences of case and white
// space. Fingerprint and ID return the output of pt-query-digest 3, including its oddities, because
// its ids appear in tickets and runbooks. Some of the oddities: digits and signs within identifiers
// become ? as well (sbtest1 is sbtest?, a+b is a?); an x, b or dot before such a ? disappears (tab1
// is ta?); a string with a doubled quote in it gives two marks; a comment at the end leaves its
// space; ascii( after an ORDER BY loses its first letters; an INSERT of several rows is shortened
// only if nothing precedes it.
//
// Dyno differs only where the tool's result would show a literal or a comment, or would change when
// a fingerprint is processed again:
//
//   - where the tool's expressions would leave a part of a string or a comment (a quote after two
//     backslashes, a one-line comment with a quote in it, a comment mark within a string, a
//     truncated string), strings and comments are read as the server reads them, and a truncated
//     one is ? to its end
//   - upper-case hexadecimal digits (0xAB) are part of the ?
//   - the words true and false next to a digit (true1) are ? as well
//   - an x, b or dot before a ? of the statement itself stays
//   - CALL with arguments keeps only the procedure's name, whatever parentheses are in them, and
//     "call name" stays as it is
//   - USE with other white space around it is still "use ?", without a line break at its end
//   - an INSERT that is already a fingerprint, or has several rows and no literal at all, is
//     shortened so that it stays the same
//   - several asc in a row after ORDER BY are all removed, and so are several numbers after LIMIT
//   - an administrator command with anything but letters in its name is treated as a statement
//   - repeated branches of a UNION are found up to eight branches apart, with an effort in
//     proportion to the statement
//
// Servers with NO_BACKSLASH_ESCAPES read strings in another way. No log shows that mode, and
// neither the tool nor this package supports it.
package mytext
