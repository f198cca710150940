package report

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// finite returns a copy of d in which every number is one: a point, value or bound that is infinite or not a number is left
// out as unknown, and a warning says so where an interval or a value of a comparison is lost.
func finite(d *Document) *Document {
	c := *d
	c.Comparison = nil
	c = numbers(reflect.ValueOf(c), new(int)).Interface().(Document)
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
	lost := 0
	c.Comparison = numbers(reflect.ValueOf(d.Comparison), &lost).Interface().(*trial.Result)
	if lost > 0 {
		warn(count(lost, "value of the comparison was", "values of the comparison were") + " no finite number and left out")
	}
	return &c
}

// numbers returns a deep copy of v in which every number is finite: what is not is left out of maps, an interval or verdict that
// has such a bound becomes one without samples, a value that may be unknown is, a point is left out, any other value becomes 0. It
// counts what was lost.
func numbers(v reflect.Value, lost *int) reflect.Value {
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	switch v.Kind() {
	case reflect.Float64, reflect.Float32:
		if !finite(v.Float()) {
			*lost++
			return reflect.Zero(v.Type())
		}
		return v
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		w := reflect.New(v.Type().Elem())
		w.Elem().Set(numbers(v.Elem(), lost))
		return w
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		w, k := reflect.MakeSlice(v.Type(), v.Len(), v.Len()), 0
		for i := range v.Len() {
			n := 0
			w.Index(k).Set(numbers(v.Index(i), &n))
			if *lost += n; n == 0 || v.Type().Elem() != reflect.TypeFor[metric.Point]() {
				k++
			}
		}
		return w.Slice(0, k)
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		w := reflect.MakeMapWithSize(v.Type(), v.Len())
		for k, x := range v.Seq2() {
			n := 0
			if x = numbers(x, &n); n > 0 && v.Type().Elem().Kind() != reflect.Slice {
				*lost += n
				continue
			}
			w.SetMapIndex(k, x)
		}
		return w
	case reflect.Struct:
		switch i := v.Interface().(type) {
		case known.Value[float64]:
			if x, ok := i.Get(); ok && !finite(x) {
				return reflect.ValueOf(known.None[float64]())
			}
			return v
		case stat.Interval:
			if !finite(i.Center) || !finite(i.Lo) || !finite(i.Hi) || !finite(i.Confidence) {
				*lost++
				return reflect.ValueOf(stat.Interval{})
			}
			return v
		}
		w := reflect.New(v.Type()).Elem()
		w.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				w.Field(i).Set(numbers(v.Field(i), lost))
			}
		}
		return w
	default:
		return v
	}
}

// shown returns a deep copy of d that is safe to show: finite, and every text of it visible. Texts are single lines, but for
// SQL and command lines, which keep their line ends.
func shown(d *Document) *Document {
	return see(reflect.ValueOf(finite(d)), false).Interface().(*Document)
}

// lines names the fields whose texts may have several lines.
var lines = map[string]bool{"SQL": true, "Undo": true, "Line": true, "Fingerprint": true, "PlanText": true, "Texts": true, "Shell": true, "Plan": true}

func see(v reflect.Value, multi bool) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		w := reflect.New(v.Type()).Elem()
		w.SetString(Visible(v.String(), multi))
		return w
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		w := reflect.New(v.Type().Elem())
		w.Elem().Set(see(v.Elem(), multi))
		return w
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		w := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			w.Index(i).Set(see(v.Index(i), multi))
		}
		return w
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		w := reflect.MakeMapWithSize(v.Type(), v.Len())
		for k, x := range v.Seq2() {
			w.SetMapIndex(see(k, false), see(x, multi)) // names stay names
		}
		return w
	case reflect.Struct:
		w := reflect.New(v.Type()).Elem()
		w.Set(v)
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				w.Field(i).Set(see(v.Field(i), lines[f.Name]))
			}
		}
		return w
	default:
		return v
	}
}

// Visible replaces what cannot be seen in s: a control character by its picture (␀), any other character that prints nothing
// or changes the direction of writing by its code point (⟨U+202E⟩), a broken byte by its value (⟨xFF⟩). Without multi, line
// ends and tabs become spaces.
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
