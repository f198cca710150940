package sqlshape

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/mysql/mytext"
)

// restore turns a fingerprint or a digest text into what a parser takes: IN and VALUES lists get one member back, IS ?
// its NULL, a ? between two operands is an operator again, names with ? are quoted.
func restore(sql string) string {
	s := strings.NewReplacer("(?+)", "(?)", "/* , ... */", "", "(...)", "(?)", "?, ...", "?, ?", "...", "").Replace(sql)
	var b strings.Builder
	b.Grow(len(s) + 16)
	operand := false      // what came before is an operand
	before, was := "", "" // the last two words, lower-case
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || '\t' <= c && c <= '\r':
			b.WriteByte(' ')
			i++
			continue
		case c == '`' || c == '\'' || c == '"':
			_, end := mytext.Next(s, i)
			b.WriteString(s[i:end])
			i = end
			operand, before, was = true, "", ""
			continue
		case strings.HasPrefix(s[i:], "/*"):
			_, i = mytext.Next(s, i)
			continue
		case word(c):
			j := i
			for j < len(s) && (word(s[j]) || s[j] == '?') {
				j++
			}
			w := s[i:j]
			i = j
			name := strings.TrimRight(w, "?")
			marks := len(w) - len(name)
			low := strings.ToLower(name)
			switch {
			case marks == 0:
				switch {
				case strings.HasPrefix(low, "sql_tsi_"):
					w = w[len("sql_tsi_"):]
				case !operand && next(s[j:], '?') && (low[0] == '_' || low == "date" ||
					low == "time" || low == "timestamp"):
					continue // the type or charset of the literal that follows
				}
				b.WriteString(w)
				operand, before, was = !keyword[low], was, low
			case marks > 0 && keyword[low]: // limit?
				b.WriteString(name)
				b.WriteString(" ?")
				operand, before, was = true, "", ""
			case marks > 1 && !strings.Contains(name, "?"): // k+1
				b.WriteString(name)
				b.WriteString(" + ?")
				operand, before, was = true, "", ""
			default:
				b.WriteByte('`')
				b.WriteString(w)
				b.WriteByte('`')
				operand, before, was = true, "", ""
			}
			continue
		case c == '?':
			j := i
			for j < len(s) && s[j] == '?' {
				j++
			}
			end := j
			for end < len(s) && word(s[end]) {
				end++
			}
			switch {
			case was == "is" || was == "not" && before == "is":
				b.WriteString("NULL")
				operand = true
			case operand && end > j: // -k after an operand: an operator and a name
				b.WriteString(" + ")
				operand = false
			case operand:
				if starts(s[j:]) {
					b.WriteString(" + ")
					operand = false
				}
			case end > j && !keyword[strings.ToLower(s[j:end])]: // -k, or a name that begins with digits
				operand = false
			default:
				b.WriteByte('?')
				operand = true
			}
			i, before, was = j, "", ""
			continue
		}
		b.WriteByte(c)
		operand, before, was = c == ')', "", ""
		i++
	}
	return b.String()
}

// starts reports whether an operand begins s: then a mark before it was an operator.
func starts(s string) bool {
	s = strings.TrimLeft(s, " ")
	if s == "" {
		return false
	}
	if !word(s[0]) {
		return s[0] == '?' || s[0] == '(' || s[0] == '`'
	}
	i := 0
	for i < len(s) && word(s[i]) {
		i++
	}
	w := strings.ToLower(s[:i])
	return !keyword[w] || w == "interval" || w == "case"
}

func next(s string, c byte) bool {
	s = strings.TrimLeft(s, " ")
	return s != "" && s[0] == c
}

func word(c byte) bool { return c == '@' || mytext.WordByte(c) }

// keyword holds the words that are no operands.
var keyword = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(
		`select from where and or not in is between like rlike regexp as on using join left right inner
		outer cross natural straight_join group by order having limit offset union all distinct distinctrow set values value into
		insert replace update delete ignore for share mode lock skip locked nowait desc asc case when then else end exists any some
		div mod xor interval escape separator collate partition over rows use force index key with recursive
		day hour minute second month year week quarter microsecond sql_no_cache sql_calc_found_rows high_priority low_priority`) {
		m[w] = true
	}
	return m
}()
