package slowlog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parsers of both kinds.
type anyParser interface {
	Reset(piece []byte, offset int64, carried State)
	Next(*Entry) bool
	State() State
	Skipped() []Skip
}

// render writes an entry with all it has; figures only when asked.
func render(p anyParser, e *Entry, figures bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d+%d", e.Offset, e.Length)
	if e.At != 0 {
		fmt.Fprintf(&b, " at %s", time.UnixMicro(e.At).UTC().Format("2006-01-02T15:04:05.999999"))
		if e.InheritedAt {
			b.WriteByte('~')
		}
	}
	if e.HasID {
		fmt.Fprintf(&b, " id %d", e.Thread)
	}
	if len(e.User)+len(e.Host) > 0 {
		fmt.Fprintf(&b, " %s@%s", e.User, e.Host)
	}
	if len(e.DB) > 0 {
		fmt.Fprintf(&b, " db %s", e.DB)
		if e.InheritedDB {
			b.WriteByte('~')
		}
	}
	for _, n := range []struct {
		name  string
		value uint32
		none  uint32
	}{{"rate", e.Rate, 1}, {"errno", e.Errno, 0}, {"killed", e.Killed, 0}} {
		if n.value != n.none {
			fmt.Fprintf(&b, " %s %d", n.name, n.value)
		}
	}
	if figures {
		for _, f := range e.Figures {
			fmt.Fprintf(&b, " %s=%s", p.(*Parser).Info(f.Attribute).Name, strconv.FormatFloat(f.Value, 'g', -1, 64))
		}
	}
	if e.Plan != nil {
		fmt.Fprintf(&b, " plan %q", e.Plan)
	}
	if e.Admin {
		b.WriteString(" admin")
	}
	fmt.Fprintf(&b, " %q", e.SQL)
	return b.String()
}

// readAll renders all entries of a log and what was skipped.
func readAll(p anyParser, log string, offset int64, carried State, figures bool) (entries, skips []string) {
	p.Reset([]byte(log), offset, carried)
	for e := (Entry{}); p.Next(&e); {
		entries = append(entries, render(p, &e, figures))
	}
	for _, s := range p.Skipped() {
		skips = append(skips, fmt.Sprintf("%d+%d %s", s.Offset, s.Length, s.Reason))
	}
	return entries, skips
}

// sqls returns the statements alone and the texts of the skipped parts with their reasons.
func sqls(log string) (statements, skipped []string) {
	p := NewParser()
	p.Reset([]byte(log), 0, State{})
	for e := (Entry{}); p.Next(&e); {
		statements = append(statements, string(e.SQL))
	}
	for _, s := range p.Skipped() {
		skipped = append(skipped, s.Reason+": "+log[s.Offset:s.Offset+s.Length])
	}
	return statements, skipped
}

func same(a, b []string) bool { return slices.Equal(a, b) }
