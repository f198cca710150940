// Package report renders findings and proofs as terminal text, Markdown, HTML and JSON. The caller
// fills a Document, a plain value. It is laid out once, as blocks in the order in which it is read
// (block.go); Text, Markdown and HTML write each kind of block in their own way.
//
// Any text in a Document may come from a server or a stranger's query, so each renderer escapes for
// its own format. Invisible characters (controls, bidirectional marks, zero-width ones) are shown
// as ␀ or ⟨U+202E⟩. An unknown value is written as "–" and never as 0.
package report
