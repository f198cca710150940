package logdigest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/suggest"
)

// Filter chooses the entries of a log by an expression such as
//
//	Query_time > 500ms && (db == "shop" || user =~ /^batch/i) && !Full_scan
//
// On the left of a comparison stands an attribute, by the servers' name for it or Dyno's (Rows_examined,
// rows_examined), or one of user, host, db, sql, fingerprint, id (of the class, 32 or the last 16 digits), cmd (Query
// or Admin), thread, errno, killed and rate. Numbers take ==, !=, <, <=, > and >=, and units: us, ms, s, min and h for
// times, k, M and G for the rest (powers of 1024 for bytes). Texts take == and !=, with regard to case, and =~ and !~
// with a regular expression in the syntax of Go's package regexp, /i for any case. Flags are compared with Yes or No,
// or stand alone. &&, || and ! may be written as and, or and not, and names and operators as pt-query-digest takes them
// ($event->{Query_time}, eq, ne).
//
// An entry whose log does not tell an attribute is neither below nor above any limit: neither a comparison with it nor
// the opposite of that comparison chooses the entry. A Filter may be used by several goroutines.
type Filter struct {
	root condition
	met  []*metName

	scratch sync.Pool // of *[]byte
}

// condition judges an entry.
type condition func(p *slowlog.Parser, e *slowlog.Entry) truth

// truth is an answer that may be unknown: Kleene's logic, as SQL has it for NULL.
type truth uint8

const (
	no truth = iota
	yes
	unsure
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// metName remembers whether any entry had an attribute.
type metName struct {
	name string
	met  atomic.Bool
}

// FilterError tells what is wrong with the text of a filter, and where.
type FilterError struct {
	Column  int // from 1, in characters
	Problem string
	Hint    string // what to do; may be empty
}

func (e *FilterError) Error() string {
	s := fmt.Sprintf("read the filter: column %d: %s", e.Column, e.Problem)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// ParseFilter reads the text of a filter. Its error is a *FilterError.
func ParseFilter(text string) (*Filter, error) {
	f := &Filter{}
	r := filterReader{text: text, filter: f}
	if err := r.next(); err != nil {
		return nil, err
	}
	if r.kind == atEnd {
		return nil, r.wrong("there is no expression", "write for example: Query_time > 1")
	}
	root, err := r.or()
	if err != nil {
		return nil, err
	}
	if r.kind != atEnd {
		return nil, r.wrong(fmt.Sprintf("%s where the expression should have ended", r.show()),
			"join comparisons with && or ||")
	}
	f.root = root
	return f, nil
}

// Match reports whether the filter chooses an entry that p has parsed; p may be nil, then only known attributes are. It
// allocates nothing.
func (f *Filter) Match(p *slowlog.Parser, e *slowlog.Entry) bool { return f.root(p, e) == yes }

// Unmet lists the attributes that the filter asks for and no entry has had so far.
func (f *Filter) Unmet() (names []string) {
	for _, m := range f.met {
		if !m.met.Load() && !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	return names
}

// deepest bounds parentheses and exclamation marks within each other.
const deepest = 200

func (r *filterReader) or() (condition, error)  { return r.chain("||", yes, r.and) }
func (r *filterReader) and() (condition, error) { return r.chain("&&", no, r.not) }

// chain reads terms with an operator between them, whose answer is settled by the first term that says so much.
func (r *filterReader) chain(operator string, settled truth, term func() (condition, error)) (condition, error) {
	first, err := term()
	if err != nil {
		return nil, err
	}
	for r.kind == anOperator && r.word == operator {
		if err := r.next(); err != nil {
			return nil, err
		}
		left := first
		right, err := term()
		if err != nil {
			return nil, err
		}
		first = func(p *slowlog.Parser, e *slowlog.Entry) truth {
			a := left(p, e)
			if a == settled {
				return a
			}
			if b := right(p, e); b == settled || a != unsure {
				return b
			}
			return unsure
		}
	}
	return first, nil
}

func (r *filterReader) not() (condition, error) {
	if r.depth++; r.depth > deepest {
		return nil, r.wrong("parentheses go too deep", "")
	}
	defer func() { r.depth-- }()
	switch {
	case r.kind == anOperator && r.word == "!":
		if err := r.next(); err != nil {
			return nil, err
		}
		x, err := r.not()
		if err != nil {
			return nil, err
		}
		return func(p *slowlog.Parser, e *slowlog.Entry) truth {
			return [...]truth{no: yes, yes: no, unsure: unsure}[x(p, e)]
		}, nil
	case r.kind == anOperator && r.word == "(":
		open := r.at
		if err := r.next(); err != nil {
			return nil, err
		}
		x, err := r.or()
		if err != nil {
			return nil, err
		}
		if r.kind != anOperator || r.word != ")" {
			if r.kind == atEnd {
				return nil, r.wrongAt(open, "this parenthesis is never closed", "")
			}
			return nil, r.wrong(fmt.Sprintf("%s where && or || or ) should be", r.show()), "")
		}
		return x, r.next()
	}
	return r.comparison()
}

// comparison reads NAME OPERATOR VALUE, or the name of a flag.
func (r *filterReader) comparison() (condition, error) {
	if r.kind != aName {
		return nil, r.wrong(fmt.Sprintf("%s where a name should be", r.show()), "the name comes first: Query_time > 1")
	}
	left := *r
	f, err := r.field(r.word)
	if err != nil {
		return nil, err
	}
	if err := r.next(); err != nil {
		return nil, err
	}
	operator, at := r.word, r.at
	if r.kind != anOperator || operator == "&&" || operator == "||" || operator == "(" ||
		operator == ")" || operator == "!" {
		if f.number != nil && f.unit == attribute.Flag {
			return f.compare("==", 1), nil
		}
		if r.kind == anOperator || r.kind == atEnd {
			return nil, left.wrong(fmt.Sprintf("%s is compared with nothing", left.word),
				"write what it is compared with: "+f.example(left.word))
		}
		return nil, r.wrong(fmt.Sprintf("%s where an operator should be", r.show()),
			"use ==, !=, <, <=, >, >=, =~ or !~")
	}
	matches := operator == "=~" || operator == "!~"
	switch {
	case matches && f.text == nil && f.test == nil:
		return nil, r.wrong(left.word+" is a number, it matches no expression",
			"compare it with ==, !=, <, <=, > or >=")
	case !matches && operator != "==" && operator != "!=" && f.number == nil:
		return nil, r.wrong(left.word+" is a text, it has no order", "compare it with ==, !=, =~ or !~")
	case operator != "==" && operator != "!=" && f.number != nil && f.unit == attribute.Flag:
		return nil, r.wrong(left.word+" is Yes or No", "compare it with == or !=")
	}
	if matches {
		r.wantPattern = true
	}
	if err := r.next(); err != nil {
		return nil, err
	}
	r.wantPattern = false
	value := *r
	if r.kind == atEnd || r.kind == anOperator {
		return nil, r.wrong(fmt.Sprintf("%s where a value should be", r.show()), "write what "+left.word+
			" is compared with: "+f.example(left.word))
	}
	if r.kind == aPattern && !matches {
		return nil, r.wrongAt(at, "a /pattern/ is matched, not compared", "use =~ or !~")
	}
	if err := r.next(); err != nil {
		return nil, err
	}
	var c condition
	switch {
	case f.test != nil:
		c, err = f.test(operator, &value)
	case f.number != nil:
		c, err = f.numeric(operator, &value)
	case matches:
		c, err = f.matching(operator, &value)
	default:
		c = f.equal(operator, value.word)
	}
	return c, err
}

// filterField is what a name stands for: a number or a text of an entry, or something that knows how it is compared.
type filterField struct {
	number func(p *slowlog.Parser, e *slowlog.Entry) (float64, bool)
	unit   attribute.Unit
	text   func(e *slowlog.Entry) []byte
	test   func(operator string, value *filterReader) (condition, error)
}

func (f *filterField) example(name string) string {
	switch {
	case f.number == nil:
		return name + ` == "x"`
	case f.unit == attribute.Seconds:
		return name + " > 1"
	}
	return name + " > 1000"
}

// compare judges a number.
func (f *filterField) compare(operator string, v float64) condition {
	number := f.number
	var holds func(x float64) bool
	switch operator {
	case "==":
		holds = func(x float64) bool { return x == v }
	case "!=":
		holds = func(x float64) bool { return x != v }
	case "<":
		holds = func(x float64) bool { return x < v }
	case "<=":
		holds = func(x float64) bool { return x <= v }
	case ">":
		holds = func(x float64) bool { return x > v }
	default:
		holds = func(x float64) bool { return x >= v }
	}
	return func(p *slowlog.Parser, e *slowlog.Entry) truth {
		x, ok := number(p, e)
		if !ok {
			return unsure
		}
		return truthOf(holds(x))
	}
}

// filterUnits are the units of numbers, by what they measure. us is pt-query-digest's word for µs.
var filterUnits = map[attribute.Unit]map[string]float64{
	attribute.Seconds: {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600},
	attribute.Count:   {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9},
	attribute.Bytes: {
		"k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "B": 1, "KiB": 1 << 10,
		"MiB": 1 << 20, "GiB": 1 << 30,
	},
}

var filterUnitNames = map[attribute.Unit]string{
	attribute.Seconds: "us, ms, s, min and h", attribute.Count: "k, M and G",
	attribute.Bytes: "k, M and G",
}

// numeric judges a number against what was written.
func (f *filterField) numeric(operator string, value *filterReader) (condition, error) {
	if f.unit == attribute.Flag {
		switch strings.ToLower(value.word) {
		case "yes", "true", "on", "1":
			return f.compare(operator, 1), nil
		case "no", "false", "off", "0":
			return f.compare(operator, 0), nil
		}
		return nil, value.wrong(value.show()+" is neither Yes nor No", "")
	}
	digits := value.word
	n := len(digits)
	for n > 0 && (digits[n-1]|0x20 >= 'a' && digits[n-1]|0x20 <= 'z' || digits[n-1] >= 0x80) {
		n--
	}
	v, err := strconv.ParseFloat(digits[:n], 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, value.wrong(value.show()+" is not a number", "write digits, such as 1, 0.5, 1e6 or 500ms")
	}
	if unit := digits[n:]; unit != "" {
		factor, ok := filterUnits[f.unit][unit]
		if !ok {
			return nil, value.wrong(fmt.Sprintf("%q is not a unit here", unit), "use "+filterUnitNames[f.unit]+", or "+
				"none")
		}
		v *= factor
	}
	return f.compare(operator, v), nil
}

// equal judges a text.
func (f *filterField) equal(operator, want string) condition {
	text, negated := f.text, operator == "!="
	return func(_ *slowlog.Parser, e *slowlog.Entry) truth {
		return truthOf((string(text(e)) == want) != negated)
	}
}

func (f *filterField) matching(operator string, value *filterReader) (condition, error) {
	pattern, err := value.pattern()
	if err != nil {
		return nil, err
	}
	text, negated := f.text, operator == "!~"
	return func(_ *slowlog.Parser, e *slowlog.Entry) truth {
		return truthOf(pattern.Match(text(e)) != negated)
	}, nil
}

// pattern compiles the regular expression of the token.
func (r *filterReader) pattern() (*regexp.Regexp, error) {
	text := r.word
	if r.flags != "" {
		text = "(?" + r.flags + ")" + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, r.wrong(strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			"the syntax is that of Go's package regexp: no look-ahead, no back references")
	}
	return re, nil
}

// wrong returns an error at the token.
func (r *filterReader) wrong(problem, hint string) error { return r.wrongAt(r.at, problem, hint) }

func (r *filterReader) wrongAt(at int, problem, hint string) error {
	return &FilterError{Column: 1 + utf8.RuneCountInString(r.text[:at]), Problem: problem, Hint: hint}
}

// closest returns ", did you mean x?" in the form of a hint, "" when nothing is like it.
func closest(typed string, names []string) string {
	if n := suggest.Name(typed, names, len(typed)/3+2); n != "" {
		return "did you mean " + n + "?"
	}
	return ""
}
