package mytext

import "bytes"

// verbatim appends s to dst without comments and with fresh for strings, as pt-query-digest's expressions take them one
// after the other, whatever the server would see. It reports false where a part of a string or a comment would show.
func verbatim(dst, s []byte) (out []byte, met int, ok bool) {
	secret := secrets(s)
	for i := 0; ; i++ {
		n := bytes.Index(s[i:], []byte("*/"))
		if n < 0 {
			break
		}
		if i += n; isToolkit(s[max(0, i-200) : i+2]) {
			return dst, toolkit, true
		}
	}
	if row := firstRow(s); len(row) < len(s) && !keepsRows(s, row[bytes.IndexByte(row, '('):]) {
		s, secret = row, secret[:len(row)]
	}
	t := text{bytes.Clone(s), secret}
	t.comments()
	t.lines()
	t.escapes()
	t.strings('"')
	t.strings('\'')
	if bytes.IndexByte(t.hidden, 1) >= 0 {
		return dst, 0, false
	}
	return append(dst, t.b...), 0, true
}

// text is a statement on its way, and which of its bytes must not show.
type text struct{ b, hidden []byte }

// cut takes the parts of t that are left when remove says how long the part to leave out at i is and whether a mark
// takes its place. Where nothing is to be removed, it says how many bytes to keep.
func (t *text) cut(remove func(i int) (drop, keep int, mark bool)) {
	n := 0
	for i := 0; i < len(t.b); {
		drop, keep, mark := remove(i)
		if mark {
			t.b[n], t.hidden[n] = fresh, 0
			n++
		}
		i += drop
		copy(t.b[n:], t.b[i:i+keep])
		copy(t.hidden[n:], t.hidden[i:i+keep])
		n += keep
		i += keep
	}
	t.b, t.hidden = t.b[:n], t.hidden[:n]
}

// comments removes /* … */ unless a ! follows at once. What begins /**/ ends at the next end.
func (t *text) comments() {
	b := t.b
	if !bytes.Contains(b, []byte("/*")) {
		return
	}
	t.cut(func(i int) (int, int, bool) {
		n := bytes.Index(b[i:], []byte("/*"))
		if n < 0 {
			return 0, len(b) - i, false
		}
		if n > 0 {
			return 0, n, false
		}
		if i+3 > len(b) || b[i+2] == '!' {
			return 0, 2, false
		}
		end := bytes.Index(b[i+3:], []byte("*/"))
		if end < 0 {
			return 0, len(b) - i, false
		}
		return end + 5, 0, false
	})
}

// lines removes comments of one line that hold no quote.
func (t *text) lines() {
	b := t.b
	if bytes.IndexByte(b, '#') < 0 && !bytes.Contains(b, []byte("--")) {
		return
	}
	t.cut(func(i int) (int, int, bool) {
		if b[i] != '#' && (b[i] != '-' || i+1 == len(b) || b[i+1] != '-') {
			return 0, 1, false
		}
		n := bytes.IndexAny(b[i:], "'\"\r\n")
		if n < 0 {
			return len(b) - i, 0, false
		}
		if isQuote(b[i+n]) {
			return 0, n, false
		}
		return n, 0, false
	})
}

// escapes removes quotes behind a backslash, with it.
func (t *text) escapes() {
	b := t.b
	if bytes.IndexByte(b, '\\') < 0 {
		return
	}
	t.cut(func(i int) (int, int, bool) {
		if b[i] == '\\' && i+1 < len(b) && isQuote(b[i+1]) {
			return 2, 0, false
		}
		return 0, 1, false
	})
}

// strings puts a mark for what stands between two quotes.
func (t *text) strings(quote byte) {
	b := t.b
	t.cut(func(i int) (int, int, bool) {
		n := bytes.IndexByte(b[i:], quote)
		if n < 0 {
			return 0, len(b) - i, false
		}
		if n > 0 {
			return 0, n, false
		}
		if n = bytes.IndexByte(b[i+1:], quote); n < 0 {
			return 0, len(b) - i, false
		}
		return n + 2, 0, true
	})
}

// secrets tells for each byte of s whether it belongs to a string or a comment, as the server reads it.
func secrets(s []byte) []byte {
	h := make([]byte, len(s))
	hide := func(from, to int) {
		for i := from; i < to; i++ {
			h[i] = 1
		}
	}
	for i := 0; i < len(s); {
		end := i + 1
		switch {
		case bytes.HasPrefix(s[i:], []byte("/*!")): // what servers execute shows
		case aside(s, i):
			end = lineEnd(s, i)
			hide(i, end)
		default:
			var kind Kind
			kind, end = Next(s, i)
			switch c := s[i]; {
			case c == '`' && kind == Open: // stands alone
				end = i + 1
			case isQuote(c), c == '/' && kind != Sign && end-i > len("/**/") && !isRepeat(s[i:end]):
				hide(i, end)
			}
		}
		i = end
	}
	return h
}
