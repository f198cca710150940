package slowlog

import (
	"bytes"
	"slices"
)

// GeneralParser reads general query logs of MySQL and MariaDB of any age. Such a log tells no times and no figures: an
// entry has QueryLength alone, its At is when the statement came in. A statement is an entry of the commands Query and
// Execute; every other command is an administrator command of that name. Connections are followed from Connect to Quit,
// so a log is read from its beginning by one goroutine.
type GeneralParser struct {
	data []byte
	base int64
	pos  int

	at       int64
	sessions map[uint64]Session
	turn     int
	names    [3][]byte // of the entry's session: user, host, database

	figures [1]Figure
	skips   []Skip
	days    days
}

// maxSessions bounds the connections that are remembered: those that ended without Quit would add up.
const maxSessions = 1 << 16

// NewGeneralParser returns a GeneralParser without a piece.
func NewGeneralParser() *GeneralParser { return &GeneralParser{} }

// Reset makes p read a piece of a log: one that begins and ends between entries (see CutGeneral) and lies at offset.
// carried is the State behind the piece before; p takes its sessions over.
func (p *GeneralParser) Reset(piece []byte, offset int64, carried State) {
	p.data, p.base, p.pos, p.at = piece, offset, 0, carried.At
	if p.sessions = carried.Sessions; p.sessions == nil {
		p.sessions = map[uint64]Session{}
	}
	p.skips = p.skips[:0]
}

// State returns what the next piece needs to know. Its sessions belong to p until they are Reset into the next: Clone
// it to keep it.
func (p *GeneralParser) State() State { return State{At: p.at, Sessions: p.sessions} }

// Skipped returns the parts of this piece that could not be read so far, in order. It is valid until Reset.
func (p *GeneralParser) Skipped() []Skip { return p.skips }

// CutGeneral is Cut for general logs.
func CutGeneral(piece []byte, atEnd bool) int {
	if atEnd {
		return len(piece)
	}
	// A line that is not whole yet may turn out to be none that begins an entry.
	for end := bytes.LastIndexByte(piece, '\n'); end >= 0; {
		n := bytes.LastIndexByte(piece[:end], '\n')
		if n < 0 {
			return 0
		}
		if generalLine(piece[n+1 : end+1]) {
			return n + 1
		}
		end = n
	}
	return 0
}

func (p *GeneralParser) skip(from, to int, reason string) {
	p.skips = append(p.skips, Skip{Offset: p.base + int64(from), Length: int64(to - from), Reason: reason})
}

// Next reads the next whole entry into e and reports whether there was one.
func (p *GeneralParser) Next(e *Entry) bool {
	d := p.data
	for p.pos < len(d) {
		start := p.pos
		var g generalHead
		if !g.read(&p.days, d[start:lineEnd(d, start)]) {
			next := lineEnd(d, start)
			if line := d[start:next]; !banner(line) && !blank(line) {
				for next < len(d) && !generalLine(d[next:]) && !banner(d[next:lineEnd(d, next)]) {
					next = lineEnd(d, next)
				}
				p.skip(start, next, reasonText)
			}
			p.pos = next
			continue
		}
		*e = Entry{Thread: g.thread, HasID: true, Rate: 1, At: g.at, AtBegin: true}
		if e.At == 0 { // of the same second as the one before
			e.At, e.InheritedAt = p.at, p.at != 0
		}
		p.at = e.At
		statement := g.command == "Query" || g.command == "Execute"
		end := lineEnd(d, start)
		for statement && end < len(d) && !generalLine(d[end:]) && !banner(d[end:lineEnd(d, end)]) {
			end = lineEnd(d, end)
		}
		p.pos = end
		if d[end-1] != '\n' {
			p.skip(start, end, reasonTornEnd)
			return false
		}
		argument := bytes.TrimSuffix(bytes.TrimSuffix(d[start+g.argument:end], []byte("\n")), []byte("\r"))
		p.session(e, g, argument)
		e.SQL = argument
		length := len(argument)
		if !statement {
			e.Admin = true
			e.SQL = d[start+g.name : start+g.name+len(g.command)]
			length = len(adminPrefix) + len(e.SQL)
		}
		p.figures[0] = Figure{QueryLength, float64(length)}
		e.Figures = p.figures[:]
		e.Offset, e.Length = p.base+int64(start), int64(end-start)
		return true
	}
	return false
}

// session notes what a command changes about its connection, and fills in what the entry has from it.
func (p *GeneralParser) session(e *Entry, g generalHead, argument []byte) {
	s, known := p.sessions[g.thread]
	own := false // the entry itself names its database
	switch g.command {
	case "Connect", "Change user":
		if bytes.HasPrefix(argument, []byte("Access denied")) {
			e.Errno = 1045
			break
		}
		// "root@localhost on shop using Socket"
		account, rest, _ := bytes.Cut(argument, []byte(" on "))
		at := bytes.LastIndexByte(account, '@')
		if at < 0 {
			break
		}
		s = Session{User: string(account[:at]), Host: string(bytes.TrimSpace(account[at+1:]))}
		rest, _, _ = bytes.Cut(rest, []byte(" using "))
		s.DB = string(bytes.TrimSpace(rest))
		known, own = true, true
	case "Init DB":
		s.DB, known, own = string(bytes.TrimSpace(argument)), true, true
	}
	p.names[0] = append(p.names[0][:0], s.User...)
	p.names[1] = append(p.names[1][:0], s.Host...)
	p.names[2] = append(p.names[2][:0], s.DB...)
	e.User, e.Host, e.DB = p.names[0], p.names[1], p.names[2]
	e.InheritedDB = !own && len(e.DB) > 0
	p.turn++
	switch {
	case g.command == "Quit":
		delete(p.sessions, g.thread)
	case known:
		s.used = p.turn
		p.sessions[g.thread] = s
		if len(p.sessions) > maxSessions {
			p.sweep()
		}
	}
}

// sweep forgets the half of the sessions that were silent longest.
func (p *GeneralParser) sweep() {
	turns := make([]int, 0, len(p.sessions))
	for _, s := range p.sessions {
		turns = append(turns, s.used)
	}
	slices.Sort(turns)
	for id, s := range p.sessions {
		if s.used < turns[len(turns)/2] {
			delete(p.sessions, id)
		}
	}
}

// generalHead is the beginning of an entry's line: "2026-11-21T07:33:34.123456Z\t 8 Query\t", or "261121 7:33:34\t" in
// front, or two tabs when the second is that of the entry before.
type generalHead struct {
	at       int64
	thread   uint64
	command  string
	name     int // where the command begins
	argument int
}

func (g *generalHead) read(days *days, line []byte) bool {
	if len(line) < 6 || line[0] != '\t' && !digit(line[0]) {
		return false
	}
	i := 0
	if line[0] != '\t' {
		// A time ends at the tab.
		tab := bytes.IndexByte(line[:min(len(line), 40)], '\t')
		if tab < 0 {
			return false
		}
		t, _, end := days.time(line, 0)
		if end != tab {
			return false
		}
		g.at, i = t, tab
	}
	i = spaces(line, i)
	id, end := natural(line, i)
	if end < 0 || end >= len(line) || line[end] != ' ' {
		return false
	}
	g.thread, g.name = id, end+1
	for _, c := range commands {
		if !hasPrefix(line, g.name, c) {
			continue
		}
		// Old servers fill the command up with spaces, newer ones end it with a tab.
		i = g.name + len(c)
		switch {
		case i == len(line) || line[i] == '\n' || line[i] == '\r':
			g.command, g.argument = c, i
			return true
		case line[i] == '\t':
			g.command, g.argument = c, i+1
			return true
		case line[i] == ' ' && i-g.name < 12:
			g.command, g.argument = c, spaces(line, i)
			return true
		}
	}
	return false
}

// generalLine reports whether a line begins an entry of a general log.
func generalLine(line []byte) bool {
	if len(line) == 0 || line[0] != '\t' && !digit(line[0]) {
		return false
	}
	var g generalHead
	var d days
	return g.read(&d, line[:lineBreak(line, 0)])
}

// commands are the names that servers give the commands of the protocol; one that begins like another stands before it.
var commands = []string{
	"Query", "Execute", "Prepare", "Close stmt", "Quit", "Connect Out", "Connect", "Init DB", "Reset stmt", "Ping",
	"Statistics", "Field List",
	"Long Data", "Fetch", "Change user", "Reset Connection", "Reset connection", "Set option", "Binlog Dump GTID",
	"Binlog Dump", "Register Slave",
	"Register Replica", "Table Dump", "Create DB", "Drop DB", "Refresh", "Shutdown", "Processlist", "Kill",
	"Debug", "Sleep", "Time",
	"Delayed insert", "Daemon", "Clone", "Error", "Bulk_execute", "Com_multi", "Slave_worker", "Slave_IO",
	"Slave_SQL", "Unimpl get tid",
}
