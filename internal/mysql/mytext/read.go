package mytext

import "bytes"

// What read met.
const (
	odd     = 1 << iota // pt-query-digest would see other strings or comments
	toolkit             // a comment that Percona's tools put into their own statements
	repeat              // the mark that a fingerprint carries for repeated UNION branches
)

// read appends s to dst without its comments, with fresh for its strings, and without the rows of an INSERT after the
// first.
func read(dst, s []byte) (out []byte, met int) {
	out = dst
	var (
		into   = insertInto(s)
		inRows = false
		values = 0 // where the first row begins
		done   = 0 // up to where s was taken
		eol    = 0 // of the line of the last comment of one line
		quote  = 0 // the last one on it
	)
	// hide checks what pt-query-digest does not see as a whole, however it reads it.
	hide := func(t []byte) {
		if into > 0 && misleads(t, inRows) {
			met |= odd
		}
	}
	// joins checks what stands before and after a comment.
	joins := func(i, end int) {
		if i == 0 || end == len(s) {
			return
		}
		switch a, b := s[i-1], s[end]; {
		case a == '/' && b == '*', a == '*' && b == '/', a == '-' && b == '-', a == '\\' && isQuote(b):
			met |= odd // they would get a meaning
		case a == '/' && b == '/': // so would what comes after another comment
			met |= odd
		}
	}
	for i := 0; i < len(s); {
		c := s[i]
		end := i + 1
		switch {
		case isWord(c) || c == ' ':
			i++
			continue
		case c == '`':
			// One that nothing closes stands alone.
			if n := bytes.IndexByte(s[end:], '`'); n >= 0 {
				name := s[i : end+n+1]
				if bytes.ContainsAny(name, "'\"#") || bytes.Contains(name, []byte("--")) ||
					bytes.Contains(name, []byte("/*")) {
					met |= odd
				}
				hide(name)
				end += n + 1
			}
			i = end
			continue
		case isQuote(c):
			var o bool
			end, o = stringEnd(s, i)
			if o {
				met |= odd
			}
			hide(s[i:end])
			out = append(append(out, s[done:i]...), fresh)
		case c == '#', c == '-' && end < len(s) && s[end] == '-':
			if i >= eol {
				eol = lineEnd(s, i)
				quote = i + bytes.LastIndexAny(s[i:eol], "'\"")
			}
			if quote > i {
				if c == '-' && i+2 < len(s) && !isSpace(s[i+2]) {
					i++ // two signs: neither the server nor pt-query-digest takes them for a comment
					continue
				}
				met |= odd
			}
			end = eol
			if bytes.Contains(s[i:end], []byte("/*")) {
				met |= odd
			}
			hide(s[i:end])
			out = append(out, s[done:i]...)
		case c == '/' && end < len(s) && s[end] == '*' && (end+1 == len(s) || s[end+1] != '!'):
			if end = commentEnd(s, i); end == 0 {
				met |= odd
				end = len(s)
			}
			t := s[i:end]
			if isRepeat(t) {
				met |= repeat
				i = end
				continue
			}
			switch {
			case isToolkit(t):
				met |= toolkit
			case len(t) == len("/**/"):
				met |= odd
			}
			hide(t)
			joins(i, end)
			out = append(out, s[done:i]...)
		case c == '\\':
			if end < len(s) && isQuote(s[end]) {
				met |= odd
			}
			i++
			continue
		case c == '(' && into > 0 && !inRows:
			if inRows = valuesBefore(s, i, into); inRows {
				values = i
			}
			i++
			continue
		case c == ')' && inRows && rowFollows(s, end):
			if !keepsRows(s, s[values:end]) {
				return append(out, s[done:end]...), met
			}
			into, inRows = 0, false
			i++
			continue
		default:
			i++
			continue
		}
		i, done = end, end
	}
	return append(out, s[done:]...), met
}
