package script

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Error tells what is wrong with a script, where, and what to do about it.
type Error struct {
	Script string // as it was called when it was parsed
	Line   int    // from 1
	Column int    // from 1, in characters
	Text   string
	Hint   string // "" when Text says enough
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.Script, e.Line, e.Column, e.Text)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// place is a position in a script that errors at run time point to.
type place struct {
	script       string
	line, column int
}

func (p place) errorf(hint, format string, a ...any) error {
	return &Error{p.script, p.line, p.column, fmt.Sprintf(format, a...), hint}
}

// placeOf finds line and column of an offset.
func placeOf(script, src string, offset int) place {
	before := src[:min(offset, len(src))]
	start := strings.LastIndexByte(before, '\n') + 1
	return place{script, 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[start:])}
}
