// Package sqltext knows the text of statements: what class one is of, by fingerprint and id equal to those of pt-query-digest, its short
// form and tables, how it looks without literals, and whether Dyno itself sent it. Everybody who needs one of these asks here.
//
// A fingerprint is a statement without its literals, comments and differences of case and white space. Fingerprint and ID give what
// pt-query-digest 3 prints, oddities included, because its ids stand in tickets and run books. Among the oddities: digits and signs
// within identifiers become ? as well (sbtest1 is sbtest?, a+b is a?), an x, b or dot before such a ? vanishes (tab1 is ta?), a string
// with a doubled quote in it gives two marks, a comment at the end leaves its space behind, ascii( after an ORDER BY loses its first
// letters, an INSERT of several rows is shortened only when nothing stands before it.
//
// Dyno departs from it only where following would show a literal or a comment, or would give another answer for a fingerprint that is
// put in again:
//
//   - where the tool's expressions would leave a part of a string or a comment (a quote after two backslashes, a comment of one line with
//     a quote in it, the mark of a comment within a string, a string cut off in the middle), strings and comments are read as the server
//     reads them, and what is cut off is ? to its end
//   - upper-case hexadecimal digits (0xAB) are part of the ?
//   - the words true and false next to a digit (true1) are ? as well
//   - an x, b or dot before a ? that the statement itself has stays
//   - CALL with arguments keeps the procedure's name only, whatever parentheses are in them, and "call name" stays as it is
//   - USE with other white space around it is still "use ?", without a line break at its end
//   - an INSERT that is a fingerprint already, or has several rows and no literal at all, is shortened so that it stays the same
//   - several asc in a row after ORDER BY all go, and so do several numbers after LIMIT
//   - an administrator command with anything but letters in its name is treated as a statement
//   - repeated branches of a UNION are found up to eight branches apart, and up to an effort in proportion to the statement
//
// Servers with NO_BACKSLASH_ESCAPES read strings in another way; no log tells, and neither is followed here.
package sqltext
