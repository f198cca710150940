package slowlog

import (
	"bytes"
	"maps"
)

// State is what an entry can depend on that stands before its piece. The zero State is that of the beginning of a log.
type State struct {
	At int64  `json:"at,omitzero"` // of the last entry, as Entry.At
	DB string `json:"db,omitzero"` // slow log: of the last "use"
	// Sessions are the general log's connections by their id.
	Sessions map[uint64]Session `json:"sessions,omitempty"`
}

// Session is who a connection of a general log belongs to.
type Session struct {
	User string `json:"user,omitzero"`
	Host string `json:"host,omitzero"`
	DB   string `json:"db,omitzero"`

	used int // turn of its last entry
}

// Clone returns a State that shares nothing with s.
func (s State) Clone() State {
	s.Sessions = maps.Clone(s.Sessions)
	return s
}

// Then returns the state behind a piece whose own state, read from the zero State, is later.
func (s State) Then(later State) State {
	if later.At != 0 {
		s.At = later.At
	}
	if later.DB != "" {
		s.DB = later.DB
	}
	return s
}

// After returns the state behind a piece of a slow log: what a Parser that was Reset to s has when it is through, for a
// fraction of the work. So workers can begin with any piece.
func (s State) After(piece []byte) State {
	p := NewParser()
	// The time is told by nearly every entry: the last few are enough.
	for n := 4 << 10; ; n *= 16 {
		from := 0
		if n < len(piece) {
			from = CutFirst(piece[len(piece)-n:])
			if from < 0 {
				continue
			}
			from += len(piece) - n
		}
		p.drain(piece[from:])
		if p.at != 0 {
			s.At = p.at
			break
		}
		if from == 0 {
			break
		}
	}
	// The database is told seldom, and a statement may hold a line like that.
	for end := len(piece); ; {
		use := lastLine(piece[:end], "use ")
		if use < 0 {
			return s
		}
		from := 0
		for n := 4 << 10; n < use; n *= 16 {
			if k := CutFirst(piece[use-n : use]); k >= 0 {
				from = use - n + k
				break
			}
		}
		to := len(piece)
		if k := CutFirst(piece[use:]); k >= 0 {
			to = use + k
		}
		p.drain(piece[from:to])
		if len(p.db) > 0 {
			s.DB = string(p.db)
			return s
		}
		if end = from; from == 0 {
			return s
		}
	}
}

// drain reads all of a piece for its state.
func (p *Parser) drain(piece []byte) {
	p.Reset(piece, 0, State{})
	for e := (Entry{}); p.Next(&e); {
	}
}

// lastLine returns where the last line of d that begins with s begins, but for the first line; -1 when there is none.
// Searching forward in blocks is many times faster than searching backward.
func lastLine(d []byte, s string) int {
	line := []byte("\n" + s)
	for end := len(d); end > 0; {
		from := max(0, end-64<<10)
		found := -1
		for i := from; ; {
			n := bytes.Index(d[i:min(end+len(line)-1, len(d))], line)
			if n < 0 {
				break
			}
			found = i + n + 1
			i = found
		}
		if found >= 0 {
			return found
		}
		end = from
	}
	return -1
}
