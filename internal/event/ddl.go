package event

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OtherDDL is what schema changes are alike in of which nothing is told.
const OtherDDL = "other schema changes"

const more = " more: "

// More is the text of an event that stands for n schema changes which are alike: the beginning of their statements as
// Alike writes it, or OtherDDL.
func More(n int, alike string) string { return fmt.Sprint(n, more, alike) }

// Alike returns a text with # for each number: what tells tables of one purpose apart.
func Alike(text string) string {
	var b strings.Builder
	digits := false
	for _, r := range text {
		if now := '0' <= r && r <= '9'; !now {
			b.WriteRune(r)
			digits = false
		} else if !digits {
			b.WriteByte('#')
			digits = true
		}
	}
	return b.String()
}

// Names reports whether the text of a schema change may name a table or an index, in whatever database: OtherDDL may
// name any.
func (e Event) Names(name string) bool {
	text := e.Text
	if _, alike, ok := strings.Cut(text, more); ok {
		if alike == OtherDDL {
			return true
		}
		text, name = alike, Alike(name)
	}
	text, name = strings.ToLower(text), strings.ToLower(name)
	inName := func(r rune) bool {
		return r == '_' || r == '$' || r == '#' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	for i := 0; name != ""; {
		n := strings.Index(text[i:], name)
		if n < 0 {
			break
		}
		begin, end := i+n, i+n+len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:begin])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !(begin > 0 && inName(before)) && !(end < len(text) && inName(after)) {
			return true
		}
		i = end
	}
	return false
}
