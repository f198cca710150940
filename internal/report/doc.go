// Package report renders what was found and proven as terminal text, Markdown, HTML and JSON.
package report
