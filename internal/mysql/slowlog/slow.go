package slowlog

import (
	"bytes"
	"strings"

	"github.com/dyno-perf/dyno/internal/attribute"
)

// slow reads on at i, behind the value of field at: the next word and its value, or the end of the header. It decides
// everything; what header does fast is only what slow would do.
func (p *Parser) slow(e *Entry, h *header, at field, i int) (to field, next int, done bool) {
	d, from := p.data, i
	lineStart := i == p.pos
	for {
		for i < len(d) && (d[i] == ' ' || d[i] == '\r' || d[i] == '\t') {
			i++
		}
		switch {
		case i >= len(d):
			h.ends = endData
			return at, i, true
		case d[i] == '\n':
			i++
			lineStart = true
			if i == len(d) {
				if h.ends = endData; semicolon(d, p.pos, i-1) {
					h.ends = endNext // a piece may end here where the log goes on
				}
				return at, i, true
			}
			if d[i] != '#' {
				return p.ownLine(h, at, from, i)
			}
			if begins(d, i) && p.another(h, i, true) {
				h.ends = endNext
				return at, i, true
			}
			if name := spaces(d, i+1); hasPrefix(d, name, adminPrefix) {
				h.ends = endAdmin
				return at, name + len(adminPrefix), true
			}
			if at == fieldUse || at == fieldStamp || warning(d, i) { // the statement's own comment, or words
				i = lineBreak(d, i)
			}
			continue
		case d[i] == '#':
			if !lineStart && begins(d, i) && p.another(h, i, false) {
				h.ends = endNext
				return at, i, true
			}
			if name := spaces(d, i+1); lineStart && hasPrefix(d, name, adminPrefix) {
				h.ends = endAdmin
				return at, name + len(adminPrefix), true
			}
			i++
			lineStart = false
			continue
		}
		break
	}

	if hasPrefix(d, i, noStatistics) {
		p.learn(at, fieldNone, false, d[from:i+len(noStatistics)])
		return fieldNone, i + len(noStatistics), false
	}
	end := i
	for end < len(d) && d[end] != ' ' && d[end] != '\n' && d[end] != '\t' && d[end] != '\r' &&
		d[end] != ':' && end-i < 64 {
		end++
	}
	if end == len(d) || d[end] != ':' || end == i || end+1 < len(d) && !wordEnds(d, end+1) { // no name
		return passed(at), wordEnd(d, end), false
	}
	name, v := d[i:end], end+1
	to = p.named(name, d, spaces(d, v))
	flag := false
	switch {
	case to == fieldSchema || to == fieldUser || to == fieldExplain:
		if v < len(d) && d[v] == ' ' {
			v++
		}
	default:
		v = spaces(d, v)
	}
	if to < firstFigure {
		next = p.read(e, h, to, v)
	} else {
		var x float64
		if x, next = number(d, v); next < 0 {
			x, next = yesNo(d, v)
			flag = next > 0
		}
		switch a := Attribute(to - firstFigure); {
		case next > 0:
			p.figure(a, x)
			if x > maxSec {
				h.judge(p, a)
			}
		case a == QueryTime:
			h.badTime = true
		}
	}
	h.user = h.user || to == fieldUser
	if next < 0 { // not what the name promises
		next = wordEnd(d, v)
		if next > v && d[next-1] == ':' { // there is no value, but another name
			next = v
		} else if n := bytes.Index(near(d, v), []byte("# ")); n > 0 && begins(d, v+n) {
			// torn, and another header glued on
			next = v + n
		}
		return passed(at), next, false
	}
	switch {
	case to == fieldTime && at != fieldStart:
	case to == fieldUser && at != fieldStart && at != fieldTime:
	default:
		p.learn(at, to, flag, d[from:v])
	}
	return to, next, false
}

// warning knows the lines of MariaDB's log_slow_verbosity=warnings: "# Warnings", then "# Warning 1365 Division by 0"
// and the like.
func warning(d []byte, i int) bool {
	for _, s := range []string{"# Warning ", "# Note ", "# Error "} {
		if hasPrefix(d, i, s) {
			return digitAt(d, i+len(s))
		}
	}
	return hasPrefix(d, i, "# Warnings") && wordEnds(d, i+len("# Warnings"))
}

// passed returns the field that stands for at behind text that was no field: what is learned at fieldStart begins
// entries.
func passed(at field) field { return max(at, fieldNone) }

// ownLine reads the lines that the server itself writes before the statement: use and SET. The line is at i.
func (p *Parser) ownLine(h *header, at field, from, i int) (to field, next int, done bool) {
	d := p.data
	switch {
	case at == fieldStamp:
	case at != fieldUse && hasPrefix(d, i, "use "):
		if end := p.use(h, i+4); end >= 0 {
			p.learn(at, fieldUse, false, d[from:i+4])
			return fieldUse, end, false
		}
	case hasPrefix(d, i, "SET timestamp="):
		v := i + len("SET timestamp=")
		if end := p.stamp(h, v); end >= 0 {
			p.learn(at, fieldStamp, false, d[from:v])
			return fieldStamp, end, false
		}
	case hasPrefix(d, i, "SET last_insert_id="), hasPrefix(d, i, "SET insert_id="):
		// "SET last_insert_id=1,insert_id=2,timestamp=3;"
		end := lineBreak(d, i)
		line := bytes.TrimSuffix(d[i:end], []byte("\r"))
		k := bytes.LastIndex(line, []byte("timestamp="))
		if k > 0 && line[k-1] == ',' && bytes.IndexByte(line, ';') == len(line)-1 {
			if end := p.stamp(h, i+k+len("timestamp=")); end >= 0 {
				return fieldStamp, end, false
			}
		}
		if k < 0 && bytes.IndexByte(line, ';') == len(line)-1 {
			return fieldStamp, i + len(line), false
		}
	}
	h.ends = endText
	return at, i, true
}

// use reads the name of a database and ; behind "use ". It returns where the line ends, -1 when this is not the
// server's own line: then it is the statement.
func (p *Parser) use(h *header, i int) int {
	d := p.data
	end := lineBreak(d, i)
	if end+1 >= len(d) || begins(d, end+1) {
		return -1
	}
	name := bytes.TrimRight(d[i:end], " \r")
	name, ok := bytes.CutSuffix(name, []byte(";"))
	if name = unquoted(bytes.TrimSpace(name)); !ok || len(name) == 0 {
		return -1
	}
	p.db, h.used = name, true
	return end
}

func unquoted(b []byte) []byte {
	if n := len(b); n >= 2 && b[0] == '`' && b[n-1] == '`' {
		return b[1 : n-1]
	}
	return b
}

// stamp reads seconds since 1970, perhaps with a fraction, and "; at the end of the line.
func (p *Parser) stamp(h *header, i int) int {
	d := p.data
	sec, end := natural(d, i)
	if end < 0 || sec > 1<<40 {
		return -1
	}
	micro := int64(sec) * 1e6
	if end < len(d) && d[end] == '.' {
		end++
		for unit := int64(1e5); digitAt(d, end); unit /= 10 {
			micro += unit * int64(d[end]-'0')
			end++
		}
	}
	if end >= len(d) || d[end] != ';' {
		return -1
	}
	end++
	if end < len(d) && d[end] != '\n' && d[end] != '\r' {
		return -1
	}
	h.stamp, h.stamped = micro, true
	return end
}

// another reports whether the line at i, which could begin an entry, begins another than the one whose header is being
// read. Mid-line text does when the torn header before it has such a line already.
func (p *Parser) another(h *header, i int, lineStart bool) bool {
	d := p.data
	if lineStart && semicolon(d, p.pos, i-1) {
		return true
	}
	switch d[i+2] {
	case 'U':
		return p.has(QueryTime) || !lineStart && h.user
	case 'Q':
		return lineStart && p.has(QueryTime)
	case 'T':
		return d[i+3] == 'i'
	}
	return false
}

// named returns the field of a name. A name met for the first time becomes an attribute when its value, at v, is a
// figure.
func (p *Parser) named(name, d []byte, v int) field {
	if f, ok := p.names[string(name)]; ok {
		return f
	}
	lower := strings.ToLower(string(name))
	if f, ok := p.names[lower]; ok {
		return f
	}
	unit := unitOf(lower)
	if _, end := number(d, v); end < 0 {
		if _, end := yesNo(d, v); end < 0 {
			return fieldWord
		}
		unit = attribute.Flag
	}
	if len(p.unknown) == maxUnknown || len(p.names) > 4*maxUnknown+int(knownAttributes) || !plain(lower) {
		return fieldWord
	}
	f := firstFigure + field(knownAttributes) + field(len(p.unknown))
	label := strings.ReplaceAll(strings.TrimPrefix(string(name), engine+"_"), "_", " ")
	p.unknown = append(p.unknown, Described(attribute.Info{
		Name: string(name), Key: lower, Label: label[:min(len(label), 12)], Unit: unit,
	}))
	p.names[lower] = f
	return f
}

// plain reports whether a name is made as servers make theirs.
func plain(s string) bool {
	for _, c := range []byte(s) {
		if c != '_' && !digit(c) && c-'a' > 'z'-'a' {
			return false
		}
	}
	return s != "" && !digit(s[0])
}

// unitOf guesses the unit of a figure from its name, as their authors write them.
func unitOf(lower string) attribute.Unit {
	for _, s := range []string{"_time", "_wait"} {
		if strings.HasSuffix(lower, s) {
			return attribute.Seconds
		}
	}
	for _, s := range []string{"bytes", "_size", "_mem", "mem_max", "space_used"} {
		if strings.Contains(lower, s) {
			return attribute.Bytes
		}
	}
	return attribute.Count
}
