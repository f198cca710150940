// Package panel defines the graphs of a server: which series they show, as which figure, in which
// unit. The package draws nothing and reads nothing.
//
// A Panel is one graph and a Line is one series in it. Servers have different names for the same
// thing, so a line has alternatives, called Ways; the first one with data counts. A Way is a sum of
// Terms, optionally divided by another sum. A Term is the series of one name.
package panel

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/source"
)

// Panel is one graph.
type Panel struct {
	ID      string
	Group   string // what question it helps to answer; panels of a group stand together
	Title   string
	Unit    string // of all lines: "/s", "s", "B/s", "B", "cores", "s/s", "ratio" (1 is all), or what is counted
	About   string // one sentence: what it tells, and what it leaves out
	Stacked bool   // the lines add up to a whole
	Lines   []Line
}

// Line is one course.
type Line struct {
	Name    string
	Ways    []Way
	Source  source.Name // what reads it, as the source names it; its state tells why there is nothing
	Unknown string      // why there may be nothing when the source is well
	Limit   bool        // it is what the others may reach at most: drawn when they come near
	Rest    bool        // of a stack: what is left over
	// Of the first way's series, one line for each value of this label: those with the most in the time shown, and
	// their rest together as a line of the name Name. Such a line has one way of one term and no Per.
	By string
}

// Most is how many lines a line By a label becomes at most, besides the one of the others.
const Most = 7

// Of returns the line of one value of the label that l is divided by.
func (l Line) Of(value string) Line {
	w := l.Ways[0]
	t := w.Terms[0]
	t.Match = append(slices.Clip(t.Match), Match{l.By, "=", value})
	w.Terms = []Term{t}
	l.Name, l.Ways, l.By = value, []Way{w}, ""
	return l
}

// Short returns the last two parts of a path, which fit in a legend; other names whole.
func Short(name string) string {
	last := strings.LastIndexByte(name, '/')
	if last < 0 {
		return name
	}
	return name[strings.LastIndexByte(name[:last], '/')+1:]
}

// Way is a sum of terms, over a sum of others when there are some, times Scale when that is not 0.
type Way struct {
	Terms []Term
	Per   []Term
	Scale float64
	Most  bool   // the largest of the series in place of their sum; such a way has one term and nothing else
	Zero  string // a series that is always there when the source was read: without the terms the figure is then 0
}

// Term is the series of one name whose labels match.
type Term struct {
	Name  string
	Rate  bool // they are counters, of which the growth per second counts
	Minus bool // it is taken off
	Match []Match
}

// Match is a condition on a label: Op is "=", "!=", "=~" or "!~" with Prometheus' meaning.
type Match struct{ Label, Op, Value string }

// Expr returns the PromQL of a way for a target; rates are over window ("1m").
func (w Way) Expr(target, window string) string {
	s := sum(w.Terms, w.Most, target, window)
	if len(w.Per) > 0 {
		s = paren(s, len(w.Terms)) + " / " + paren(sum(w.Per, false, target, window), len(w.Per))
	}
	if w.Scale != 0 && w.Scale != 1 {
		s = paren(s, len(w.Terms)+len(w.Per)) + " * " + strconv.FormatFloat(w.Scale, 'g', -1, 64)
	}
	if w.Zero != "" {
		s += " or 0 * sum(" + w.Zero + "{target=" + strconv.Quote(target) + "})"
	}
	return s
}

func paren(s string, terms int) string {
	if terms > 1 {
		return "(" + s + ")"
	}
	return s
}

func sum(ts []Term, most bool, target, window string) string {
	var b strings.Builder
	by := "sum("
	if most {
		by = "max("
	}
	for i, t := range ts {
		switch {
		case t.Minus:
			b.WriteString(" - ")
		case i > 0:
			b.WriteString(" + ")
		}
		b.WriteString(by)
		if t.Rate {
			b.WriteString("rate(")
		}
		b.WriteString(t.Name + `{target=` + strconv.Quote(target))
		for _, m := range t.Match {
			b.WriteString("," + m.Label + m.Op + strconv.Quote(m.Value))
		}
		b.WriteByte('}')
		if t.Rate {
			b.WriteString("[" + window + "])")
		}
		b.WriteByte(')')
	}
	return b.String()
}

// Find returns the panel of that id.
func Find(all []Panel, id string) (Panel, bool) {
	for _, p := range all {
		if p.ID == id {
			return p, true
		}
	}
	return Panel{}, false
}
