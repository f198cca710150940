package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"dyno/internal/report"
)

// legible is the way to the user for all text: what servers, files and logs put into it cannot move
// the cursor, change colours or turn the direction of writing, for characters that cannot be seen
// are written so that they can, as report.Picture has them. In JSON they are written as \u009b,
// which means the same character. Other forms are left as they are: package report has cleaned
// them.
type legible struct {
	to   io.Writer
	form func() string // of the output: text, json or another

	mu   sync.Mutex
	rest []byte // of a character whose end comes with the next write
}

// legibly makes the outputs of streams legible. end writes what is left at the end.
func (s *Streams) legibly(form func() string) (end func() error) {
	out, errs := &legible{to: s.Out, form: form}, &legible{to: s.Err, form: func() string { return "" }}
	s.Out, s.Err = out, errs
	return func() error { return errors.Join(out.Close(), errs.Close()) }
}

// raw returns what is behind a writer, for what cleans its own text and draws.
func raw(w io.Writer) io.Writer {
	if l, ok := w.(*legible); ok {
		return l.to
	}
	return w
}

// firstStyle is the character that begins a style of ours, those after it the others. Nobody can
// foresee which it is and put it into a name.
var firstStyle = 0xf0000 + rand.Int32N(0xff00)

// styles are what terminals are sent for the characters from firstStyle on.
var styles = []string{"\x1b[0m", "\x1b[1m", "\x1b[2m"}

// styled gives a text the style of that number, on a writer that is legible.
func styled(n rune, text string) string { return string(firstStyle+n) + text + string(firstStyle) }

// Write implements io.Writer.
func (l *legible) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	b = append(l.rest, b...)
	end := len(b)
	for i := max(0, end-utf8.UTFMax+1); i < len(b); i++ {
		if utf8.RuneStart(b[i]) && !utf8.FullRune(b[i:]) {
			end = i
			break
		}
	}
	l.rest = bytes.Clone(b[end:])
	if _, err := l.to.Write(l.clean(b[:end])); err != nil {
		return 0, err
	}
	return n, nil
}

// Close writes what is left of a character that nobody ended.
func (l *legible) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) == 0 {
		return nil
	}
	_, err := l.to.Write(l.clean(l.rest))
	l.rest = nil
	return err
}

func (l *legible) clean(b []byte) []byte {
	form := l.form()
	if form != "" && form != "text" && form != "json" || bytes.IndexFunc(b, hidden) < 0 {
		return b
	}
	var out strings.Builder
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case !hidden(r) || r == utf8.RuneError && n > 1:
			out.Write(b[i : i+n])
		case r >= firstStyle && int(r-firstStyle) < len(styles):
			out.WriteString(styles[r-firstStyle])
		case form != "json":
			out.WriteString(report.Picture(b[i : i+n]))
		case r < ' ': // white space between values; encoders escape it in strings
			out.WriteByte(b[i])
		default:
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, `\u%04x`, u)
			}
		}
		i += n
	}
	return []byte(out.String())
}

// hidden reports whether a character, or a byte that is none, cannot be seen in a text.
func hidden(r rune) bool {
	return r != '\n' && r != '\t' && (r == utf8.RuneError || !unicode.IsPrint(r))
}

// oneLine shows a text that is one line, such as a statement that will be run, to the letter: also
// its line ends and tabs.
func oneLine(s string) string { return strings.NewReplacer("\n", "␊", "\t", "␉").Replace(s) }
