package plan

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/internal/workload"
)

// form is what a value may be: how it is read, and how the schema tells it. Both stand side by side so that they stay
// one.
type form[V any] struct {
	schema schema
	read   func(r *reader, n *node, path string) (V, bool)
}

// key is one key of a mapping. The table of a mapping's keys is all there is to know about it: it is read by it, its
// unknown keys are found with it, and the schema is written from it.
type key[T any] struct {
	name    string
	about   string // a sentence or two
	normal  string // what holds when nothing is said, in words or as it would be written
	example []any
	schema  schema
	read    func(r *reader, n *node, path string, into *T)
}

// at makes a key whose value lands in one member.
func at[T, V any](name, about string, f form[V], member func(*T) *V) key[T] {
	return key[T]{name: name, about: about, schema: f.schema, read: func(r *reader, n *node, path string, into *T) {
		if v, ok := f.read(r, n, path); ok {
			*member(into) = v
		}
	}}
}

// or tells the default.
func (k key[T]) or(normal string) key[T] { k.normal = normal; return k }

// eg gives examples.
func (k key[T]) eg(values ...any) key[T] { k.example = values; return k }

// lift makes keys of one type into keys of another that has it as a member.
func lift[A, B any](keys []key[A], member func(*B) *A) []key[B] {
	out := make([]key[B], len(keys))
	for i, k := range keys {
		out[i] = key[B]{
			name: k.name, about: k.about, normal: k.normal, example: k.example, schema: k.schema,
			read: func(r *reader, n *node, path string, into *B) { k.read(r, n, path, member(into)) },
		}
	}
	return out
}

// reader goes through a plan and gathers what is wrong.
type reader struct {
	problems []Problem
	where    map[string]*node // by path, of every value read
	keys     map[string]*node // by path, of the keys of texts

	words     Words
	workloads []workload.Workload // that there are
	used      map[string]workload.Workload
	strange   bool     // a workload was named that does not exist
	options   []option // that were given, wherever
}

// option is an option of a workload with its place.
type option struct {
	name, value string
	path        string
	key, at     *node
}

func (r *reader) say(n *node, path, hint, format string, args ...any) {
	p := Problem{Path: path, Text: fmt.Sprintf(format, args...), Hint: hint}
	if n != nil {
		p.Line, p.Column, p.Option = n.line, n.column, n.option
	}
	if p.Option != "" {
		p.Line, p.Column = 0, 0
		if _, said, _ := strings.Cut(p.Option, " "); said == path {
			p.Path = ""
		}
	}
	r.problems = append(r.problems, p)
}

// into reads a mapping by the table of its keys.
func into[T any](r *reader, n *node, path string, keys []key[T], v *T) bool {
	if n.kind == nothing {
		return true
	}
	if n.kind != mapping {
		r.say(n, path, "", "takes a mapping (key: value), not %s", n.what())
		return false
	}
	seen := map[string]*node{}
	for _, e := range n.entries {
		at := join(path, e.name)
		if first := seen[e.name]; first != nil {
			r.say(e.key, at, "", "is given twice, first in line %d", first.line)
			continue
		}
		seen[e.name] = e.key
		i := slices.IndexFunc(keys, func(k key[T]) bool { return k.name == e.name })
		if i < 0 {
			names := make([]string, len(keys))
			for i, k := range keys {
				names[i] = k.name
			}
			r.say(e.key, at, hintOf(e.name, names), "unknown key %q", short(e.name))
			continue
		}
		r.where[at] = e.value
		if e.value.kind != nothing || keys[i].schema["type"] == "object" && keys[i].schema["properties"] == nil {
			keys[i].read(r, e.value, at, v)
		}
	}
	return true
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// object is a mapping with the keys of a table.
func object[T any](keys []key[T]) form[T] {
	return form[T]{schemaOf(keys), func(r *reader, n *node, path string) (T, bool) {
		var v T
		ok := into(r, n, path, keys, &v)
		return v, ok
	}}
}

// scalarForm reads one text; check returns the value, or what is wrong with it and what would be right.
func scalarForm[V any](s schema, check func(text string) (v V, bad, hint string)) form[V] {
	return form[V]{s, func(r *reader, n *node, path string) (V, bool) {
		var zero V
		if n.kind != scalar {
			r.say(n, path, "", "takes a single value, not %s", n.what())
			return zero, false
		}
		v, bad, hint := check(n.text)
		if bad != "" {
			r.say(n, path, hint, "%s", bad)
			return zero, false
		}
		return v, true
	}}
}

// anyText is a text of at least one character.
func anyText() form[string] {
	return scalarForm(schema{"type": []string{"string", "number", "boolean"}}, func(s string) (string, string, string) {
		if strings.TrimSpace(s) == "" {
			return "", "is empty", ""
		}
		return s, "", ""
	})
}

// pattern is a text of a certain shape; bad and hint say what is wrong when it is not.
func matching(re, bad, hint string) form[string] {
	return scalarForm(schema{"type": "string", "pattern": re}, func(s string) (string, string, string) {
		if !regexp.MustCompile(re).MatchString(s) { // compiled when it is needed: the tables of keys are made often
			return "", fmt.Sprintf("%q %s", short(s), bad), hint
		}
		return s, "", ""
	})
}

// oneOf is one of a few names.
func oneOf[V ~string](names ...V) form[V] {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = string(n)
	}
	return scalarForm(schema{"enum": list}, func(s string) (V, string, string) {
		if !slices.Contains(list, s) {
			return "", fmt.Sprintf("%q is not one of %s", short(s), strings.Join(list, ", ")), hintNear(s, list)
		}
		return V(s), "", ""
	})
}

func hintNear(name string, names []string) string {
	if n := nearest(name, names); n != "" {
		return meant + strconv.Quote(n) + "?"
	}
	return ""
}

// flag is true or false.
func flag() form[bool] {
	return scalarForm(schema{"type": "boolean"}, func(s string) (bool, string, string) {
		switch s {
		case "true", "True", "TRUE":
			return true, "", ""
		case "false", "False", "FALSE":
			return false, "", ""
		}
		return false, fmt.Sprintf("%q is not true or false", short(s)), ""
	})
}

// whole is a number without a fraction.
func whole(least, most int) form[int] {
	return scalarForm(schema{"type": "integer", "minimum": least, "maximum": most},
		func(s string) (int, string, string) {
			n, err := strconv.Atoi(s)
			switch {
			case err != nil:
				return 0, fmt.Sprintf("%q is not a whole number", short(s)), ""
			case n < least || n > most:
				return 0, fmt.Sprintf("%d is not from %d to %d", n, least, most), ""
			}
			return n, "", ""
		})
}

// seed is any 64-bit number.
func seed() form[uint64] {
	return scalarForm(schema{"type": "integer", "minimum": 0}, func(s string) (uint64, string, string) {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0, fmt.Sprintf("%q is not a whole number from 0", short(s)), ""
		}
		return n, "", ""
	})
}

// decimal is a plain number.
func decimal(least, most float64) form[float64] {
	return scalarForm(schema{"type": "number", "minimum": least, "maximum": most},
		func(s string) (float64, string, string) {
			v, ok := number(s)
			switch {
			case !ok:
				return 0, fmt.Sprintf("%q is not a number", short(s)), ""
			case v < least || v > most:
				return 0, fmt.Sprintf("%s is not from %v to %v", s, least, most), ""
			}
			return v, "", ""
		})
}

var numbers = lazyregexp.New(`^-?[0-9]{1,18}(\.[0-9]{1,18})?$`)

// number reads a plain number: no exponents, no infinities.
func number(s string) (float64, bool) {
	if !numbers.MatchString(s) {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

const sharePattern = `^[0-9]{1,9}(\.[0-9]{1,9})?%$`

// share reads "2%" or 0.02.
func share(s string) (float64, bool) {
	v, ok := number(strings.TrimSuffix(s, "%"))
	if strings.HasSuffix(s, "%") {
		v /= 100
	}
	return v, ok
}

// portion is a share of 1 with bounds, written as a percentage or as a number.
func portion(least, most float64) form[float64] {
	s := schema{"anyOf": []schema{
		{"type": "string", "pattern": sharePattern},
		{"type": "number", "minimum": least, "maximum": most},
	}}
	bounds := fmt.Sprintf("write a percentage from %v%% to %v%%", least*100, most*100)
	if most > 1 {
		bounds = fmt.Sprintf("write a number or a percentage of one, such as 0.97, 97%% or 2, from %v to %v", least,
			most)
	}
	return scalarForm(s, func(s string) (float64, string, string) {
		v, ok := share(s)
		switch {
		case !ok:
			return 0, fmt.Sprintf("%q is not a percentage", short(s)), bounds
		case v < least || v > most:
			return 0, fmt.Sprintf("%s is out of range", s), bounds
		}
		return v, "", ""
	})
}

// size is an amount of bytes, or of what is counted per second.
func size() form[uint64] {
	s := schema{"anyOf": []schema{{
		"type":    "string",
		"pattern": `^ *[0-9]+(\.[0-9]+)? *([kKmMgGtTpPeE]?([iI]?[bB])?) *$`,
	}, {"type": "integer", "minimum": 1}}}
	return scalarForm(s, func(s string) (uint64, string, string) {
		v, err := unit.ParseSize(s)
		var bad *unit.SizeError
		switch {
		case errors.As(err, &bad):
			return 0, fmt.Sprintf("%q: %s", bad.Text, bad.Why), unit.SizeHint
		case v == 0:
			return 0, "is 0", "leave it out for no limit"
		}
		return v, "", ""
	})
}

const (
	durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$`
	maxDuration     = Duration(30 * 24 * time.Hour)
)

// span is a duration.
func span(least Duration) form[Duration] {
	s := schema{"type": []string{"string", "integer"}, "pattern": durationPattern}
	return scalarForm(s, func(s string) (Duration, string, string) { return spanOf(s, least) })
}

func spanOf(s string, least Duration) (Duration, string, string) {
	d, wrong, hint := readDuration(s)
	switch {
	case wrong != "":
		if _, plain := number(s); plain && hint != "" {
			hint = fmt.Sprintf("say in what: %ss, %sm", s, s)
		}
		return 0, wrong, hint
	case d < least:
		return 0, fmt.Sprintf("%v is too short", d), fmt.Sprintf("at least %v", least)
	case d > maxDuration:
		return 0, fmt.Sprintf("%v is too long", d), ""
	}
	return d, "", ""
}

// reach is a lower and an upper end, written "3..10", or one value that is both.
type reach[V any] struct{ least, most V }

func reachOf[V any](s schema, one func(string) (V, string, string), less func(a, b V) bool) form[reach[V]] {
	return scalarForm(s, func(s string) (reach[V], string, string) {
		from, to, ranged := strings.Cut(s, "..")
		a, bad, hint := one(strings.TrimSpace(from))
		if bad != "" {
			return reach[V]{}, bad, hint
		}
		if !ranged {
			return reach[V]{a, a}, "", ""
		}
		b, bad, hint := one(strings.TrimSpace(to))
		if bad == "" && less(b, a) {
			bad = fmt.Sprintf("%q ends below its beginning", short(s))
		}
		return reach[V]{a, b}, bad, hint
	})
}

func spans() form[reach[Duration]] {
	return reachOf(schema{
		"type":    []string{"string", "integer"},
		"pattern": `^[^.]+(\.[0-9]+[a-zµ]+)?(\.\.[^.]+(\.[0-9]+[a-zµ]+)?)?$`,
	},
		func(s string) (Duration, string, string) { return spanOf(s, 0) }, func(a, b Duration) bool { return a < b })
}

func wholes(least, most int) form[reach[int]] {
	one := func(s string) (int, string, string) {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil:
			return 0, fmt.Sprintf("%q is not a whole number", short(s)), "write a number or a range, such as 5 or 5..10"
		case n < least || n > most:
			return 0, fmt.Sprintf("%d is not from %d to %d", n, least, most), ""
		}
		return n, "", ""
	}
	return reachOf(schema{
		"type": []string{"integer", "string"}, "minimum": least, "maximum": most,
		"pattern": `^[0-9]+( *\.\. *[0-9]+)?$`,
	}, one, func(a, b int) bool { return a < b })
}

// several is a list, or a single value that stands for a list of one.
func several[V any](f form[V]) form[[]V] {
	s := schema{"anyOf": []schema{f.schema, {"type": "array", "items": f.schema}}}
	return form[[]V]{s, func(r *reader, n *node, path string) ([]V, bool) {
		if n.kind != list {
			v, ok := f.read(r, n, path)
			return []V{v}, ok
		}
		return items(r, n, path, f)
	}}
}

func items[V any](r *reader, n *node, path string, f form[V]) ([]V, bool) {
	var vs []V
	all := true
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", path, i)
		r.where[at] = item
		v, ok := f.read(r, item, at)
		if ok {
			vs = append(vs, v)
		}
		all = all && ok
	}
	return vs, all || len(vs) > 0
}

// texts is a mapping of names to texts. name returns a name's one spelling, or what is wrong with it; empty allows
// values without text.
func texts(about string, name func(string) (good, bad, hint string), empty bool) form[map[string]string] {
	values := schema{"type": []string{"string", "number", "boolean"}}
	if empty {
		values["type"] = []string{"string", "number", "boolean", "null"}
	}
	return form[map[string]string]{
		schema{"type": "object", "additionalProperties": values},
		func(r *reader, n *node, path string) (map[string]string, bool) {
			if n.kind == nothing {
				return nil, true
			}
			if n.kind != mapping {
				r.say(n, path, "", "takes a mapping (%s), not %s", about, n.what())
				return nil, false
			}
			m := map[string]string{}
			first := map[string]*node{}
			for _, e := range n.entries {
				at := join(path, e.name)
				good, bad, hint := name(e.name)
				switch {
				case bad != "":
					r.say(e.key, at, hint, "%s", bad)
				case first[good] != nil:
					r.say(e.key, at, "", "is given twice, first in line %d", first[good].line)
				case e.value.kind == nothing && empty:
					m[good] = ""
				case e.value.kind != scalar:
					r.say(e.value, at, "", "takes a single value, not %s", e.value.what())
				default:
					m[good] = e.value.text
				}
				if bad == "" && first[good] == nil {
					first[good] = e.key
					r.where[join(path, good)], r.keys[join(path, good)] = e.value, e.key
				}
			}
			return m, true
		},
	}
}

func anyName(s string) (string, string, string) {
	if strings.TrimSpace(s) == "" {
		return "", "a name is empty", ""
	}
	return s, "", ""
}

// names returns the keys of a map, sorted.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
