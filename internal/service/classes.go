package service

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Classes are the query classes of targets, out of the history.
type Classes struct {
	history *history.History
	metrics *Metrics
	ledger  *ledger.Ledger
}

// Line is the load of a class in equal steps of a window: its statement time a second, which is how many of its
// statements ran at a time on average. A step that was not observed is unknown.
type Line struct {
	From   int64                  `json:"from"` // Unix seconds, where the first step begins
	Step   int64                  `json:"step"` // seconds
	Values []known.Value[float64] `json:"values"`
}

// lineSteps is how many steps a line has at most.
const lineSteps = 60

// ClassLines returns the course of each class of a list over a window.
func (s *Classes) ClassLines(ctx context.Context, target string, list []class.Class, from,
	to time.Time,
) ([]Line, error) {
	var keys []history.ClassKey
	for _, c := range list {
		keys = append(keys, variants(c)...)
	}
	windows, courses, err := s.history.Courses(ctx, target, keys, from, to)
	if err != nil {
		return nil, err
	}
	g := newGrid(windows, from, to)
	lines := make([]Line, len(list))
	for i, c := range list {
		var all []history.Point
		for _, k := range variants(c) {
			all = append(all, courses[k]...)
		}
		lines[i] = g.line(all)
	}
	return lines, nil
}

// variants are the ways in which a class may have been seen one after the other.
func variants(c class.Class) []history.ClassKey {
	return []history.ClassKey{
		{ID: c.ID, Schema: c.Schema, Origin: class.PerformanceSchema},
		{ID: c.ID, Schema: c.Schema, Origin: class.PgStatStatements},
		{ID: c.ID, Schema: c.Schema, Origin: class.SlowLog},
		{ID: c.ID, Schema: c.Schema, Origin: class.Processlist, Sampled: true},
	}
}

// grid divides a window into equal steps.
type grid struct {
	windows  []history.Window
	from     int64
	step     int64
	n        int
	observed []float64 // seconds of each step
}

func newGrid(windows []history.Window, from, to time.Time) grid {
	span := max(to.Unix()-from.Unix(), 1)
	g := grid{windows: windows, step: 60}
	for span > g.step*lineSteps {
		switch { // steps that people know
		case g.step < 3600:
			g.step = nextOf(g.step, 60, 120, 300, 600, 900, 1800, 3600)
		case g.step < 86400:
			g.step = nextOf(g.step, 3600, 7200, 14400, 21600, 43200, 86400)
		default:
			g.step += 86400
		}
	}
	g.from = from.Unix() - mod(from.Unix(), g.step)
	g.n = int((to.Unix() - g.from + g.step - 1) / g.step)
	g.n = max(g.n, 1)
	g.observed = make([]float64, g.n)
	for _, w := range windows {
		g.spread(w, func(i int, share float64) { g.observed[i] += share * w.Seconds })
	}
	return g
}

func mod(a, b int64) int64 { return ((a % b) + b) % b }

func nextOf(x int64, steps ...int64) int64 {
	for _, s := range steps {
		if s > x {
			return s
		}
	}
	return x
}

// spread shares a window out among the steps it lies in.
func (g *grid) spread(w history.Window, f func(step int, share float64)) {
	a, b := float64(w.From.UnixMilli())/1000, float64(w.To.UnixMilli())/1000
	if b <= a {
		return
	}
	first := max(int((a-float64(g.from))/float64(g.step)), 0)
	for i := first; i < g.n; i++ {
		lo := float64(g.from + int64(i)*g.step)
		hi := lo + float64(g.step)
		part := min(b, hi) - max(a, lo)
		if lo >= b {
			return
		}
		if part > 0 {
			f(i, part/(b-a))
		}
	}
}

func (g *grid) line(points []history.Point) Line {
	sums := make([]float64, g.n)
	for _, p := range points {
		g.spread(g.windows[p.Window], func(i int, share float64) { sums[i] += share * p.TimeSec })
	}
	l := Line{From: g.from, Step: g.step, Values: make([]known.Value[float64], g.n)}
	for i, sec := range g.observed {
		if sec > float64(g.step)/100 { // a few milliseconds at the edge tell nothing
			l.Values[i] = known.Of(sums[i] / sec)
		}
	}
	return l
}

// ClassList is the classes of a window with the most time.
type ClassList struct {
	Classes  []class.Class
	Found    known.Value[int] // of a search: how many classes have it, those that the list leaves out too
	Coverage history.Coverage // of all classes
	// Rate is how many statements a second the server counted, those that no class has too.
	Rate known.Value[float64]
}

// MostWords is how many words a search has: each is looked for in every class.
const MostWords = 16

// ErrManyWords is the answer to a search with more words than MostWords.
var ErrManyWords = fmt.Errorf("a search has %d different words at most", MostWords)

// Classes returns the n classes that took most time in a window; with a search, of those that have all of its words in
// their statement, id, tables or default database, whatever the case.
func (s *Classes) Classes(ctx context.Context, target string, from, to time.Time, search string,
	n int,
) (ClassList, error) {
	var keep []func(class.Class) bool
	words, found := strings.Fields(strings.ToLower(search)), 0
	slices.Sort(words)
	if words = slices.Compact(words); len(words) > MostWords {
		return ClassList{}, ErrManyWords
	}
	if len(words) > 0 {
		keep = append(keep, func(c class.Class) bool {
			if !hasWords(c, words) {
				return false
			}
			found++
			return true
		})
	}
	list, cover, err := s.history.Classes(ctx, target, from, to, 0, keep...)
	all := len(list)
	list = oneEach(list)
	l := ClassList{Classes: list, Coverage: cover}
	if len(words) > 0 {
		l.Found = known.Of(found - all + len(list))
	} else {
		l.Coverage.Classes -= all - len(list)
	}
	if n > 0 {
		l.Classes = l.Classes[:min(n, len(l.Classes))]
	}
	if err == nil {
		l.Rate, err = s.metrics.StatementRate(ctx, target, from, to)
	}
	return l, err
}

// oneEach makes one class of those with one id and default database, which several sources told of one after the other:
// it says that it is of the one with the most time. They are ordered by time, and stay so.
func oneEach(list []class.Class) []class.Class {
	at := map[[2]string]int{}
	out := list[:0]
	for _, c := range list {
		k := [2]string{c.ID, c.Schema}
		if i, ok := at[k]; ok {
			out[i].Add(c)
			continue
		}
		at[k] = len(out)
		out = append(out, c)
	}
	if len(out) < len(list) {
		slices.SortStableFunc(out, func(a, b class.Class) int { return cmp.Compare(b.TimeSec, a.TimeSec) })
	}
	return out
}

// hasWords reports whether a class has all words, which are in lower case.
func hasWords(c class.Class, words []string) bool {
	text := strings.ToLower(c.ID + "\n" + c.Digest + "\n" + c.Schema + "\n" + c.Fingerprint)
	tables := ""
	for _, w := range words {
		if strings.Contains(text, w) {
			continue
		}
		// A name that the statement writes otherwise: `shop` . `orders`, or orders in the database shop.
		if !strings.Contains(w, ".") {
			return false
		}
		if tables == "" {
			_, named := app.Names(c)
			for _, t := range named {
				if !strings.Contains(t, ".") {
					t = c.Schema + "." + t
				}
				tables += strings.ToLower(t) + "\n"
			}
		}
		if !strings.Contains(tables, w) {
			return false
		}
	}
	return true
}

// ClassExtra is what is kept of a class beside its figures.
type ClassExtra struct {
	Item     string         `json:"item"`     // short form: SELECT orders customers
	Tables   []string       `json:"tables"`   // schema.table or table, as the statement writes them
	Examples []ClassExample `json:"examples"` // the slowest first, those of unknown time last
	Plans    []ClassPlan    `json:"plans"`    // newest first
	// Definitions are those of Tables, in their order, at most 16.
	Definitions []ClassTable `json:"definitions"`
}

// ClassExample is one execution as it was sent, with its literals.
type ClassExample struct {
	At     time.Time            `json:"at"`
	SQL    string               `json:"sql"`
	Schema string               `json:"schema,omitzero"`
	User   string               `json:"user,omitzero"`
	Host   string               `json:"host,omitzero"`
	Sec    known.Value[float64] `json:"sec,omitzero"`
}

// ClassPlan is an execution plan of a class, and how it differs from the one that it had before with the same default
// database.
type ClassPlan struct {
	Hash      string    `json:"hash"`
	Schema    string    `json:"schema,omitzero"`
	FirstSeen time.Time `json:"first_seen"` // with a Before, when it changed: within the ten minutes before
	LastSeen  time.Time `json:"last_seen"`
	// the statement's parameters were unknown; typical values were used
	Guess   bool           `json:"guess,omitzero"`
	Steps   []explain.Step `json:"steps"`
	Text    string         `json:"plan,omitzero"`    // as the server gave it
	Before  string         `json:"before,omitzero"`  // hash of the plan before
	Changes []string       `json:"changes,omitzero"` // against the plan before, in words
}

// ClassExtra returns what is kept of a class of a target beside its figures, and its tables as they were at the end of
// a window; an unknown class has nothing.
func (s *Classes) ClassExtra(ctx context.Context, target string, c class.Class, end time.Time) (ClassExtra, error) {
	item, tables := app.Names(c)
	x := ClassExtra{
		Item: item, Tables: append([]string{}, tables...), Examples: []ClassExample{}, Plans: []ClassPlan{},
		Definitions: []ClassTable{},
	}
	samples, err := s.history.Samples(ctx, target, c.ID)
	if err != nil {
		return x, err
	}
	for _, e := range samples {
		x.Examples = append(x.Examples, ClassExample{
			At: e.At, SQL: e.SQL, Schema: e.Schema, User: e.User,
			Host: e.Host, Sec: e.Sec,
		})
	}
	plans, err := s.history.Plans(ctx, target, c.ID)
	if err != nil {
		return x, err
	}
	x.Plans = classPlans(plans)
	x.Definitions, err = s.classTables(ctx, target, c, tables, plans, end)
	return x, err
}

// classPlans tells of each plan what became another with it. The same plan may come again later, which is a change as
// well.
func classPlans(plans []history.Plan) []ClassPlan {
	out := make([]ClassPlan, 0, len(plans))
	for i, p := range plans {
		c := ClassPlan{
			Hash: p.Hash, Schema: p.Schema, FirstSeen: p.First, LastSeen: p.Last, Guess: p.Plan.Guess,
			Steps: p.Plan.Steps, Text: p.Plan.Raw,
		}
		if c.Steps == nil {
			c.Steps = []explain.Step{}
		}
		for _, old := range plans[i+1:] { // the latest first
			if old.Schema == p.Schema {
				c.Before, c.Changes = old.Hash, PlanChanges(old.Plan, p.Plan)
				break
			}
		}
		out = append(out, c)
	}
	return out
}

// PlanChanges says in words what one plan does otherwise than another: another order of tables, another access or key,
// other extras. Estimates of rows are told where they differ by a factor of two and the access is another one.
func PlanChanges(old, now explain.Plan) []string {
	out := []string{}
	names := func(p explain.Plan) (all []string) {
		for _, s := range p.Steps {
			all = append(all, s.Table)
		}
		return all
	}
	a, b := names(old), names(now)
	if !slices.Equal(a, b) {
		x, y := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
		if slices.Equal(x, y) {
			out = append(out, fmt.Sprintf("order of tables: %s → %s", strings.Join(a, ", "), strings.Join(b, ", ")))
		} else {
			for _, t := range a {
				if !slices.Contains(b, t) {
					out = append(out, t+": no longer in the plan")
				}
			}
			for _, t := range b {
				if !slices.Contains(a, t) {
					out = append(out, t+": new in the plan")
				}
			}
		}
	}
	used := make([]bool, len(old.Steps))
	for _, y := range now.Steps {
		i := slices.IndexFunc(old.Steps, func(x explain.Step) bool { return x.Table == y.Table })
		for ; i >= 0 && i < len(used) && used[i]; i++ { // the table a second time
			if j := slices.IndexFunc(old.Steps[i+1:], func(x explain.Step) bool { return x.Table == y.Table }); j >= 0 {
				i += j
			} else {
				i = len(used)
			}
		}
		if i < 0 || i >= len(used) {
			continue
		}
		used[i] = true
		x := old.Steps[i]
		tell := func(what, from, to string) {
			if from != to {
				out = append(out, fmt.Sprintf("%s: %s %s → %s", y.Table, what,
					cmp.Or(from, "none"), cmp.Or(to, "none")))
			}
		}
		tell("select type", x.SelectType, y.SelectType)
		tell("access", x.Access, y.Access)
		tell("key", x.Key, y.Key)
		if x.Key == y.Key {
			tell("length of the key", x.KeyLen, y.KeyLen)
		}
		tell("ref", x.Ref, y.Ref)
		for _, e := range y.Extra {
			if !slices.Contains(x.Extra, e) {
				out = append(out, y.Table+": now "+e)
			}
		}
		for _, e := range x.Extra {
			if !slices.Contains(y.Extra, e) {
				out = append(out, y.Table+": no longer "+e)
			}
		}
		if (x.Access != y.Access || x.Key != y.Key) && x.Rows > 0 && y.Rows > 0 &&
			max(x.Rows/y.Rows, y.Rows/x.Rows) >= 2 {
			out = append(out, fmt.Sprintf("%s: estimated rows %.0f → %.0f", y.Table, x.Rows, y.Rows))
		}
	}
	return out
}

// Period is a stretch of time that is asked about.
type Period struct{ From, To time.Time }

// PeriodSide is one of two periods that are compared.
type PeriodSide struct {
	From     time.Time        `json:"from"` // as asked
	To       time.Time        `json:"to"`
	Coverage history.Coverage `json:"coverage"` // its observed part; rates are over its seconds
	Load     float64          `json:"load"`     // of all classes, seconds of statement time a second
	PerSec   float64          `json:"per_sec"`  // statements, as the server counted them
}

// PeriodFigures is what a class did in a period. Rates are over what was observed of it.
type PeriodFigures struct {
	Count    uint64               `json:"count"`
	PerSec   float64              `json:"per_sec"`
	Load     float64              `json:"load"`  // seconds of statement time a second
	Share    float64              `json:"share"` // of the time of all classes of the period, 0 to 1
	TimeSec  float64              `json:"time_sec"`
	Mean     known.Value[float64] `json:"mean_sec,omitzero"` // of one statement
	P95      known.Value[float64] `json:"p95_sec,omitzero"`  // where the period is of one window
	Examined known.Value[float64] `json:"examined_per_call,omitzero"`
	Sent     known.Value[float64] `json:"sent_per_call,omitzero"`
	Errors   known.Value[float64] `json:"errors_per_sec,omitzero"`
	Sampled  bool                 `json:"sampled,omitzero"` // estimated from samples of what was running
}

// PeriodClass is a class in both periods. The ratios are after ÷ before, where both are known and above zero.
type PeriodClass struct {
	ID          string         `json:"id"`
	Fingerprint string         `json:"fingerprint"`
	Item        string         `json:"item"`
	Before      *PeriodFigures `json:"before,omitempty"` // missing: it did not run, as far as was observed
	After       *PeriodFigures `json:"after,omitempty"`
	// Change is of the mean time of a statement; where it is unclear Reason says why.
	Change digest.ClassVerdict `json:"change"`
	Reason string              `json:"reason,omitzero"`
	// LoadChange is after - before, seconds of statement time a second: what the list is sorted by.
	LoadChange float64 `json:"load_change"`
	// Mean is the ratio with its interval where it could be judged; MeanRatio is the plain ratio.
	Mean      known.Value[stat.Interval] `json:"mean,omitzero"`
	MeanRatio known.Value[float64]       `json:"mean_ratio,omitzero"`
	Load      known.Value[float64]       `json:"load_ratio,omitzero"`
	Calls     known.Value[float64]       `json:"calls_ratio,omitzero"`
	P95       known.Value[float64]       `json:"p95_ratio,omitzero"`
	Examined  known.Value[float64]       `json:"examined_ratio,omitzero"`
}

// PeriodComparison sets the classes of two periods side by side.
type PeriodComparison struct {
	Target  string        `json:"target"`
	Before  PeriodSide    `json:"before"`
	After   PeriodSide    `json:"after"`
	Result  stat.Result   `json:"result"` // of all: worse, better, same, unstable, or invalid
	Reasons []string      `json:"reasons,omitempty"`
	Notes   []string      `json:"notes,omitempty"` // what limits the comparison
	Classes []PeriodClass `json:"classes"`         // greatest change of load first
	Total   int           `json:"total"`           // classes of both periods, those left out of Classes too
}

// judged is how many classes of either period are judged by how much they differ from minute to minute.
const judged = 200

// ComparePeriods joins the classes of two periods by their id and says what changed, the most (0: all) classes with the
// greatest change of load first. Whether the mean time of a class changed by more than noise is judged by
// digest.Compare from how much it differs from minute to minute, for the classes with most time; sampled ones are not
// judged.
func (s *Classes) ComparePeriods(ctx context.Context, target string, before, after Period,
	most int,
) (PeriodComparison, error) {
	p := PeriodComparison{Target: target, Classes: []PeriodClass{}}
	a, err := s.side(ctx, target, before)
	if err != nil {
		return p, err
	}
	b, err := s.side(ctx, target, after)
	if err != nil {
		return p, err
	}
	p.Before, p.After = a.side, b.side
	c := digest.Compare(a.report, b.report, "before", "after",
		digest.CompareOptions{Sides: [2]string{"the period before", "the period after"}})
	p.Result, p.Reasons = c.Result, c.Reasons
	for _, x := range []struct {
		name string
		s    PeriodSide
	}{{"before", a.side}, {"after", b.side}} {
		asked := x.s.To.Sub(x.s.From).Seconds()
		switch {
		case x.s.Coverage.Seconds == 0:
			p.Notes = append(p.Notes, "nothing was observed in the period "+x.name)
			p.Result, p.Reasons = stat.Invalid, nil
		case x.s.Coverage.Seconds < 0.9*asked:
			p.Notes = append(p.Notes, fmt.Sprintf("data of the period %s covers %.0f of %.0f min", x.name,
				x.s.Coverage.Seconds/60, asked/60))
		}
	}
	if most := max(a.side.Coverage.Classes, b.side.Coverage.Classes); most > history.MostClasses {
		p.Notes = append(p.Notes, fmt.Sprintf("there are %d classes: the %d with the most time are compared", most,
			history.MostClasses))
	}
	if before.From.Before(after.To) && after.From.Before(before.To) {
		p.Notes = append(p.Notes, "the periods overlap: part of each is compared with itself")
	}
	p.Total = len(c.Classes)
	for _, x := range c.Classes {
		p.Classes = append(p.Classes, periodClass(x, a, b))
	}
	slices.SortStableFunc(p.Classes, func(x, y PeriodClass) int {
		return cmp.Or(cmp.Compare(math.Abs(y.LoadChange), math.Abs(x.LoadChange)), strings.Compare(x.ID, y.ID))
	})
	if most > 0 && len(p.Classes) > most {
		p.Classes = p.Classes[:most]
	}
	return p, nil
}

// periodOf is a period with its classes, each once.
type periodOf struct {
	side    PeriodSide
	classes map[string]*class.Class
	report  digest.Report
}

func (s *Classes) side(ctx context.Context, target string, p Period) (periodOf, error) {
	list, cover, err := s.history.Classes(ctx, target, p.From, p.To, 0)
	if err != nil {
		return periodOf{}, err
	}
	o := periodOf{side: PeriodSide{From: p.From, To: p.To, Coverage: cover}, classes: map[string]*class.Class{}}
	if cover.Seconds > 0 {
		o.side.Load, o.side.PerSec = cover.TimeSec/cover.Seconds, float64(cover.Count)/cover.Seconds
		rate, err := s.metrics.StatementRate(ctx, target, p.From, p.To)
		if err != nil {
			return o, err
		}
		o.side.PerSec = rate.Or(o.side.PerSec)
	}
	var order []string
	keys := map[string][]history.ClassKey{}
	for _, c := range list {
		keys[c.ID] = append(keys[c.ID], history.KeyOf(c))
		if have := o.classes[c.ID]; have != nil { // with another default database
			have.Add(c)
			continue
		}
		o.classes[c.ID] = &c
		order = append(order, c.ID)
	}
	// The course of the heaviest: what differs from minute to minute is the noise of a comparison.
	var ask []history.ClassKey
	for _, id := range order[:min(len(order), judged)] {
		ask = append(ask, keys[id]...)
	}
	windows, courses, err := s.history.Courses(ctx, target, ask, p.From, p.To)
	if err != nil {
		return o, err
	}
	r := &o.report
	r.Version, r.Global.Source, r.Global.Target = digest.Version, string(class.PerformanceSchema), target
	if len(list) > 0 && list[0].Origin == class.PgStatStatements {
		r.Global.Source = string(class.PgStatStatements)
	}
	r.Global.Count, r.Global.Entries, r.Global.Classes = cover.Count, cover.Count, len(order)
	if cover.Seconds > 0 { // rates are over what was observed
		r.Global.Began, r.Global.Ended = cover.From, cover.From.Add(time.Duration(cover.Seconds*float64(time.Second)))
	}
	r.Global.Attributes = map[string]digest.Figures{"query_time": {Count: cover.Count, Sum: cover.TimeSec}}
	for i, id := range order {
		c := o.classes[id]
		item, _ := app.Names(*c)
		x := digest.Row{
			Rank: i + 1, ID: id, Fingerprint: c.Fingerprint, Item: item, Count: c.Count, Sampled: c.Sampled,
		}
		if cover.TimeSec > 0 {
			x.Share = c.TimeSec / cover.TimeSec
		}
		f := digest.Figures{Count: c.Count, Sum: c.TimeSec, Max: c.MaxSec, P95: c.P95Sec, Estimated: c.Sampled}
		if !c.Sampled && i < judged {
			x.PerMinute = course(windows, courses, keys[id])
			if steps := ran(x.PerMinute); steps >= fewestMinutes {
				f.Stddev = known.Of(0.0) // what single statements spread is in what minutes do
			}
		}
		x.Attributes = map[string]digest.Figures{"query_time": f}
		r.Classes = append(r.Classes, x)
	}
	return o, nil
}

// fewestMinutes is how many windows a class must have run in for digest.Compare to take the noise from them.
const fewestMinutes = 8

func course(windows []history.Window, courses map[history.ClassKey][]history.Point,
	keys []history.ClassKey,
) digest.Minutes {
	if len(windows) == 0 {
		return digest.Minutes{}
	}
	m := digest.Minutes{
		Start: windows[0].From, StepSec: windows[0].To.Sub(windows[0].From).Seconds(),
		Counts: make([]uint64, len(windows)), QuerySec: make([]float64, len(windows)),
	}
	for _, k := range keys {
		for _, p := range courses[k] {
			m.Counts[p.Window] += p.Count
			m.QuerySec[p.Window] += p.TimeSec
		}
	}
	return m
}

func ran(m digest.Minutes) (n int) {
	for _, c := range m.Counts {
		if c > 0 {
			n++
		}
	}
	return n
}

func periodClass(x digest.ClassCompared, a, b periodOf) PeriodClass {
	c := PeriodClass{
		ID: x.ID, Fingerprint: x.Fingerprint, Item: x.Item, Change: x.Change, Reason: x.Reason, Mean: x.Mean,
		Before: a.figures(x.ID), After: b.figures(x.ID),
	}
	if c.Before != nil {
		c.LoadChange -= c.Before.Load
	}
	if c.After != nil {
		c.LoadChange += c.After.Load
	}
	for name, o := range map[string]periodOf{"before": a, "after": b} {
		if o.side.Coverage.Seconds == 0 {
			c.Change, c.Reason = digest.Unclear, "nothing was observed "+name
		}
	}
	if c.Before == nil || c.After == nil {
		return c
	}
	if c.Change == digest.Unclear && !c.Mean.OK() { // in the words of what is kept, not of logs
		switch {
		case c.Before.Sampled || c.After.Sampled:
			c.Reason = "its figures are estimated from samples"
		case min(c.Before.Count, c.After.Count) < digest.DefaultMinCount:
			c.Reason = fmt.Sprintf("it ran %s in one of the periods, %d times are needed",
				unit.Plural(int(min(c.Before.Count, c.After.Count)), "time", "times"), digest.DefaultMinCount)
		default:
			c.Reason = fmt.Sprintf("it ran in fewer than %d minutes of a period, or is not among the %d with most "+
				"time: noise cannot be estimated", fewestMinutes, judged)
		}
	}
	c.MeanRatio = over(c.Before.Mean, c.After.Mean)
	c.Load = over(known.Of(c.Before.Load), known.Of(c.After.Load))
	c.Calls = over(known.Of(c.Before.PerSec), known.Of(c.After.PerSec))
	c.P95 = over(c.Before.P95, c.After.P95)
	c.Examined = over(c.Before.Examined, c.After.Examined)
	return c
}

func (o *periodOf) figures(id string) *PeriodFigures {
	c := o.classes[id]
	if c == nil || o.side.Coverage.Seconds <= 0 {
		return nil
	}
	sec := o.side.Coverage.Seconds
	f := &PeriodFigures{
		Count: c.Count, PerSec: float64(c.Count) / sec, Load: c.TimeSec / sec, TimeSec: c.TimeSec,
		Mean: c.MeanSec(), P95: c.P95Sec,
		Examined: c.PerCall(c.Examined), Sent: c.PerCall(c.RowsSent), Sampled: c.Sampled,
	}
	if all := o.side.Coverage.TimeSec; all > 0 {
		f.Share = c.TimeSec / all
	}
	if n, ok := c.Errors.Get(); ok {
		f.Errors = known.Of(float64(n) / sec)
	}
	return f
}

// over returns b ÷ a where both are known and above 0.
func over(a, b known.Value[float64]) known.Value[float64] {
	x, okx := a.Get()
	y, oky := b.Get()
	if r := y / x; okx && oky && x > 0 && y > 0 && !math.IsInf(r, 0) {
		return known.Of(r)
	}
	return known.None[float64]()
}
