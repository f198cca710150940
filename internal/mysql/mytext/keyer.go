package mytext

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A Keyer tells statements apart quickly, so that the fingerprint has to be made once for many statements only. Keys
// are the same in every Keyer and every process of one version of Dyno; they are no ids and belong in no file.
type Keyer struct{}

// Key returns a 128-bit hash of sql in a normal form that is cheap to make: without literals, lists of any length in
// one, a run of white space with a line break as one. Statements with equal keys have equal fingerprints (unless 128
// bits collide). Statements of one fingerprint may have several keys: of different case, spaces or comments. It is
// false for statements that take a closer look: ask for their fingerprint. It passes over sql once and allocates
// nothing.
func (*Keyer) Key(sql []byte) (key [2]uint64, ok bool) {
	if len(sql) == 0 {
		return key, false
	}
	from := 0 // up to where INSERT INTO goes
	switch sql[0] {
	case 'i', 'r', 'I', 'R':
		from = insertInto(sql)
	case 'a', 'p', 'A', 'P': // an administrator command, percona-toolkit: no statements
		if hasFold(sql, "administrator") || hasFold(sql, "percona") {
			return key, false
		}
	case 'c', 'C', ' ', '\t', '\n', '\r', '\f', '\v':
		if s := bytes.TrimLeft(sql, spaces); hasFold(s, "call") {
			return callKey(s)
		}
	}
	w := walk{
		h: hash{seedA, seedB}, s: sql, from: from, is: &usual, stop: pUsual | pNull,
		ticks: bytes.IndexByte(sql, '`') >= 0,
	}
	if from > 0 {
		w.is, w.stop = &inInsert, pUsual|pNull|pClose
	}
	if !w.run() {
		return key, false
	}
	return w.h.sum(), true
}

// callKey is of the name alone: that is all that a CALL's fingerprint has.
func callKey(s []byte) (key [2]uint64, ok bool) {
	name := called(s)
	if name == nil {
		return key, false
	}
	h := hash{seedB, seedA}
	for len(name) >= 8 {
		h.add(binary.LittleEndian.Uint64(name))
		name = name[8:]
	}
	x := uint64(atEnd) << 56
	for i, c := range name {
		x |= uint64(c) << (8 * i)
	}
	h.add(x)
	return h.sum(), true
}

// What stands in the normal form for what was read. They are below the bytes that stand for themselves, and not 0.
const (
	atLiteral = 1 + iota
	atList
	atBlanks
	atBreak // exactly one line break: at the end it makes a difference
	atComment
	atEnd
)

// What a byte may begin that does not stand for itself.
const (
	itself = iota
	aNumber
	aString
	aLine    // a comment of one line
	aSlash   // another comment
	aBreak   // white space that is no space
	anOpen   // parenthesis
	aClose   // parenthesis, where rows of an INSERT may end
	anOddity // what is left to Fingerprint
)

var usual = func() (t [256]uint8) {
	for c := range 256 {
		switch b := byte(c); {
		case class[c]&cNumber != 0:
			t[c] = aNumber
		case isQuote(b):
			t[c] = aString
		case b == '\t' || b == '\n' || b == '\r' || b == '\f':
			t[c] = aBreak
		case b < ' ' || b == '\\':
			t[c] = anOddity
		}
	}
	t['#'] = aLine
	t['/'] = aSlash
	t['('] = anOpen
	return t
}()

var inInsert = func() [256]uint8 {
	t := usual
	t[')'] = aClose
	return t
}()

// walk is one pass over a statement. Bytes that stand for themselves are collected from begin on and hashed in eights
// as soon as something else comes: the hash depends on them and on nothing in between.
type walk struct {
	h      hash
	s      []byte
	begin  int
	from   int         // of an INSERT: the index after INTO; else 0
	rows   int         // where its first row begins, 0 before that
	ticks  bool        // whether there are ` at all
	inName bool        // between two of them, at seen
	seen   int         // up to where they were counted
	is     *[256]uint8 // what bytes may begin
	stop   uint8       // where to look closer, as in pairs
}

// run hashes the statement. It is false for one that is left to Fingerprint.
func (w *walk) run() bool {
	s := w.s
	i := 0
	for {
		i = w.skip(i)
		if i == len(s) {
			w.emit(i, atEnd)
			return !w.named(i)
		}
		c := s[i]
		switch w.is[c] {
		case itself: // NULL
			if i > 0 && s[i-1] == '.' {
				return false
			}
			w.emit(i, atLiteral)
			i += len("null")
		case aNumber:
			if c == '-' && i+1 < len(s) && s[i+1] == '-' {
				end, ok := w.line(i)
				if !ok {
					return false
				}
				w.emit(i, atComment)
				i, w.seen = end, end
				break
			}
			w.emit(i, atLiteral)
			i = numberEnd(s, i, true)
		case aString:
			end, odd := stringEnd(s, i)
			if odd || w.named(i) || w.from > 0 && misleads(s[i:end], w.rows > 0) {
				return false
			}
			w.emit(i, atLiteral)
			i, w.seen = end, end
		case aLine:
			end, ok := w.line(i)
			if !ok {
				return false
			}
			w.emit(i, atComment)
			i, w.seen = end, end
		case aSlash:
			if i+1 == len(s) || s[i+1] != '*' {
				i++
				continue
			}
			end := w.comment(i)
			if end == 0 {
				return false
			}
			w.emit(i, atComment)
			i, w.seen = end, end
		case aBreak:
			end := i + 1
			for end < len(s) && isBlank(s[end]) {
				end++
			}
			if c == '\n' && end == i+1 {
				w.emit(i, atBreak)
			} else {
				w.emit(i, atBlanks)
			}
			i = end
		case anOpen:
			if w.from > 0 && w.named(i) {
				return false
			}
			end, done, ok := w.lists(i)
			if !ok {
				return false
			}
			if end == i {
				i++
				continue
			}
			w.emit(i, atList)
			if w.named(i) {
				return false
			}
			i, w.seen = end, end
			if done {
				w.begin = i
				w.emit(i, atEnd)
				return true
			}
		case aClose:
			if w.named(i) {
				return false
			}
			i++
			if w.rows > 0 && rowFollows(s, i) {
				if w.keeps(i) {
					return false
				}
				w.emit(i, atEnd)
				return true
			}
			continue
		default:
			return false
		}
		w.begin = i
	}
}

// skip returns the index of the first byte from i on that does not stand for itself, or begins NULL.
func (w *walk) skip(i int) int {
	s, is, stop := w.s, w.is, w.stop
	first := i
	for ; i+8 <= len(s); i += 8 {
		t := s[i : i+8 : i+8]
		m := pairs[binary.LittleEndian.Uint16(t)] | pairs[binary.LittleEndian.Uint16(t[2:])] |
			pairs[binary.LittleEndian.Uint16(t[4:])] | pairs[binary.LittleEndian.Uint16(t[6:])]
		if m&stop == 0 {
			continue
		}
		x := binary.LittleEndian.Uint64(t)
		at := i + bits.TrailingZeros64(uint64(is[byte(x)])|uint64(is[byte(x>>8)])<<8|uint64(is[byte(x>>16)])<<16|
			uint64(is[byte(x>>24)])<<24|
			uint64(is[byte(x>>32)])<<32|uint64(is[byte(x>>40)])<<40|uint64(is[byte(x>>48)])<<48|uint64(
			is[byte(x>>56)])<<56)>>3
		if m&pNull != 0 {
			for k := max(first, i-1); k < at; k++ {
				if s[k]|0x20 == 'n' && isNull(s, k) {
					return k
				}
			}
		}
		if at < i+8 {
			return at
		}
	}
	for i = max(first, i-1); i < len(s) && is[s[i]] == itself && (s[i]|0x20 != 'n' || !isNull(s, i)); {
		i++
	}
	return i
}

// pairs tells of two bytes, the first one low, whether there is something to look at.
var pairs = func() (t [1 << 16]uint8) {
	for i := range t {
		a, b := byte(i), byte(i>>8)
		if usual[a] != itself || usual[b] != itself {
			t[i] |= pUsual
		}
		if a == ')' || b == ')' {
			t[i] |= pClose
		}
		// NULL that begins at the first of two bytes, or before them.
		if x, y := a|0x20, b|0x20; x == 'n' && y == 'u' || x == 'u' && y == 'l' {
			t[i] |= pNull
		}
		if (class[a]|class[b])&cInString != 0 {
			t[i] |= pInString
		}
	}
	return t
}()

const (
	pUsual    = 1 << iota // a byte that does not stand for itself
	pClose                // a parenthesis closes
	pNull                 // perhaps a part of NULL
	pInString             // decides something within a string
)

// emit hashes what stood for itself up to end, and what comes there instead.
func (w *walk) emit(end int, what uint64) {
	s, i, h := w.s, w.begin, w.h
	for ; i+16 <= end; i += 16 {
		t := s[i : i+16 : i+16]
		h.addTwo(binary.LittleEndian.Uint64(t), binary.LittleEndian.Uint64(t[8:]))
	}
	if i+8 <= end {
		h.add(binary.LittleEndian.Uint64(s[i:]))
		i += 8
	}
	x := what << 56
	switch n := end - i; {
	case n == 0:
	case end >= 8:
		x |= binary.LittleEndian.Uint64(s[end-8:]) >> (64 - 8*n)
	default:
		for k := range n {
			x |= uint64(s[i+k]) << (8 * k)
		}
	}
	h.add(x)
	w.h = h
}

// named reports whether i is within a name in quotes.
func (w *walk) named(i int) bool {
	if w.ticks {
		w.inName = w.inName != (bytes.Count(w.s[w.seen:i], tick)&1 == 1)
		w.seen = i
	}
	return w.inName
}

var tick = []byte("`")

// line returns the end of the comment of one line that begins at i, and whether everybody takes it for one.
func (w *walk) line(i int) (end int, ok bool) {
	end = lineEnd(w.s, i)
	t := w.s[i:end]
	return end, !w.named(i) && !bytes.ContainsAny(t, "'\"") && !bytes.Contains(t, []byte("/*")) && !w.mayMislead(t)
}

// comment returns the end of the comment that begins at i, 0 when it is more than one.
func (w *walk) comment(i int) int {
	s := w.s
	if w.named(i) || i+2 < len(s) && s[i+2] == '!' {
		return 0
	}
	end := commentEnd(s, i)
	if end == 0 || end-i == len("/**/") {
		return 0
	}
	if i > 0 && !isBlank(s[i-1]) && end < len(s) && !isBlank(s[end]) {
		return 0 // what stands before and after it would become one
	}
	if t := s[i:end]; isToolkit(t) || isRepeat(t) || w.mayMislead(t) {
		return 0
	}
	return end
}

// mayMislead reports whether parentheses in a comment may count for those of the rows.
func (w *walk) mayMislead(t []byte) bool { return w.from > 0 && bytes.ContainsAny(t, "()") }

// keeps reports whether rows are not cut because the statement is a fingerprint; end is after the first row.
func (w *walk) keeps(end int) bool { return keepsRows(w.s, w.s[w.rows:end]) }

// lists returns the index after the lists of literals at i of an IN or VALUES, i when there are none, whether the
// statement ends with them, and whether all is well.
func (w *walk) lists(i int) (end int, done, ok bool) {
	s := w.s
	j := i
	for j > 0 && isBlank(s[j-1]) {
		j--
	}
	if j < 2 {
		return i, false, true
	}
	k := 0 // where the word begins
	switch s[j-1] | 0x20 {
	case 'n':
		k = j - len("in")
		if s[k]|0x20 != 'i' {
			return i, false, true
		}
	case 's':
		if k = j - len("values"); k < 0 || !hasFold(s[k:], "values") {
			return i, false, true
		}
		if w.from > 0 && w.rows == 0 && k > w.from {
			w.rows = i
		}
	case 'e':
		if k = j - len("value"); k < 0 || !hasFold(s[k:], "value") {
			return i, false, true
		}
	default:
		return i, false, true
	}
	if k > 0 && (isWord(s[k-1]) || s[k-1] == '/') {
		return i, false, true
	}
	end = i
	for open := i; ; {
		n, odd := w.list(open)
		if odd {
			return i, false, false
		}
		if n == 0 {
			return end, false, true
		}
		end = n
		if w.rows > 0 && rowFollows(s, end) {
			return end, true, !w.keeps(end)
		}
		for open = end; open < len(s) && (isBlank(s[open]) || s[open] == ','); {
			open++
		}
		if open == len(s) || s[open] != '(' {
			return end, false, true
		}
	}
}

// list returns the index after the parenthesis of nothing but literals that begins at i, 0 when it holds something
// else. It is odd when the whole statement is.
func (w *walk) list(i int) (end int, odd bool) {
	s := w.s
	for i++; i < len(s); {
		c := s[i]
		switch {
		case class[c]&cNumber != 0:
			if c == '-' && i+1 < len(s) && s[i+1] == '-' {
				return 0, false
			}
			i = numberEnd(s, i, true)
			continue
		case isQuote(c):
			end, odd := stringEnd(s, i)
			if odd || w.from > 0 && misleads(s[i:end], w.rows > 0) {
				return 0, true
			}
			i = end
			continue
		case c == ',' || isBlank(c) || c == '?':
		case c == ')':
			return i + 1, false
		case c == '.':
			if i+1 == len(s) || !isDigit(s[i+1]) {
				return 0, false
			}
		case c == 'x' || c == 'b':
			if i+1 == len(s) || !isQuote(s[i+1]) || isWord(s[i-1]) {
				return 0, false
			}
		case isNull(s, i):
			i += len("null")
			continue
		case (c|0x20 == 't' && hasWord(s, i, "true") || c|0x20 == 'f' && hasWord(s, i, "false")) && !isWord(s[i-1]):
			i += 4
			if c|0x20 == 'f' {
				i++
			}
			continue
		default:
			return 0, false
		}
		i++
	}
	return 0, false
}

// isNull reports whether the literal NULL stands at i.
func isNull(s []byte, i int) bool {
	return hasWord(s, i, "null") && (i == 0 || class[s[i-1]]&cLetter == 0)
}

// hash is the state of a hash of 64-bit words: two halves that mix in different ways.
type hash struct{ a, b uint64 }

const (
	seedA = 0x9e3779b97f4a7c15
	seedB = 0xc2b2ae3d27d4eb4f
	mulA  = 0xd6e8feb86659fd93
	mulB  = 0xff51afd7ed558ccd
)

func (h *hash) add(x uint64) {
	hi, lo := bits.Mul64(h.a^x, mulA)
	h.a = hi ^ lo
	h.b = bits.RotateLeft64((h.b^x)*mulB, 29)
}

func (h *hash) addTwo(x, y uint64) {
	hi, lo := bits.Mul64(h.a^x, mulA^y)
	h.a = hi ^ lo
	hi, lo = bits.Mul64(h.b^y, mulB^bits.RotateLeft64(x, 17))
	h.b = hi ^ lo ^ seedB
}

func (h *hash) sum() [2]uint64 {
	a, b := h.a, h.b
	a ^= b >> 32
	a *= mulB
	a ^= a >> 29
	b ^= a
	b *= mulA
	b ^= b >> 32
	return [2]uint64{a, b}
}
