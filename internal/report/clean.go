package report

import (
	"fmt"
	"maps"
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
// out as unknown, and a warning says so where a verdict loses its interval.
func finite(d *Document) *Document {
	c := *d
	ok := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	value := func(v known.Value[float64]) known.Value[float64] {
		if x, is := v.Get(); is && !ok(x) {
			return known.None[float64]()
		}
		return v
	}
	interval := func(i stat.Interval, what string) stat.Interval {
		if ok(i.Center) && ok(i.Lo) && ok(i.Hi) && ok(i.Confidence) {
			return i
		}
		c.Warnings = append(slices.Clone(c.Warnings), fmt.Sprintf("the interval of %s has no finite bounds and was left out", what))
		return stat.Interval{}
	}
	if c.Verdict != nil {
		v := *c.Verdict
		v.Ratio = interval(v.Ratio, "the verdict")
		if !ok(v.Margin) {
			v.Margin = 0
		}
		c.Verdict = &v
	}
	c.Measures = slices.Clone(c.Measures)
	for i := range c.Measures {
		m := &c.Measures[i]
		m.Before, m.After, m.Ratio = value(m.Before), value(m.After), interval(m.Ratio, m.Title)
	}
	c.Charts = slices.Clone(c.Charts)
	for i := range c.Charts {
		ch := &c.Charts[i]
		ch.Limit = value(ch.Limit)
		ch.Lines = slices.Clone(ch.Lines)
		for j := range ch.Lines {
			ch.Lines[j].Points = slices.DeleteFunc(slices.Clone(ch.Lines[j].Points), func(p metric.Point) bool { return !ok(p.Value) })
		}
	}
	c.Classes = slices.Clone(c.Classes)
	for i := range c.Classes {
		for _, side := range []**ClassFigures{&c.Classes[i].Before, &c.Classes[i].After} {
			if *side == nil {
				continue
			}
			f := **side
			for _, v := range []*known.Value[float64]{&f.PerSec, &f.MeanSec, &f.P95Sec, &f.Examined, &f.Sent, &f.Share} {
				*v = value(*v)
			}
			*side = &f
		}
	}
	if c.Change != nil {
		ch := *c.Change
		ch.TookSec = value(ch.TookSec)
		c.Change = &ch
	}
	if c.Experiment != nil {
		e := *c.Experiment
		e.Windows = slices.Clone(e.Windows)
		for i := range e.Windows {
			vs := maps.Clone(e.Windows[i].Values)
			maps.DeleteFunc(vs, func(_ string, v float64) bool { return !ok(v) })
			e.Windows[i].Values = vs
		}
		c.Experiment = &e
	}
	if c.Comparison != nil {
		r := *c.Comparison
		lost := 0
		c.Comparison = numbers(reflect.ValueOf(&r), &lost).Interface().(*trial.Result)
		if lost > 0 {
			c.Warnings = append(slices.Clone(c.Warnings), count(lost, "value of the comparison was", "values of the comparison were")+" no finite number and left out")
		}
	}
	return &c
}

// numbers returns a deep copy of v in which every number is finite: what is not is left out of maps, an interval or verdict that
// has such a bound becomes one without samples, any other value 0. It counts what was lost.
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
		w := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			w.Index(i).Set(numbers(v.Index(i), lost))
		}
		return w
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
		if i, ok := v.Interface().(stat.Interval); ok {
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
