package logdigest

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	queryclass "github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// filterTexts are the texts of an entry by the names that a filter takes; arg is pt-query-digest's word for the
// statement.
var filterTexts = map[string]func(e *slowlog.Entry) []byte{
	"user": func(e *slowlog.Entry) []byte { return e.User },
	"host": func(e *slowlog.Entry) []byte { return e.Host },
	"db":   func(e *slowlog.Entry) []byte { return e.DB },
	"sql":  func(e *slowlog.Entry) []byte { return e.SQL },
	"cmd": func(e *slowlog.Entry) []byte {
		if e.Admin {
			return cmdAdmin
		}
		return cmdQuery
	},
}

var cmdAdmin, cmdQuery = []byte("Admin"), []byte("Query")

// filterNumbers are the numbers of an entry that are no attributes.
var filterNumbers = map[string]func(e *slowlog.Entry) (float64, bool){
	"thread": func(e *slowlog.Entry) (float64, bool) { return float64(e.Thread), e.HasID },
	"errno":  func(e *slowlog.Entry) (float64, bool) { return float64(e.Errno), true },
	"killed": func(e *slowlog.Entry) (float64, bool) { return float64(e.Killed), true },
	"rate":   func(e *slowlog.Entry) (float64, bool) { return float64(max(e.Rate, 1)), true },
}

// filterAliases are other words for the same.
var filterAliases = map[string]string{
	"database": "db", "schema": "db", "query": "sql", "statement": "sql", "arg": "sql", "command": "cmd",
	"ip": "host", "checksum": "id",
	"thread_id": "thread", "last_errno": "errno", "error": "errno", "bytes": "query_length",
	"log_slow_rate_limit": "rate",
}

// filterNames lists what a name may be, as people write it.
func filterNames() (names []string) {
	for n := range filterTexts {
		names = append(names, n)
	}
	for n := range filterNumbers {
		names = append(names, n)
	}
	names = append(names, "fingerprint", "id")
	slices.Sort(names)
	for a := slowlog.Attribute(0); ; a++ {
		i, ok := slowlog.Known(a)
		if !ok {
			return names
		}
		names = append(names, i.Name)
	}
}

// field returns what a name stands for.
func (r *filterReader) field(written string) (*filterField, error) {
	name := strings.ToLower(written)
	if n, ok := filterAliases[name]; ok {
		name = n
	}
	if f, ok := filterTexts[name]; ok {
		return &filterField{text: f}, nil
	}
	if f, ok := filterNumbers[name]; ok {
		return &filterField{number: func(_ *slowlog.Parser, e *slowlog.Entry) (float64, bool) { return f(e) }}, nil
	}
	switch name {
	case "fingerprint":
		return &filterField{test: onFingerprint}, nil
	case "id":
		return &filterField{test: onID}, nil
	}
	for a := slowlog.Attribute(0); ; a++ {
		i, ok := slowlog.Known(a)
		if !ok {
			break
		}
		if strings.EqualFold(i.Name, name) || i.Key == name {
			return &filterField{number: r.attribute(a, i.Name), unit: i.Unit}, nil
		}
	}
	// The log may have attributes that nobody has heard of. Servers write them with a capital letter and an underscore;
	// what looks like a slip of the finger is none of them.
	hint := closest(written, filterNames())
	if hint == "" && written[0] >= 'A' && written[0] <= 'Z' && strings.Contains(written, "_") {
		return &filterField{number: r.unheard(written)}, nil
	}
	if hint == "" {
		hint = "use an attribute of the log such as Query_time, or user, host, db, sql, fingerprint, id, cmd, " +
			"thread, errno, killed, rate"
	}
	return nil, r.wrong(fmt.Sprintf("unknown name %q", written), hint)
}

// attribute returns the value of a known one.
func (r *filterReader) attribute(
	a slowlog.Attribute, name string,
) func(*slowlog.Parser, *slowlog.Entry) (float64, bool) {
	m := r.asks(name)
	return func(_ *slowlog.Parser, e *slowlog.Entry) (float64, bool) {
		for i := range e.Figures {
			if e.Figures[i].Attribute == a {
				m.mark()
				return e.Figures[i].Value, true
			}
		}
		if a == slowlog.QueryLength {
			m.mark()
			return float64(len(e.SQL)), true
		}
		return 0, false
	}
}

// unheard returns the value of one that is known by the name in the log alone.
func (r *filterReader) unheard(name string) func(*slowlog.Parser, *slowlog.Entry) (float64, bool) {
	m := r.asks(name)
	return func(p *slowlog.Parser, e *slowlog.Entry) (float64, bool) {
		for i := range e.Figures {
			a := e.Figures[i].Attribute
			if _, ok := slowlog.Known(a); !ok && p != nil && strings.EqualFold(p.Info(a).Name, name) {
				m.mark()
				return e.Figures[i].Value, true
			}
		}
		return 0, false
	}
}

func (r *filterReader) asks(name string) *metName {
	m := &metName{name: name}
	r.filter.met = append(r.filter.met, m)
	return m
}

// mark writes once: many goroutines read it.
func (m *metName) mark() {
	if !m.met.Load() {
		m.met.Store(true)
	}
}

// withFingerprint gives the fingerprint of an entry to is, whose answer it returns. Of an administrator's command it is
// the command.
func (f *Filter) withFingerprint(e *slowlog.Entry, is func(fingerprint []byte) bool) bool {
	b, _ := f.scratch.Get().(*[]byte)
	if b == nil {
		b = new([]byte)
	}
	if e.Admin {
		*b = append(append((*b)[:0], "administrator command: "...), e.SQL...)
	} else {
		*b = mytext.AppendFingerprint((*b)[:0], e.SQL)
	}
	ok := is(*b)
	if cap(*b) <= 1<<20 {
		f.scratch.Put(b)
	}
	return ok
}

func onFingerprint(operator string, value *filterReader) (condition, error) {
	f, want := value.filter, value.word
	is := func(fingerprint []byte) bool { return string(fingerprint) == want }
	if operator == "=~" || operator == "!~" {
		pattern, err := value.pattern()
		if err != nil {
			return nil, err
		}
		is = pattern.Match
	}
	negated := operator == "!=" || operator == "!~"
	return func(_ *slowlog.Parser, e *slowlog.Entry) truth { return truthOf(f.withFingerprint(e, is) != negated) }, nil
}

func onID(operator string, value *filterReader) (condition, error) {
	if operator != "==" && operator != "!=" {
		return nil, value.wrong("an id is compared with == or !=", "match fingerprint =~ /…/ instead")
	}
	want, ok := queryclass.SameID(value.word)
	if !ok {
		return nil, value.wrong(value.show()+" is not an id", "an id has 32 hexadecimal digits, or the last 16 of "+
			"them, with or without 0x")
	}
	f := value.filter
	sum, _ := hex.DecodeString(want)
	is := func(fingerprint []byte) bool {
		h := hashOf(fingerprint)
		return string(h[len(h)-len(sum):]) == string(sum)
	}
	negated := operator == "!="
	return func(_ *slowlog.Parser, e *slowlog.Entry) truth { return truthOf(f.withFingerprint(e, is) != negated) }, nil
}
