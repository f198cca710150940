package digestsource

import (
	"bytes"

	"github.com/dyno-perf/dyno/internal/mysql/logdigest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// linesOf tells where the entries of a kind of log begin.
func linesOf(kind slowlog.Kind) lines {
	if kind == slowlog.GeneralLog {
		return lines{cut: func(b []byte) int { return slowlog.CutGeneral(b, false) }, first: firstGeneral, mark: "\n"}
	}
	return lines{cut: func(b []byte) int { return slowlog.Cut(b, false) }, first: slowlog.CutFirst, mark: "\n# "}
}

// firstGeneral is slowlog.CutFirst for general logs.
func firstGeneral(b []byte) int {
	for i := bytes.IndexByte(b, '\n'); i >= 0; {
		n := bytes.IndexByte(b[i+1:], '\n')
		if n < 0 {
			break
		}
		if slowlog.CutGeneral(b[i:i+n+2], false) > 0 {
			return i + 1
		}
		i += n + 1
	}
	return -1
}

// looksWhole reports whether text from the beginning of an entry on ends as servers end an entry.
func looksWhole(kind slowlog.Kind, b []byte) bool {
	n := len(b)
	if n == 0 || b[n-1] != '\n' {
		return false
	}
	if kind == slowlog.GeneralLog { // which marks no ends
		return true
	}
	b = bytes.TrimRight(b, "\r\n")
	line := b[bytes.LastIndexByte(b, '\n')+1:]
	switch {
	case bytes.HasPrefix(line, []byte("# administrator command: ")):
		return true
	case bytes.HasPrefix(line, []byte("SET timestamp=")), bytes.HasPrefix(line, []byte("use ")):
		// the statement follows
		return false
	}
	return bytes.HasSuffix(line, []byte(";")) && (bytes.HasPrefix(b, []byte("# ")) || bytes.Contains(b, []byte("\n# ")))
}

// parsing parses the pieces of a log.
type parsing struct {
	kind    slowlog.Kind
	slow    *slowlog.Parser        // nil for a general log
	general *slowlog.GeneralParser // nil for a slow log
	entry   slowlog.Entry
}

// parsingState is what the pieces behind one need to know of it.
type parsingState struct {
	slowlog.State
}

func newParsing(kind slowlog.Kind) *parsing {
	if kind == slowlog.GeneralLog {
		return &parsing{kind: kind, general: slowlog.NewGeneralParser()}
	}
	return &parsing{kind: kind, slow: slowlog.NewParser()}
}

// counts tells what a piece held.
type counts struct {
	entries uint64
	skips   []slowlog.Skip // valid until the next piece
}

// piece adds the entries of a piece to a. It takes before over.
func (p *parsing) piece(x piece, before parsingState, a *logdigest.Aggregator, file int) (
	c counts, after parsingState,
) {
	e := &p.entry
	if p.general != nil {
		p.general.Reset(x.data, x.offset, before.State)
		for p.general.Next(e) {
			c.entries++
			a.Add(nil, e, file)
		}
		c.skips = p.general.Skipped()
		return c, parsingState{p.general.State()}
	}
	p.slow.Reset(x.data, x.offset, before.State)
	for p.slow.Next(e) {
		c.entries++
		a.Add(p.slow, e, file)
	}
	c.skips = p.slow.Skipped()
	return c, parsingState{p.slow.State()}
}

// parallel reports whether the state behind a piece of the kind is found in a fraction of the time that parsing takes.
func parallel(kind slowlog.Kind) bool { return kind != slowlog.GeneralLog }

// behind returns the state behind a piece of a log that is parallel, as it is when nothing is known of what stands
// before.
func behind(data []byte) parsingState { return parsingState{slowlog.State{}.After(data)} }

// then returns the state behind a piece when that before the piece was s.
func (s parsingState) then(behind parsingState) parsingState {
	return parsingState{s.Then(behind.State)}
}

// firstTime returns the time of the first entry that tells it, microseconds since 1970; 0 = none does.
func firstTime(kind slowlog.Kind, head []byte) int64 {
	if kind == slowlog.GeneralLog {
		p := slowlog.NewGeneralParser()
		p.Reset(head, 0, slowlog.State{})
		for e := (slowlog.Entry{}); p.Next(&e); {
			if e.At != 0 {
				return e.At
			}
		}
		return 0
	}
	p := slowlog.NewParser()
	p.Reset(head, 0, slowlog.State{})
	for e := (slowlog.Entry{}); p.Next(&e); {
		if e.At != 0 {
			return e.At
		}
	}
	return p.State().At // of one that the head cuts off
}
