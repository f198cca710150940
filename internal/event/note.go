package event

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// MaxNote is the longest text of a note, bytes: it is drawn on graphs.
const MaxNote = 500

// CheckNote returns what is wrong with an annotation that a person wrote, nil when it can be kept.
func (e Event) CheckNote() error {
	switch {
	case strings.TrimSpace(e.Text) == "":
		return errors.New("the text is empty")
	case len(e.Text) > MaxNote:
		return fmt.Errorf("the text has %d bytes, the maximum is %d: it is drawn on graphs", len(e.Text), MaxNote)
	case strings.ContainsFunc(e.Text, unicode.IsControl):
		return errors.New("the text holds a line break or another control character: it is one line on a graph")
	case !e.Until.IsZero() && e.Until.Before(e.At):
		return fmt.Errorf("it ends (%s) before it begins (%s)", e.Until.Format(time.DateTime),
			e.At.Format(time.DateTime))
	}
	return nil
}
