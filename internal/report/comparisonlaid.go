package report

import (
	"reflect"
	"slices"

	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// Laid is a comparison laid out as its plan's table says, with the words and figures of its report, for those who draw
// it themselves. Lists are never nil.
type Laid struct {
	Title   string      `json:"title"`  // of the table of the first value
	Values  []LaidValue `json:"values"` // what each cell shows; the first is what the verdicts are about
	Texts   []LaidValue `json:"texts"`  // shown values that are short texts
	RowAxes []string    `json:"row_axes"`
	ColAxes []string    `json:"column_axes"`
	// levels of each row, one for each of RowAxes; a table without axes has one row
	Rows  [][]string `json:"rows"`
	Cols  [][]string `json:"columns"` // of each column; without ColAxes one that is empty
	Cells []LaidCell `json:"cells"`   // row by row; what the plan leaves out is not there
	// how far the ratios of the first value go from 1, as a natural logarithm, with room
	Reach   float64      `json:"reach"`
	Legend  []string     `json:"legend"`
	Tally   []LaidTally  `json:"tally"`
	Control LaidRemark   `json:"control"`
	Speed   string       `json:"speed,omitzero"` // what was done about the speed of the CPUs
	Remarks []LaidRemark `json:"remarks"`        // why cells failed, and what belongs to their verdicts
	Trials  string       `json:"trials"`         // how many there were
	Samples string       `json:"samples"`        // what the n beside a ratio counts: pairs of trials
	Sweeps  []LaidSweep  `json:"sweeps"`         // curves over a numeric axis
	Rungs   []LaidRung   `json:"rungs"`          // every comparison with its interval, one below the other
	Strips  []LaidStrip  `json:"strips"`         // the seconds of the trials
	Lists   []LaidTable  `json:"lists"`          // what an operation costs, bytes written, money, steadiness
	Beside  *LaidTable   `json:"published,omitempty"`
	Judged  *LaidTable   `json:"verdicts,omitempty"` // everything about each verdict
	Differs []Fact       `json:"also_differs"`       // what was not varied on purpose
	Explain []Fact       `json:"explained"`          // what the plan varies and brings along
	Said    []LaidSaid   `json:"said"`               // long texts from probes or readings
	Env     []LaidGroup  `json:"environment"`        // facts that were the same in all trials
	Unread  []string     `json:"unread"`
	Method  []Fact       `json:"method"`
}

// LaidValue is one value that cells show.
type LaidValue struct {
	Name   string    `json:"name"`
	Title  string    `json:"title"`
	Head   string    `json:"head"` // title and unit
	Unit   string    `json:"unit,omitzero"`
	Better Direction `json:"better,omitzero"`
	Usual  int       `json:"usual_n,omitzero"` // trials that most cells have
}

// LaidCell is one variant.
type LaidCell struct {
	Row      int               `json:"row"`
	Col      int               `json:"column"`
	Variant  string            `json:"variant"` // key
	Label    string            `json:"label"`
	Against  string            `json:"against,omitzero"`  // label of its baseline, "" when it is one
	Baseline bool              `json:"baseline,omitzero"` // others are compared with it
	Sign     string            `json:"sign,omitzero"`     // ▲ ▼ = ~ ! ✗
	Word     string            `json:"word,omitzero"`     // "better", "worse", "same", "unstable", "invalid", "failed"
	Figures  []LaidFigure      `json:"figures"`           // in the order of Laid.Values
	Texts    map[string]string `json:"texts,omitempty"`   // by name of Laid.Texts
	Trials   int               `json:"trials"`
	Valid    int               `json:"valid"`
	Failed   string            `json:"failed,omitzero"`
	Reasons  []string          `json:"reasons,omitempty"`
}

// LaidFigure is one value of a cell as it is written, and the underlying numbers.
type LaidFigure struct {
	Value    string `json:"value"`
	Interval string `json:"interval,omitzero"`
	N        int    `json:"n,omitzero"`
	Ratio    string `json:"ratio,omitzero"` // "×1.23", "÷14.2"
	Bounds   string `json:"bounds,omitzero"`
	RatioN   int    `json:"ratio_n,omitzero"`
	// "baseline", "failed", "not run yet", "invalid": then there is no ratio
	Note string         `json:"note,omitzero"`
	At   *stat.Interval `json:"at,omitempty"`
	Of   *stat.Interval `json:"of,omitempty"` // variant ÷ baseline
	Mark sign           `json:"-"`
}

// LaidTally counts the comparisons with the same outcome.
type LaidTally struct {
	Sign  string `json:"sign"`
	Word  string `json:"word"`
	N     int    `json:"n"`
	Class string `json:"-"` // of the page
}

// LaidRemark is something to be said, of some of the cells when Label names them.
type LaidRemark struct {
	Sign  string `json:"sign,omitzero"`
	Word  string `json:"word,omitzero"`
	Label string `json:"label,omitzero"`
	Text  string `json:"text,omitzero"`
	Odd   bool   `json:"odd,omitzero"` // it puts the rest in doubt
}

// LaidSweep is a set of curves over a numeric axis.
type LaidSweep struct {
	Title  string     `json:"title"`
	Axis   string     `json:"axis"`
	Unit   string     `json:"unit"` // of y, in words: shares are in percent
	Ratio  bool       `json:"ratio,omitzero"`
	Log    bool       `json:"log,omitzero"` // equal distances of x should be equal factors
	Margin float64    `json:"margin,omitzero"`
	X      []float64  `json:"x"`
	Names  []string   `json:"names"` // of X
	Lines  []LaidLine `json:"lines"`
	Absent []string   `json:"absent"` // what has no point, and why
}

// LaidLine is one curve; where it has no point its values are null.
type LaidLine struct {
	Name   string     `json:"name"`
	Center []*float64 `json:"center"`
	Lo     []*float64 `json:"lo"`
	Hi     []*float64 `json:"hi"`
	N      []int      `json:"n"`
}

// LaidRung is one comparison, or the head of some.
type LaidRung struct {
	Head  string         `json:"head,omitzero"`
	Label string         `json:"label,omitzero"`
	Sign  string         `json:"sign,omitzero"`
	Word  string         `json:"word,omitzero"`
	Text  string         `json:"text,omitzero"` // "▼ ×0.91"
	Note  string         `json:"note,omitzero"` // instead of a ratio
	Of    *stat.Interval `json:"of,omitempty"`
	// of the page: the class of the sign, and the text for a pointer
	Class  string `json:"-"`
	Detail string `json:"-"`
}

// LaidStrip is the seconds of one variant's trials.
type LaidStrip struct {
	Variant string      `json:"variant"`
	Label   string      `json:"label"`
	Control bool        `json:"control,omitzero"`
	Top     float64     `json:"top"` // operations/s at the upper edge; a variant and its baseline have the same
	Trials  []LaidRates `json:"trials"`
}

// LaidRates are the operations per second of one trial. Of several seconds that share a point the lowest is kept: a
// stall must not vanish in a mean.
type LaidRates struct {
	Seq     int       `json:"seq"`
	Round   int       `json:"round"`
	Seconds float64   `json:"seconds"` // the whole of it
	Invalid string    `json:"invalid,omitzero"`
	Rates   []float64 `json:"rates"` // evenly spread over Seconds
}

// LaidTable is a table of texts.
type LaidTable struct {
	Title string     `json:"title"`
	Note  string     `json:"note,omitzero"`
	Head  []string   `json:"head"`
	Left  int        `json:"left"` // columns that are left-aligned
	Rows  [][]string `json:"rows"`
}

// LaidSaid is a text and the variants that agree in it.
type LaidSaid struct {
	Name string `json:"name"`
	For  string `json:"for"`
	Text string `json:"text"`
}

// LaidGroup is one group of facts.
type LaidGroup struct {
	Name  string `json:"name"`
	Facts []Fact `json:"facts"`
}

// The most points of a strip, and of all strips of a comparison together.
const (
	laidStrip  = 600
	laidStrips = 60_000
)

// Lay lays a result out.
func Lay(r *trial.Result) Laid {
	c := newComparison(r)
	l := Laid{
		Title: c.title(), Values: layValues(c, c.show), Texts: layValues(c, c.texts), RowAxes: c.rowAxes,
		ColAxes: c.colAxes, Reach: c.reach(), Legend: legendOf(c), Tally: tallyOf(c), Speed: correctionText(c),
		Trials: trialsText(r), Samples: samplesText(r), Rungs: ladderOf(c).Rows, Strips: layStrips(c),
		Differs: differencesOf(c, r.AlsoDiffers), Explain: differencesOf(c, r.Explained), Said: saidOf(c),
		Env: environmentOf(r), Unread: unreadOf(r), Method: methodOf(r), Sweeps: each(sweepsOf(c), sweep.laid),
		Rows: c.rows, Cols: c.cols,
		Lists: each(listTables(c), func(g grid) LaidTable { return laid(g.Name, g.Note, g.plain()) }),
		Remarks: each(problemsOf(c), func(p item) LaidRemark {
			return LaidRemark{Sign: p.Sign.Sign, Word: p.Sign.Word, Label: p.Name, Text: p.Text}
		}),
	}
	for i, row := range c.rows {
		for k, col := range c.cols {
			if x := c.at(row, col); x.there {
				l.Cells = append(l.Cells, layCell(c, x, i, k))
			}
		}
	}
	text, m, odd := controlText(r)
	l.Control = LaidRemark{Sign: m.Sign, Word: m.Word, Text: text, Odd: odd}
	if t := publishedTable(c); !t.empty() {
		x := laid(publishedTitle, publishedNote, t)
		l.Beside = &x
	}
	if t := verdictTable(c); !t.empty() {
		x := laid("How each verdict was reached", "", t)
		l.Judged = &x
	}
	return copied(reflect.ValueOf(&l), "", func(v reflect.Value, _ string) (reflect.Value, bool) {
		if v.Kind() == reflect.Slice && v.IsNil() {
			return reflect.MakeSlice(v.Type(), 0, 0), true
		}
		return v, v.Type() == reflect.TypeFor[[]float64]()
	}).Elem().Interface().(Laid)
}

func laid(title, note string, t table) LaidTable {
	return LaidTable{title, note, t.Head, t.Left, t.Rows}
}

func layValues(c *comparison, names []string) []LaidValue {
	return each(names, func(n string) LaidValue {
		m := c.metric(n)
		return LaidValue{n, m.Title, capital(m.head()), m.Unit, m.Better, c.usual(n)}
	})
}

// some is an interval that says something.
func some(i stat.Interval) *stat.Interval {
	if i.N == 0 {
		return nil
	}
	return &i
}

func layCell(c *comparison, x cellView, row, col int) LaidCell {
	m := x.mark()
	out := LaidCell{
		Row: row, Col: col, Variant: x.variant.Key, Label: x.label, Baseline: x.baseline && x.others > 0,
		Sign: m.Sign, Word: m.Word, Texts: map[string]string{}, Trials: x.cell.Trials, Valid: x.cell.Valid,
		Failed: x.cell.Failed,
	}
	if !x.baseline {
		out.Against = c.name(x.variant.Baseline)
	}
	if v := x.cell.Verdict; v != nil {
		out.Reasons = v.Reasons
	}
	out.Figures = each(c.show, func(name string) LaidFigure { return c.parts(x, name) })
	for _, name := range c.texts {
		if s, ok := x.cell.Texts[name]; ok {
			out.Texts[name] = s
		}
	}
	return out
}

func (s sweep) laid() LaidSweep {
	return LaidSweep{
		Title: s.Title, Axis: s.Axis, Unit: s.Unit, Ratio: s.Ratio, Log: s.doubling(), Margin: s.Margin, X: s.Xs,
		Names: s.Names, Absent: s.Missing, Lines: each(s.Lines, func(l sweepLine) LaidLine {
			k := len(s.Xs)
			line := LaidLine{l.Name, make([]*float64, k), make([]*float64, k), make([]*float64, k), make([]int, k)}
			for i, p := range l.Points {
				at := p.At
				at.Center, at.Lo, at.Hi = at.Center*s.Times, at.Lo*s.Times, at.Hi*s.Times
				if line.N[i] = at.N; at.N > 0 {
					line.Center[i] = &at.Center
				}
				if at.Confidence > 0 && at.Hi < 1e15 {
					line.Lo[i], line.Hi[i] = &at.Lo, &at.Hi
				}
			}
			return line
		}),
	}
}

func layStrips(c *comparison) (out []LaidStrip) {
	strips := stripsOf(c)
	for _, s := range strips {
		x := LaidStrip{Label: s.Label, Control: s.Note != "", Top: s.Top}
		most := max(2, min(laidStrip, laidStrips/len(strips))/len(s.Trials))
		for _, t := range s.Trials {
			x.Variant = t.Variant
			r := LaidRates{Seq: t.Seq, Round: t.Round, Invalid: t.Invalid}
			for part := range slices.Chunk(t.Seconds, (len(t.Seconds)+most-1)/most) {
				low := rate(part[0])
				for _, k := range part {
					low = min(low, rate(k))
					r.Seconds += k.Length
				}
				r.Rates = append(r.Rates, low)
			}
			x.Trials = append(x.Trials, r)
		}
		out = append(out, x)
	}
	return out
}
