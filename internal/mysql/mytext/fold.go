package mytext

import "bytes"

// fold makes a fingerprint of b[from:], which read or verbatim wrote, in its place. It appends to b what it needs for a
// while.
func fold(b []byte, from, met int) []byte {
	s := b[from:]
	s = numbers(s)
	s = squeeze(s)
	if bytes.HasPrefix(s, []byte("use ")) && len(s) > len("use ") && !bytes.ContainsAny(s[len("use "):], spaces) {
		return append(b[:from], "use ?"...)
	}
	b = append(b[:from], s...)
	b = lists(b, from)
	s = dropAsc(b[from:])
	s = limit(s)
	b = b[:from+len(s)]
	if met&repeat == 0 {
		b = unions(b, from)
	}
	s = b[from:]
	if bytes.IndexByte(s, '?') < 0 { // else keepsRows leaves it alone the next time
		s = firstRow(s)
	}
	return b[:from+len(s)]
}

// numbers replaces numbers, strings and the words true and false by ? in place; a letter of a literal's prefix or a dot
// in front goes.
func numbers(b []byte) []byte {
	out := b[:0]
	mark := func() {
		if n := len(out); n > 0 && (out[n-1] == 'x' || out[n-1] == 'b' || out[n-1] == '.') {
			out = out[:n-1]
		}
		out = append(out, '?')
	}
	for i := 0; i < len(b); {
		c := b[i]
		switch {
		case c == fresh:
			mark()
			i++
		case class[c]&cNumber != 0:
			end := numberEnd(b, i, false)
			mark()
			i = end
		case class[c]&cLetter != 0:
			j := i + 1
			for j < len(b) && class[b[j]]&cLetter != 0 {
				j++
			}
			// A digit before it was a number and is ? by now: see words for that.
			if (i == 0 || !isDigit(b[i-1])) && (j-i == 4 && hasFold(b[i:], "true") || j-i == 5 &&
				hasFold(b[i:], "false")) {
				mark()
			} else {
				out = append(out, b[i:j]...)
			}
			i = j
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// squeeze lower-cases in place, makes one space of all white space, removes it in front, and at the end only a line
// break.
func squeeze(b []byte) []byte {
	b = bytes.TrimLeft(b, spaces)
	b = bytes.TrimSuffix(b, []byte("\n"))
	b = lower(b)
	out := b[:0]
	for _, c := range b {
		if isBlank(c) {
			if n := len(out); n > 0 && out[n-1] == ' ' {
				continue
			}
			c = ' '
		}
		out = append(out, c)
	}
	return out
}

// lower lower-cases ASCII letters in place and leaves all other bytes.
func lower(b []byte) []byte {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}

// lists replaces the literals that are words, and folds the lists of IN and VALUES that hold nothing but marks: in(?+).
func lists(b []byte, from int) []byte {
	b = b[:from+len(words(b[from:]))]
	n := len(b)
	for i := from; i < n; {
		j := i
		for j < n && !isWord(b[j]) {
			j++
		}
		b = append(b, b[i:j]...)
		for i = j; j < n && isWord(b[j]); j++ {
		}
		w := b[i:j]
		b = append(b, w...)
		i = j
		switch string(w) {
		case "in", "value", "values":
			for g := group(b[i:n]); g > 0; g = group(b[i:n]) {
				if i == j {
					b = append(b, "(?+)"...)
				}
				i += g
			}
		}
	}
	return b[:from+copy(b[from:], b[n:])]
}

// words replaces the literals that are words, in place.
func words(b []byte) []byte {
	out := b[:0]
	for i := 0; i < len(b); {
		j := i
		for j < len(b) && isWord(b[j]) {
			j++
		}
		switch w := b[i:j]; string(w) {
		case "true", "false", "null":
			out = append(out, '?')
		default:
			out = append(out, w...)
		}
		if j < len(b) {
			out = append(out, b[j])
		}
		i = j + 1
	}
	return out
}

// group returns the length of one parenthesis of marks at the start of b, separators before it included; 0 for none.
func group(b []byte) int {
	i := 0
	for i < len(b) && (isSpace(b[i]) || b[i] == ',') {
		i++
	}
	if i == len(b) || b[i] != '(' {
		return 0
	}
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == ',', c == '?', isSpace(c):
		case c == ')':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// dropAsc removes what follows white space and begins with asc after the first ORDER BY, in place: it says what is so
// without it.
func dropAsc(b []byte) []byte {
	const by = "order by "
	at := wordIndex(b, by, 0)
	if at < 0 {
		return b
	}
	first := at + len(by)
	out := b[:first]
	for i, c := range b[first:] {
		out = append(out, c)
		if n := len(out) - len("asc"); c == 'c' && n > first+1 && string(out[n:]) == "asc" && isSpace(out[n-1]) {
			for n > first+1 && isSpace(out[n-1]) {
				n--
			}
			if next := first + i + 1; out[n-1] == '/' && next < len(b) && b[next] == '*' {
				continue // a comment would come about
			}
			out = out[:n]
		}
	}
	return out
}

// limit folds the forms of the first LIMIT, in place.
func limit(b []byte) []byte {
	const head = "limit ?"
	at := wordIndex(b, head, 0)
	if at < 0 {
		return b
	}
	at += len(head)
	rest := b[at:]
	for {
		n := len(rest)
		for _, more := range []string{", ?", ",?", " offset ?"} {
			rest = bytes.TrimPrefix(rest, []byte(more))
		}
		if len(rest) == n {
			return append(b[:at], rest...)
		}
	}
}

// unions folds branches of a UNION that repeat each other into one and a comment. Repeats of up to maxBranches branches
// are looked for, and no longer than in proportion to the text.
func unions(b []byte, from int) []byte {
	const (
		sel         = "select "
		union       = " union"
		all         = " all"
		maxBranches = 8
	)
	s := b[from:]
	if !bytes.Contains(s, []byte(union)) {
		return b
	}
	effort := 1<<20 + 64*len(s) // bytes that may be compared and passed over
	// follows returns the end of " union x" or " union all x" at i, and which it was.
	follows := func(i int, x []byte) (int, string) {
		for _, u := range []string{union + all, union} {
			n := i + len(u)
			if bytes.HasPrefix(s[i:], []byte(u)) && n < len(s) && s[n] == ' ' {
				effort -= len(x)
				if bytes.HasPrefix(s[n+1:], x) {
					return n + 1 + len(x), u
				}
			}
		}
		return i, ""
	}
	var out []byte
	done := 0
	at := 0
search:
	for effort > 0 {
		start := wordIndex(s, sel, at)
		if start < 0 {
			break
		}
		e := start + len(sel)
		for range maxBranches {
			n := bytes.Index(s[e:], []byte(union))
			if n < 0 {
				break
			}
			effort -= n
			e += n
			x := s[start:e]
			end, kind := follows(e, x)
			if kind == "" {
				e++
				continue
			}
			for k := kind; k != ""; end, k = follows(end, x) {
				kind = k
			}
			out = append(out, s[done:e]...)
			out = append(out, " /*repeat"...)
			out = append(out, kind...)
			out = append(out, "*/"...)
			done, at = end, end
			continue search
		}
		if !bytes.Contains(s[start:], []byte(union)) {
			break
		}
		at = start + len(sel)
	}
	if done == 0 {
		return b
	}
	out = append(out, s[done:]...)
	return append(b[:from], out...)
}

// firstRow cuts an INSERT of several rows after its first.
func firstRow(s []byte) []byte {
	into := insertInto(s)
	if into == 0 {
		return s
	}
	inRows := false
	for i, c := range s {
		switch {
		case c == '(' && !inRows:
			inRows = valuesBefore(s, i, into)
		case c == ')' && inRows && rowFollows(s, i+1):
			return s[:i+1]
		}
	}
	return s
}

// wordIndex finds s, which begins with a letter, in b at or after from, where no word runs into it; -1 for nowhere.
func wordIndex(b []byte, s string, from int) int {
	for {
		n := bytes.Index(b[from:], []byte(s))
		if n < 0 {
			return -1
		}
		if from+n == 0 || !isWord(b[from+n-1]) {
			return from + n
		}
		from += n + 1
	}
}
