package pgtext

import (
	"slices"
	"strings"
)

// piece is one token of a statement as its fingerprint has it.
type piece struct {
	kind  kind
	text  string
	space bool // white space or a comment stands before it
}

// mark is what stands for a literal.
const mark = "?"

func (p piece) is(text string) bool { return p.kind != quoted && p.text == text }

// marks reports whether it stands for a literal, or for a list of them in what is a fingerprint already.
func (p piece) marks() bool {
	return p.kind == text || p.kind == op && (p.text == mark || p.text == "?+")
}

// noOperand are the words before which no operand ends, so that a sign after them belongs to a number.
var noOperand = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`select where and or not in is between like ilike similar as on by having limit
		offset set values then else when case returning union all distinct using from any some filter over return`) {
		noOperand[w] = true
	}
}

// operand reports whether an operand ends with the last piece.
func operand(ps []piece) bool {
	if len(ps) == 0 {
		return false
	}
	switch p := ps[len(ps)-1]; p.kind {
	case word:
		return !noOperand[p.text]
	case quoted, text:
		return true
	default:
		return p.text == ")" || p.text == "]" || p.text == mark
	}
}

// pieces reads a statement.
func pieces(sql string) (ps []piece) {
	space := false
	for i := 0; i < len(sql); {
		if isSpace(sql[i]) {
			space = true
			i++
			continue
		}
		k, end := next(sql, i)
		p := piece{kind: k, text: sql[i:end], space: space}
		i = end
		if space = k == comment; space {
			continue
		}
		n := len(ps)
		switch k {
		case number:
			// pg_stat_statements takes the sign for a part of the constant
			if n > 0 && (ps[n-1].text == "-" || ps[n-1].text == "+") && ps[n-1].kind == op && !operand(ps[:n-1]) {
				p.space = ps[n-1].space
				ps = ps[:n-1]
			}
			p.kind, p.text = text, mark
		case text, marker:
			if k == text && n > 0 && ps[n-1].kind == text && ps[n-1].text == mark && p.space {
				continue // a string that goes on in the next line
			}
			p.kind, p.text = text, mark
		case word:
			p.text = lower(p.text)
			switch p.text {
			case "true", "false", "null":
				if n == 0 || !ps[n-1].is("is") && !ps[n-1].is("not") && !ps[n-1].is("set") {
					p.kind, p.text = text, mark
				}
			}
		case quoted, op, comment:
		}
		ps = append(ps, p)
	}
	for len(ps) > 0 && ps[len(ps)-1].is(";") {
		ps = ps[:len(ps)-1]
	}
	return ps
}

// lower lower-cases ASCII letters, as servers with a multi-byte encoding do with names.
func lower(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' }) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// Fingerprint returns the statement without its literals, see the package's documentation. It takes time linear in the
// length of sql, gives itself for a fingerprint, and shows no literal of a statement that is cut off in the middle.
func Fingerprint(sql string) string { return join(folded(pieces(sql))) }

// folded replaces the lists of nothing but marks behind IN, VALUES and ARRAY.
func folded(ps []piece) []piece {
	out := ps[:0:0]
	for i := 0; i < len(ps); i++ {
		out = append(out, ps[i])
		if ps[i].kind != word {
			continue
		}
		switch ps[i].text {
		case "in", "values":
			if n := list(ps[i+1:], "(", ")"); n > 0 {
				out = append(out, piece{kind: op, text: "(?+)"})
				for i += n; ps[i].is(")") && i+1 < len(ps) && ps[i+1].is(","); {
					if n = list(ps[i+2:], "(", ")"); n == 0 {
						break
					}
					i += 1 + n
				}
			}
		case "array":
			if n := list(ps[i+1:], "[", "]"); n > 0 {
				out = append(out, piece{kind: op, text: "[?+]"})
				i += n
			}
		}
	}
	return out
}

// list returns how many pieces the list of marks takes that ps begins with, its brackets included; 0 where it is none.
// A mark may have casts, and a row a DEFAULT.
func list(ps []piece, open, end string) int {
	if len(ps) < 3 || !ps[0].is(open) {
		return 0
	}
	for i := 1; i < len(ps); {
		if !ps[i].marks() && !ps[i].is("default") {
			return 0
		}
		for i++; i+1 < len(ps) && ps[i].is("::"); {
			i += 1 + typeName(ps[i+1:])
		}
		switch {
		case i >= len(ps):
			return 0
		case ps[i].is(end):
			return i + 1
		case !ps[i].is(","):
			return 0
		}
		i++
	}
	return 0
}

// typeName returns how many pieces the name of a type takes that ps begins with: pg_catalog.varchar(20)[].
func typeName(ps []piece) (n int) {
	name := func() bool { return n < len(ps) && (ps[n].kind == word || ps[n].kind == quoted) }
	if !name() {
		return 0
	}
	n++
	for n+1 < len(ps) && ps[n].is(".") {
		n += 2
	}
	for _, more := range [][]string{
		{"precision"}, {"varying"}, {"with", "time", "zone"}, {"without", "time", "zone"},
	} {
		if len(ps)-n >= len(more) && slices.EqualFunc(ps[n:n+len(more)], more, piece.is) {
			n += len(more)
		}
	}
	for n < len(ps) && (ps[n].is("(") || ps[n].is("[")) {
		m := n + 1
		for m < len(ps) && (ps[m].marks() || ps[m].is(",")) {
			m++
		}
		if m == len(ps) || !ps[m].is(")") && !ps[m].is("]") {
			return n
		}
		n = m + 1
	}
	return n
}

func join(ps []piece) string {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 && p.space {
			b.WriteByte(' ')
		}
		b.WriteString(p.text)
	}
	return b.String()
}
