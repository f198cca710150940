package slowlog

import (
	"bytes"

	"github.com/dyno-perf/dyno/internal/attribute"
)

// Parser reads slow query logs of MySQL, Percona Server and MariaDB. It learns how the log at hand lays its figures out
// and then only compares, so it is kept for all pieces of a log. A Parser is for one goroutine; what it returns does
// not depend on what it read before, but for the numbers of attributes outside the known ones.
//
// What an entry is. A server writes comment lines that begin with "# Time: " or "# User@Host: " (old ones left them out
// now and then, so "# Thread_id: ", "# Schema: " and "# Query_time: " begin an entry too), then at most one "use db;"
// and one "SET timestamp=…;", then the statement and ";". Servers do not escape statements, so a statement may hold
// lines that look like all of that. As pt-query-digest does, an entry ends where a line that ends in ; is followed by a
// comment; unlike it, only by one that begins an entry, so that procedures with comments stay whole. A line that begins
// an entry but does not follow a ; is text of the statement, unless all of a header follows: then the entry before was
// torn.
type Parser struct {
	data []byte
	base int64 // offset of data in the log
	pos  int   // in data: between entries
	sure bool  // an entry begins at pos

	at      int64  // of the last entry
	db      []byte // of the last "use": of data, or carried
	carried []byte

	figures []Figure
	seen    [2]uint64 // attributes in figures
	skips   []Skip

	nodes   []node // by field
	unknown []attribute.Info
	names   map[string]field
	days    days
	lex     lexer
}

// maxUnknown bounds how many attributes outside the known ones a Parser numbers; figures of more are left out.
const maxUnknown = 64

// NewParser returns a Parser without a piece.
func NewParser() *Parser {
	p := &Parser{figures: make([]Figure, 0, int(knownAttributes)+maxUnknown+1), names: names()}
	p.nodes = make([]node, int(firstFigure)+int(knownAttributes)+maxUnknown)
	return p
}

// Reset makes p read a piece of a log: one that begins and ends between entries (see Cut) and lies at offset. carried
// is the State behind the piece before, and the zero State for the first. p keeps no part of the piece before.
func (p *Parser) Reset(piece []byte, offset int64, carried State) {
	p.data, p.base, p.pos, p.sure = piece, offset, 0, false
	p.at = carried.At
	p.carried = append(p.carried[:0], carried.DB...)
	p.db = p.carried
	p.skips = p.skips[:0]
	for i := range p.nodes {
		p.nodes[i].learned = 0
	}
}

// State returns what the next piece needs to know.
func (p *Parser) State() State { return State{At: p.at, DB: string(p.db)} }

// Skipped returns the parts of this piece that could not be read so far, in order. It is valid until Reset.
func (p *Parser) Skipped() []Skip { return p.skips }

// Info describes an attribute of this Parser's entries; of one that it never numbered it is zero.
func (p *Parser) Info(a Attribute) attribute.Info {
	if i, ok := Known(a); ok {
		return i
	}
	if n := int(a) - int(knownAttributes); n < len(p.unknown) {
		return p.unknown[n]
	}
	return attribute.Info{}
}

// Unknown returns the attributes that p met and numbered itself: the first is number FirstUnknown.
func (p *Parser) Unknown() []attribute.Info { return p.unknown }

// FirstUnknown is the number of the first attribute that is not the same in every log.
const FirstUnknown = knownAttributes

// Reasons of skips.
const (
	reasonText    = "text between entries"
	reasonNoText  = "a header without a statement"
	reasonNoTime  = "a header without Query_time"
	reasonBadTime = "an impossible time"
	reasonTorn    = "torn: the statement does not end"
	reasonTornEnd = "torn: the log ends within the entry"
)

// maxSec is a time that no statement takes: servers whose clock goes back write differences below zero as huge ones.
const maxSec = 1e10

// skip notes a part that could not be read.
func (p *Parser) skip(from, to int, reason string) {
	if from < to {
		p.skips = append(p.skips, Skip{Offset: p.base + int64(from), Length: int64(to - from), Reason: reason})
	}
}

// Next reads the next whole entry into e and reports whether there was one. Every entry has a figure for QueryTime and
// one for QueryLength.
func (p *Parser) Next(e *Entry) bool {
	for p.between() {
		start := p.pos
		h := header{}
		e.User, e.Host, e.DB, e.SQL, e.Plan = nil, nil, nil, nil, nil
		e.Thread, e.HasID, e.Admin, e.InheritedDB, e.InheritedAt = 0, false, false, false, false
		e.Errno, e.Killed, e.Rate = 0, 0, 1
		p.figures = p.figures[:0]
		p.seen = [2]uint64{}
		at := p.header(e, &h)
		reason := ""
		switch h.ends {
		case endNext: // another header follows
			p.pos, reason = at, reasonNoText
		case endData:
			p.pos, reason = at, reasonTornEnd
		case endAdmin:
			p.pos = p.admin(e, at)
		case endText:
			p.pos, reason = p.statement(e, at)
		}
		if reason == "" {
			switch {
			case h.badTime:
				reason = reasonBadTime
			case !p.has(QueryTime):
				reason = reasonNoTime
			}
		}
		switch {
		case h.zoned:
			e.At = h.logged
		case h.stamped:
			e.At = h.stamp
		case h.dated:
			e.At = h.logged
		default:
			e.At, e.InheritedAt = p.at, p.at != 0
		}
		if e.At != 0 {
			p.at = e.At
		}
		if reason != "" {
			p.skip(start, p.pos, reason)
			continue
		}
		if !h.schema {
			e.DB, e.InheritedDB = p.db, !h.used && len(p.db) > 0
		}
		length := len(e.SQL)
		if e.Admin {
			length += len(adminPrefix)
		}
		// MariaDB alone writes QC_hit before the times.
		e.AtBegin = e.At != 0 && !h.zoned && p.figures[0].Attribute == QCHit
		p.figures = append(p.figures, Figure{QueryLength, float64(length)})
		e.Figures = p.figures
		e.Offset, e.Length = p.base+int64(start), int64(p.pos-start)
		return true
	}
	return false
}

func (p *Parser) has(a Attribute) bool { return p.seen[a>>6]&(1<<(a&63)) != 0 }

// figure notes the value of an attribute; the last of several counts.
func (p *Parser) figure(a Attribute, v float64) {
	if p.has(a) {
		for i := range p.figures {
			if p.figures[i].Attribute == a {
				p.figures[i].Value = v
			}
		}
		return
	}
	p.seen[a>>6] |= 1 << (a & 63)
	p.figures = append(p.figures, Figure{a, v})
}

// between passes over what stands between entries, and reports whether an entry begins at p.pos then.
func (p *Parser) between() bool {
	d := p.data
	if p.sure {
		p.sure = false
		return true
	}
	for i := p.pos; i < len(d); {
		if begins(d, i) {
			p.pos = i
			return true
		}
		next := lineEnd(d, i)
		if blank(d[i:next]) || banner(d[i:next]) {
			i = next
			continue
		}
		from := i
		for i = next; i < len(d); i = lineEnd(d, i) {
			if boundary(d, from, i) || banner(d[i:lineEnd(d, i)]) {
				break
			}
		}
		if i < len(d) && !semicolon(d, from, i-1) {
			i = glued(d, from, i)
		}
		if d[from] == '#' && next == len(d) && d[next-1] != '\n' {
			p.skip(from, i, reasonTornEnd)
		} else {
			p.skip(from, i, reasonText)
		}
		if i < len(d) && begins(d, i) {
			p.pos = i
			return true
		}
	}
	p.pos = len(d)
	return false
}

// admin reads the name of an administrator command at i and returns where the next line begins.
func (p *Parser) admin(e *Entry, i int) (end int) {
	end = lineEnd(p.data, i)
	e.Admin = true
	e.SQL = statementText(p.data[i:end])
	return end
}

// statement finds the statement that begins at from. It returns where the entry ends, and why it cannot be used.
func (p *Parser) statement(e *Entry, from int) (end int, reason string) {
	d := p.data
	p.lex = lexer{}
	perhaps := -1 // the first place where it could have ended
	for i := from; ; {
		n := bytes.IndexByte(d[i:], '\n')
		if n < 0 {
			n = len(d)
		} else {
			n += i + 1
		}
		closed := semicolon(d, from, n-1)
		if n == len(d) {
			switch {
			case closed || d[n-1] == ';':
			case perhaps >= 0:
				n = perhaps
			case d[n-1] != '\n': // other tools leave the last ; out
				return n, reasonTornEnd
			}
			e.SQL = statementText(d[from:n])
			return n, ""
		}
		switch c := d[n]; {
		case c == '#' && !closed:
			if !begins(d, n) || !whole(d, n) {
				break
			}
			if perhaps >= 0 {
				e.SQL = statementText(d[from:perhaps])
				return perhaps, ""
			}
			return glued(d, from, n), reasonTorn
		case closed:
			if c == '#' && begins(d, n) {
				p.sure = true
				e.SQL = statementText(d[from:n])
				return n, ""
			}
			sure, maybe := p.over(from, n)
			if sure {
				e.SQL = statementText(d[from:n])
				return n, ""
			}
			if maybe && perhaps < 0 {
				perhaps = n
			}
		case c == 'T':
			if at := restart(d, from, n); at >= 0 {
				if perhaps >= 0 {
					e.SQL = statementText(d[from:perhaps])
					return perhaps, ""
				}
				return at, reasonTorn
			}
		}
		i = n
	}
}

// statementText takes one line break and one ; off the end.
func statementText(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
		if n := len(b); n > 0 && b[n-1] == '\r' {
			b = b[:n-1]
		}
	}
	if n := len(b); n > 0 && b[n-1] == ';' {
		b = b[:n-1]
	}
	return b
}
