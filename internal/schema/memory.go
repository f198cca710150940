package schema

import "unicode/utf8"

// What the values of a table take in memory beside their texts, bytes.
const (
	tableBytes   = 400
	columnBytes  = 150
	indexBytes   = 100
	partBytes    = 80
	foreignBytes = 120
	triggerBytes = 80
)

// Memory returns about how many bytes a table's description takes, in memory or as JSON.
func (t Table) Memory() int {
	n := tableBytes + text(t.Schema) + text(t.Table) + text(t.Engine) + text(t.Collation) + text(t.RowFormat) +
		text(t.Options)
	for _, c := range t.Columns {
		n += columnBytes + text(c.Name) + text(c.Type) + text(c.DataType) + text(c.Charset) + text(c.Collation) +
			text(c.Generated) + text(c.Extra)
	}
	for _, x := range t.Indexes {
		n += indexBytes + text(x.Name) + text(x.Type)
		for _, p := range x.Parts {
			n += partBytes + text(p.Column) + text(p.Expr)
		}
	}
	for _, k := range t.Foreign {
		n += foreignBytes + text(k.Name) + text(k.To.Schema) + text(k.To.Table)
		for i := range k.Columns {
			n += 32 + text(k.Columns[i]) + text(k.Refers[i])
		}
	}
	for _, x := range t.Triggers {
		n += triggerBytes + text(x.Name) + text(x.Timing) + text(x.Event) + text(x.Body)
	}
	return n
}

// text returns how many bytes a text takes as JSON.
func text(s string) int {
	n := len(s)
	for i, r := range s {
		switch {
		case r < ' ' || r == utf8.RuneError && s[i] != "\uFFFD"[0]: // \u0000
			n += 5
		case r == '"' || r == '\\':
			n++
		case r == '\u2028' || r == '\u2029':
			n += 3
		}
	}
	return n
}
