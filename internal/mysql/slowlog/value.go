package slowlog

import "bytes"

// read reads the value of a field that is no figure. It returns where the value ends, -1 when it is none.
func (p *Parser) read(e *Entry, h *header, f field, v int) int {
	d := p.data
	switch f {
	case fieldNone:
		if v < len(d) && d[v] != '\n' && d[v] != '\r' {
			return -1
		}
		return v
	case fieldTime:
		t, zoned, end := p.days.time(d, v)
		if end < 0 {
			return -1
		}
		h.logged, h.zoned, h.dated = t, zoned, true
		return end
	case fieldUser:
		return account(e, d, v)
	case fieldThread:
		id, end := natural(d, v)
		if end < 0 || !wordEnds(d, end) {
			return -1
		}
		e.Thread, e.HasID = id, true
		return end
	case fieldSchema:
		end := schemaEnd(d, v)
		e.DB, h.schema = d[v:end], true
		return end
	case fieldErrno, fieldKilled, fieldRate:
		n, end := natural(d, v)
		if end < 0 || !wordEnds(d, end) || n >= 1<<32 {
			return -1
		}
		switch f {
		case fieldErrno:
			e.Errno = uint32(n)
		case fieldKilled:
			e.Killed = uint32(n)
		default:
			e.Rate = max(uint32(n), 1)
		}
		return end
	case fieldWord:
		end := wordEnd(d, v)
		if end > v && d[end-1] == ':' { // no value: the next name
			return v
		}
		return end
	case fieldExplain:
		if e.Plan == nil {
			h.plan = p.pos + bytes.LastIndexByte(d[p.pos:v], '#')
		}
		end := lineBreak(d, v)
		e.Plan = d[h.plan:end]
		return end
	case fieldUse:
		return p.use(h, v)
	case fieldStamp:
		return p.stamp(h, v)
	default:
		return -1
	}
}

func yesNo(d []byte, i int) (float64, int) {
	switch {
	case hasPrefix(d, i, "No") && wordEnds(d, i+2):
		return 0, i + 2
	case hasPrefix(d, i, "Yes") && wordEnds(d, i+3):
		return 1, i + 3
	}
	return 0, -1
}

// lineBreak returns where the line at i ends: its \n, or the end of the data.
func lineBreak(d []byte, i int) int {
	if n := bytes.IndexByte(d[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(d)
}

// near returns the rest of the line at i, but no more than a word of a header and what follows it can be long.
func near(d []byte, i int) []byte {
	b := d[i:min(len(d), i+maxAccount)]
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		b = b[:n]
	}
	return b
}

func wordEnd(d []byte, i int) int {
	for !wordEnds(d, i) {
		i++
	}
	return i
}
