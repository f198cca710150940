// Package report renders what was found and proven as terminal text, Markdown, HTML and JSON.
//
// A Document is a plain value that somebody else filled; the four renderers Text, Markdown, HTML and JSON write it and nothing
// more. Every text in it may come from a server or a stranger's query, so each renderer escapes for its own format, and
// characters that cannot be seen (controls, bidirectional marks, zero-width ones) are shown as ␀ or ⟨U+202E⟩. What is unknown
// stays unknown: it is written as "–" and never as 0.
package report
