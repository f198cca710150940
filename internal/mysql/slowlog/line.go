package slowlog

import "bytes"

const (
	linePrefixTime   = "# Time: "
	linePrefixUser   = "# User@Host: "
	linePrefixThread = "# Thread_id: "
	linePrefixSchema = "# Schema: "
	linePrefixQuery  = "# Query_time: "
	adminPrefix      = "administrator command: "
)

// lineEnd returns where the line after the one at i begins.
func lineEnd(d []byte, i int) int {
	if n := bytes.IndexByte(d[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(d)
}

func hasPrefix(d []byte, i int, s string) bool {
	return len(d)-i >= len(s) && string(d[i:i+len(s)]) == s
}

func digit(c byte) bool { return c-'0' < 10 }

// begins reports whether the line at i is one that begins an entry.
func begins(d []byte, i int) bool {
	if len(d)-i < 10 || d[i] != '#' || d[i+1] != ' ' {
		return false
	}
	switch d[i+2] {
	case 'U':
		return hasPrefix(d, i, linePrefixUser)
	case 'T':
		if hasPrefix(d, i, linePrefixTime) {
			i += len(linePrefixTime)
			return len(d)-i >= 4 && digit(d[i]) && digit(d[i+1]) && digit(d[i+2]) && digit(d[i+3])
		}
		return hasPrefix(d, i, linePrefixThread) && digitAt(d, i+len(linePrefixThread))
	case 'Q':
		return hasPrefix(d, i, linePrefixQuery) && digitAt(d, i+len(linePrefixQuery))
	case 'S':
		return hasPrefix(d, i, linePrefixSchema)
	}
	return false
}

func digitAt(d []byte, i int) bool { return i < len(d) && digit(d[i]) }

// semicolon reports whether the text up to the line break at nl ends in a ;.
func semicolon(d []byte, from, nl int) bool {
	nl--
	if nl >= from && d[nl] == '\r' {
		nl--
	}
	return nl >= from && d[nl] == ';'
}

// boundary reports whether an entry begins at i, the beginning of a line, when nothing is known of the text before but
// that it begins at from: a line with a ; before it, or all of a header.
func boundary(d []byte, from, i int) bool {
	return d[i] == '#' && begins(d, i) && (semicolon(d, from, i-1) || whole(d, i))
}

// whole reports whether the comment lines at i are a whole header: one of them tells times.
func whole(d []byte, i int) bool {
	for range 32 {
		if i >= len(d) || d[i] != '#' {
			return false
		}
		next := lineEnd(d, i)
		if line := d[i:next]; bytes.HasPrefix(line, []byte(linePrefixQuery)) {
			_, rest := number(line, len(linePrefixQuery))
			if rest < 0 {
				return false
			}
			rest = spaces(line, rest)
			return hasPrefix(line, rest, "Lock_time: ") && digitAt(line, rest+len("Lock_time: "))
		}
		if semicolon(d, i, next-1) {
			return false // what follows is an entry of its own
		}
		i = next
	}
	return false
}

// glued returns where the entry whose header's line at i was found begins: earlier, when its first line was written
// behind torn text that has no line break. The text before begins at from.
func glued(d []byte, from, i int) int {
	if i <= from || !begins(d, i) {
		return i
	}
	before := linePrefixUser
	switch d[i+2] {
	case 'U':
		before = linePrefixTime
	case 'T':
		if d[i+3] == 'i' { // Time is the first line
			return i
		}
	}
	line := max(bytes.LastIndexByte(d[:i-1], '\n')+1, from)
	if n := bytes.LastIndex(d[line:i], []byte(before)); n > 0 && begins(d, line+n) {
		return line + n
	}
	return i
}

// banner reports whether line is one of the three that a server writes when it opens its log.
func banner(line []byte) bool {
	if len(line) < 10 {
		return false
	}
	switch line[0] {
	case '#':
		return false
	case 'T':
		if bannerTail(line) {
			return true
		}
	}
	return bannerHead(line)
}

// bannerHead knows "/usr/sbin/mysqld, Version: 8.0.33 (…). started with:".
func bannerHead(line []byte) bool {
	line = bytes.TrimRight(line, " \r\n")
	return (bytes.HasSuffix(line, []byte("started with:")) || bytes.HasSuffix(line, []byte("embedded library"))) &&
		bytes.Contains(line, []byte(", Version: "))
}

// bannerTail knows "Tcp port: 3306 Unix socket: …" and "Time Id Command Argument", with tabs or spaces.
func bannerTail(line []byte) bool {
	for _, s := range []string{"Tcp port: ", "TCP Port: "} {
		if hasPrefix(line, 0, s) {
			return digitAt(line, len(s))
		}
	}
	f, ok := bytes.CutPrefix(line, []byte("Time"))
	f, ok2 := bytes.CutPrefix(bytes.TrimLeft(f, " \t"), []byte("Id Command"))
	return ok && ok2 && string(bytes.TrimSpace(f)) == "Argument"
}

// restart returns where the lines of a server that starts begin, when they follow the text at from and its second line
// is at i; else -1.
func restart(d []byte, from, i int) int {
	if !bannerTail(d[i:lineEnd(d, i)]) || i == from {
		return -1
	}
	line := max(bytes.LastIndexByte(d[:i-1], '\n')+1, from)
	if !bannerHead(d[line:i]) {
		return -1
	}
	// The server writes its name first: a path or a word. Text before it on the line is torn.
	if p := d[line : line+bytes.Index(d[line:i], []byte(", Version: "))]; line > from && bytes.IndexByte(p, ' ') < 0 {
		return line
	}
	return i
}

func blank(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

func spaces(d []byte, i int) int {
	for i < len(d) && (d[i] == ' ' || d[i] == '\t') {
		i++
	}
	return i
}
