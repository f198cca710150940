package event

import (
	"strings"
	"testing"
	"time"
)

func TestCheckNote(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	f := func(e Event, want string) {
		t.Helper()
		err := e.CheckNote()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f(Event{At: at, Text: "release 4.2"}, "")
	f(Event{At: at, Until: at, Text: strings.Repeat("x", MaxNote)}, "")
	f(Event{At: at, Text: " \t"}, "empty")
	f(Event{At: at, Text: strings.Repeat("x", MaxNote+1)}, "501 bytes")
	f(Event{At: at, Text: "two\nlines"}, "line break")
	f(Event{At: at, Until: at.Add(-1), Text: "x"}, "before it begins")
}
