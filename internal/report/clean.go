package report

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/stat"
)

// finite returns a copy of d in which every number is one: a point, value or bound that is infinite or not a number is
// left out as unknown, and a warning says so where an interval or a value of a comparison is lost.
func finite(d *Document) *Document {
	x := *d
	x.Comparison = nil
	c, _ := numbers(x)
	warn := func(s string) { c.Warnings = append(slices.Clone(c.Warnings), s) }
	check := func(was, is stat.Interval, what string) {
		if was.N != is.N {
			warn("the interval of " + what + " has no finite bounds and was left out")
		}
	}
	if d.Verdict != nil {
		check(d.Verdict.Ratio, c.Verdict.Ratio, "the verdict")
	}
	for i, m := range d.Measures {
		check(m.Ratio, c.Measures[i].Ratio, m.Title)
	}
	r, lost := numbers(d.Comparison)
	if c.Comparison = r; lost > 0 {
		were := count(lost, "value of the comparison was", "values of the comparison were")
		warn(were + " no finite number and left out")
	}
	return &c
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func bounded(i stat.Interval) bool {
	return isFinite(i.Center) && isFinite(i.Lo) && isFinite(i.Hi) && isFinite(i.Confidence)
}

// numbers returns a deep copy of x in which every number is finite, and how many were lost: what is not is left out of
// maps and of points, an interval or verdict that has such a bound becomes one without samples, a value that may be
// unknown is, any other becomes 0.
func numbers[T any](x T) (out T, lost int) {
	leaf := func(v reflect.Value, _ string) (reflect.Value, bool) {
		switch x := v.Interface().(type) {
		case float64:
			if !isFinite(x) {
				lost++
				return reflect.Zero(v.Type()), true
			}
		case known.Value[float64]:
			if x, ok := x.Get(); ok && !isFinite(x) {
				return reflect.Zero(v.Type()), true
			}
		case stat.Interval:
			if !bounded(x) {
				lost++
				return reflect.Zero(v.Type()), true
			}
		case []metric.Point:
			odd := func(p metric.Point) bool { return !isFinite(p.Value) }
			return reflect.ValueOf(slices.DeleteFunc(slices.Clone(x), odd)), true
		case map[string]float64:
			n := len(x)
			x = maps.Clone(x)
			maps.DeleteFunc(x, func(_ string, v float64) bool { return !isFinite(v) })
			lost += n - len(x)
			return reflect.ValueOf(x), true
		case map[string]stat.Interval:
			y := maps.Clone(x)
			maps.DeleteFunc(y, func(_ string, i stat.Interval) bool { return !bounded(i) })
			lost += len(x) - len(y)
			return reflect.ValueOf(y), true
		}
		return v, false
	}
	return copied(reflect.ValueOf(&x), "", leaf).Elem().Interface().(T), lost
}

// clamped returns a deep copy of x in which every number can be said in JSON: what is none becomes 0, or unknown where
// it may be, and what is infinite the largest number.
func clamped[T any](x T) T {
	return copied(reflect.ValueOf(&x), "", func(v reflect.Value, _ string) (reflect.Value, bool) {
		switch v.Kind() {
		case reflect.Float64:
			if isFinite(v.Float()) {
				return v, true
			}
			return reflect.ValueOf(finiteNumber(v.Float())), true
		case reflect.Struct:
		default:
			return v, v.Type() == reflect.TypeFor[[]uint64]()
		}
		switch x := v.Interface().(type) {
		case known.Value[float64]:
			if x, ok := x.Get(); ok && !math.IsNaN(x) {
				return reflect.ValueOf(known.Of(finiteNumber(x))), true
			}
			return reflect.Zero(v.Type()), true
		case known.Value[stat.Interval]:
			if i, _ := x.Get(); !bounded(i) {
				return reflect.Zero(v.Type()), true
			}
			return v, true
		}
		return v, false
	}).Elem().Interface().(T)
}

// finiteNumber clamps what JSON cannot say.
func finiteNumber(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return max(-math.MaxFloat64, min(math.MaxFloat64, v))
}

// copied returns a deep copy of v; of each value in it, found in the field of that name, leaf may give another one.
func copied(v reflect.Value, field string, leaf func(reflect.Value, string) (reflect.Value, bool)) reflect.Value {
	if w, ok := leaf(v, field); ok {
		return w
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		w := reflect.New(v.Type().Elem())
		w.Elem().Set(copied(v.Elem(), field, leaf))
		return w
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		w := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			w.Index(i).Set(copied(v.Index(i), field, leaf))
		}
		return w
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		w := reflect.MakeMapWithSize(v.Type(), v.Len())
		for k, x := range v.Seq2() {
			w.SetMapIndex(copied(k, "", leaf), copied(x, field, leaf))
		}
		return w
	case reflect.Struct:
		w := reflect.New(v.Type()).Elem()
		w.Set(v)
		for i, name := range exported(v.Type()) {
			if name != "" {
				w.Field(i).Set(copied(v.Field(i), name, leaf))
			}
		}
		return w
	default:
		return v
	}
}

// exportedFields keeps the answers of exported: there may be very many classes to copy.
var exportedFields sync.Map

// exported names the fields of a struct, "" for those that are not exported.
func exported(t reflect.Type) []string {
	if names, ok := exportedFields.Load(t); ok {
		return names.([]string)
	}
	names := make([]string, t.NumField())
	for i := range names {
		if f := t.Field(i); f.IsExported() {
			names[i] = f.Name
		}
	}
	exportedFields.Store(t, names)
	return names
}

// shown returns a deep copy of d that is safe to show: finite, and every text of it visible.
func shown(d *Document) *Document { return visible(finite(d)) }

// lines names the fields whose texts may have several lines.
var lines = map[string]bool{
	"SQL": true, "Undo": true, "Line": true, "Fingerprint": true, "PlanText": true, "Texts": true,
	"Shell": true, "Plan": true,
}

// visible returns a deep copy of x in which every text is visible. Texts are single lines, but for SQL and command
// lines, which keep their line ends.
func visible[T any](x T) T {
	return copied(reflect.ValueOf(&x), "", func(v reflect.Value, field string) (reflect.Value, bool) {
		if v.Kind() != reflect.String {
			return v, false
		}
		return reflect.ValueOf(Visible(v.String(), lines[field])).Convert(v.Type()), true
	}).Elem().Interface().(T)
}

// Visible replaces what cannot be seen in s: a control character by its picture (␀), any other character that prints
// nothing or changes the direction of writing by its code point (⟨U+202E⟩), a broken byte by its value (⟨xFF⟩). Without
// multi, line ends and tabs become spaces.
func Visible(s string, multi bool) string {
	plain := func(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n' && multi:
			b.WriteByte('\n')
		case r == '\t' && multi:
			b.WriteString("    ")
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
			b.WriteRune(r)
		default:
			b.WriteString(Picture([]byte(s[i : i+n])))
		}
		i += n
	}
	return b.String()
}

// Picture returns what stands for a character that cannot be seen, or for a byte that is no
// character: ␀, ⟨U+202E⟩, ⟨xFF⟩.
func Picture(c []byte) string {
	switch r, n := utf8.DecodeRune(c); {
	case r == utf8.RuneError && n == 1:
		return fmt.Sprintf("⟨x%02X⟩", c[0])
	case r < 0x20:
		return string(0x2400 + r)
	case r == 0x7f:
		return "␡"
	default:
		return fmt.Sprintf("⟨U+%04X⟩", r)
	}
}
