package exposition

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Group is the newest samples of one target, each series once.
type Group struct {
	Labels  metric.Labels // added to each sample; one that a sample has already keeps its value under exported_<name>
	Samples []metric.Sample
}

// Write writes all samples of the groups in order of name and labels: equal samples give equal bytes. Of two samples of
// one series the first is written. Markers of the end of a series are left out. help returns a sentence on a metric, ""
// for none.
//
// Text names each counter a counter. OpenMetrics allows that only for names that end in _total: the others keep their
// name and are of unknown type there, for a name that dashboards know is worth more.
func Write(w io.Writer, f Format, help func(name string) string, groups ...Group) error {
	var lines []line
	for _, g := range groups {
		for _, s := range g.Samples {
			if stale(s.Value) {
				continue
			}
			lines = append(lines, line{
				name: name(s.Name), labels: join(s.Labels, g.Labels),
				kind: s.Kind, value: s.Value,
			})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.labels, b.labels)
	})
	lines = slices.CompactFunc(lines, func(a, b line) bool { return a.name == b.name && a.labels == b.labels })
	names := map[string]bool{}
	for _, l := range lines {
		names[l.name] = true
	}
	var out bytes.Buffer
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && lines[n].name == lines[0].name {
			n++
		}
		family(&out, f, help, lines[:n], names)
		lines = lines[n:]
		if out.Len() >= 1<<16 {
			if _, err := out.WriteTo(w); err != nil {
				return err
			}
		}
	}
	if f == OpenMetrics {
		out.WriteString("# EOF\n")
	}
	_, err := out.WriteTo(w)
	return err
}

type line struct {
	name   string
	labels string // as written, with their braces
	kind   metric.Kind
	value  float64
}

// family writes all lines of one name, one of names.
func family(
	w *bytes.Buffer, f Format, help func(name string) string, lines []line, names map[string]bool,
) {
	name, kind := lines[0].name, lines[0].kind.String()
	for _, l := range lines {
		if l.kind != lines[0].kind {
			kind = "untyped"
		}
	}
	of := name // what the lines of description call it
	if f == OpenMetrics {
		short, total := strings.CutSuffix(name, "_total")
		switch {
		case kind == "counter" && total && short != "" && !names[short]: // no two families may have one name
			of = short
		case kind != "gauge":
			kind = "unknown"
		}
	}
	if h := help(name); h != "" {
		w.WriteString("# HELP " + of + " ")
		if f == OpenMetrics {
			w.WriteString(escapeHelp.Replace(strings.ReplaceAll(h, `"`, `\"`)))
		} else {
			w.WriteString(escapeHelp.Replace(h))
		}
		w.WriteByte('\n')
	}
	w.WriteString("# TYPE " + of + " " + kind + "\n")
	var buf [32]byte
	for _, l := range lines {
		w.WriteString(l.name)
		w.WriteString(l.labels)
		w.WriteByte(' ')
		w.Write(number(buf[:0], l.value))
		w.WriteByte('\n')
	}
}

func number(b []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(b, "+Inf"...)
	case math.IsInf(v, -1):
		return append(b, "-Inf"...)
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case v == math.Trunc(v) && math.Abs(v) < 1e15: // as people write it
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// stale reports whether a value is Prometheus' marker of a series that has ended, one NaN among many.
func stale(v float64) bool { return math.Float64bits(v) == 0x7ff0000000000002 }

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// join writes a sample's own labels and those of its group, in order of name.
func join(own, group metric.Labels) string {
	if len(own)+len(group) == 0 {
		return ""
	}
	all := make(metric.Labels, 0, len(own)+len(group))
	all = append(all, group...)
	for _, l := range own {
		if group.Get(l.Name) != "" {
			l.Name = "exported_" + l.Name
		}
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b metric.Label) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	last := ""
	for _, l := range all {
		n := strings.ReplaceAll(name(l.Name), ":", "_") // metrics alone may have colons in their names
		if l.Value == "" || n == last {                 // an empty label is none
			continue
		}
		last = n
		b.WriteByte("{,"[min(b.Len(), 1)])
		b.WriteString(n)
		b.WriteString(`="`)
		b.WriteString(escapeValue.Replace(strings.ToValidUTF8(l.Value, "\uFFFD")))
		b.WriteByte('"')
	}
	if b.Len() > 0 {
		b.WriteByte('}')
	}
	return b.String()
}

// name makes a name one that every reader of the formats takes: letters, digits, underscores and colons, no digit
// first.
func name(s string) string {
	ok := s != ""
	for i := 0; i < len(s) && ok; i++ {
		ok = fits(s[i], i == 0)
	}
	if ok {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if !fits(c, false) {
			b[i] = '_'
		}
	}
	if len(b) == 0 || !fits(b[0], true) {
		b = append([]byte{'_'}, b...)
	}
	return string(b)
}

func fits(c byte, first bool) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':' || c >= '0' && c <= '9' && !first
}
