package slowlog

import "bytes"

// maxAccount is longer than two names of 80 bytes, a host of 255 and an address can be. Nobody looks further, so that a
// line of rubbish costs no more than any other.
const maxAccount = 640

// account reads "root[root] @ localhost [127.0.0.1] Id: 5" at v and returns where it ended, -1 when it is none. Where
// there is no name before the brackets the user is "[SQL_SLAVE]", with them, as pt-query-digest has it.
func account(e *Entry, d []byte, v int) int {
	if i := ordinary(e, d[v:min(len(d), v+maxAccount)]); i > 0 {
		return afterAccount(e, d, v+i)
	}
	line := near(d, v)
	end := v + len(line)
	open := bytes.IndexByte(line, '[')
	if open < 0 {
		return -1
	}
	shut := bytes.IndexByte(line[open:], ']')
	if shut < 0 {
		return -1
	}
	shut += open
	e.User = line[:open]
	if open == 0 && shut > 1 {
		e.User = line[:shut+1]
	}
	host := shut + len("] @ ")
	if !hasPrefix(line, shut, "] @ ") { // a name with brackets
		host = bytes.LastIndex(line, []byte(" @ ")) + len(" @ ")
		if host < len(" @ ") {
			return -1
		}
	}
	line = line[host:]
	v += host
	if open = bytes.IndexByte(line, '['); open < 0 {
		e.Host = bytes.TrimSpace(line)
		return end
	}
	e.Host = bytes.TrimRight(line[:open], " ")
	if shut = bytes.IndexByte(line[open:], ']'); shut < 0 {
		return end
	}
	shut += open
	if len(e.Host) == 0 {
		e.Host = line[open+1 : shut]
	}
	return afterAccount(e, d, v+shut+1)
}

// ordinary reads "name[name] @ host [ip]", the name and the host not empty, and returns the length of that; 0 when line
// begins otherwise.
func ordinary(e *Entry, line []byte) int {
	open := 0
	for open < len(line) && line[open] != '[' && line[open] != '\n' {
		open++
	}
	host := 2*open + len("[] @ ")
	if open == 0 || host >= len(line) || string(line[open+1:2*open+1]) != string(line[:open]) ||
		string(line[2*open+1:host]) != "] @ " {
		return 0
	}
	i := host
	for i < len(line) && line[i] > ' ' && line[i] != '[' {
		i++
	}
	if i == host || i+1 >= len(line) || line[i] != ' ' || line[i+1] != '[' {
		return 0
	}
	end := i + 2
	for end < len(line) && line[end] != ']' && line[end] != '\n' {
		end++
	}
	if end == len(line) || line[end] != ']' {
		return 0
	}
	e.User, e.Host = line[:open], line[host:i]
	return end + 1
}

// afterAccount reads the connection's id, when there is one at i.
func afterAccount(e *Entry, d []byte, i int) int {
	before := i
	i = spaces(d, i)
	if !hasPrefix(d, i, "Id:") {
		return before
	}
	i = spaces(d, i+len("Id:"))
	id, after := natural(d, i)
	if after < 0 || !wordEnds(d, after) {
		return lineBreak(d, i)
	}
	e.Thread, e.HasID = id, true
	return after
}

// schemaEnd returns where the name of a database that begins at v ends: at the end of the line or before the next word
// of the header. It may have single spaces in it, and be empty.
func schemaEnd(d []byte, v int) int {
	for i := v; ; i++ {
		if i >= len(d) || d[i] == '\n' || d[i] == '\r' {
			return i
		}
		if d[i] != ' ' && i > v {
			continue
		}
		word := i
		if d[i] == ' ' {
			word++
			if wordEnds(d, word) {
				return i
			}
		}
		if end := wordEnd(d, word); d[end-1] == ':' && end < len(d) && d[end] == ' ' {
			return i
		}
	}
}
