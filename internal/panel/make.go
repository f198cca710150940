package panel

import "github.com/dyno-perf/dyno/internal/source"

// The questions that groups of panels answer, in the order of looking for a bottleneck.
const (
	Busy  = "Is it busy?"
	Work  = "With what?"
	Waits = "What does it wait for?"
	Limit = "Is memory or the disk the limit?"
)

// Throughput is the id of the panel whose first line is the statements a second, or the transactions of a family that
// counts no statements.
const Throughput = "throughput"

// Rate is the growth a second of the counters of that name whose labels match.
func Rate(name string, ms ...Match) Term { return Term{Name: name, Rate: true, Match: ms} }

// Gauge is the series of that name whose labels match.
func Gauge(name string, ms ...Match) Term { return Term{Name: name, Match: ms} }

// Less takes a term off.
func Less(t Term) Term { t.Minus = true; return t }

// Is asks for a label's value.
func Is(label, value string) Match { return Match{label, "=", value} }

// Like asks for a label that matches an expression as a whole.
func Like(label, re string) Match { return Match{label, "=~", re} }

// Unlike asks for a label that does not.
func Unlike(label, re string) Match { return Match{label, "!~", re} }

// Sum is the way that adds terms up.
func Sum(ts ...Term) Way { return Way{Terms: ts} }

// Times returns the way with its figures times f.
func (w Way) Times(f float64) Way { w.Scale = f; return w }

// Over returns the way over a sum.
func (w Way) Over(ts ...Term) Way { w.Per = ts; return w }

// NewLine returns a line that a source gives, in the first of the ways that has data.
func NewLine(name string, from source.Name, ways ...Way) Line {
	return Line{Name: name, Source: from, Ways: ways}
}

// Else returns the line with what is told when it has nothing though its source is well.
func (l Line) Else(why string) Line { l.Unknown = why; return l }

// Each returns the line as one for each value of a label, see Line.By.
func (l Line) Each(label string) Line { l.By = label; return l }

// AsLimit returns the line as what the others may reach at most.
func (l Line) AsLimit() Line { l.Limit = true; return l }

// AsRest returns the line as what is left over.
func (l Line) AsRest() Line { l.Rest = true; return l }
