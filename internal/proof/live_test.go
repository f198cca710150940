package proof

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/stat"
)

var changed = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// stream is a class of a simulated server.
type stream struct {
	id, text string
	calls    [2]float64 // a window, before and after
	mean     [2]float64 // seconds, before and after
	rows     [2]float64 // per call
	sampled  bool
}

var (
	slow = stream{
		id: "a1", text: "select * from orders where customer = ?", calls: [2]float64{200, 200},
		mean: [2]float64{0.02, 0.01}, rows: [2]float64{1000, 10},
	}
	items = stream{
		id: "b2", text: "select * from items where id = ?", calls: [2]float64{800, 800},
		mean: [2]float64{0.001, 0.001}, rows: [2]float64{1, 1},
	}
)

// world is n minutes before a change and m after it, in which the level of all classes follows a first-order
// autoregression.
func world(r *rand.Rand, n, m int, phi, spread float64, streams ...stream) Case {
	c := Case{
		Action: action, ID: "a-1", Started: changed, Ended: changed.Add(2 * time.Second),
		Before: 24 * time.Hour, After: 24 * time.Hour,
	}
	from := changed.Add(-time.Duration(n) * time.Minute)
	for i := range n + m {
		at := from.Add(time.Duration(i) * time.Minute)
		if i >= n {
			at = at.Add(30 * time.Second)
		}
		c.Traffic.Spans = append(c.Traffic.Spans, Span{at, at.Add(time.Minute), 60})
	}
	for _, s := range streams {
		c.Traffic.Courses = append(c.Traffic.Courses, Course{Class: class.Class{
			ID: s.id, Fingerprint: s.text, Schema: "shop", Sampled: s.sampled,
		}})
	}
	x := r.NormFloat64()
	for i := range n + m {
		x = phi*x + math.Sqrt(1-phi*phi)*r.NormFloat64()
		side := 0
		if i >= n {
			side = 1
		}
		for j, s := range streams {
			calls := math.Floor(s.calls[side] * (0.8 + 0.4*r.Float64()))
			if calls == 0 {
				continue
			}
			sum := &c.Traffic.Courses[j].Sums
			*sum = append(*sum, Sum{
				Span: i, Calls: uint64(calls),
				TimeSec:  calls * s.mean[side] * max(0.05, 1+spread*x) * (1 + 0.02*r.NormFloat64()),
				Examined: known.Of(uint64(calls * s.rows[side])),
			})
		}
	}
	return c
}

func judged(c Case) Live { return Judge(c, sqlshape.Parse) }

func random() *rand.Rand { return rand.New(rand.NewPCG(7, 8)) }

func says(reasons []string, what string) bool {
	return strings.Contains(strings.Join(reasons, "\n"), what)
}

// TestLiveFindsTheGain: a class that became twice as fast is better by ×2, and what does not use the table is no part
// of it.
func TestLiveFindsTheGain(t *testing.T) {
	c := world(random(), 60, 30, 0.5, 0.1, slow, items)
	c.Gain = &finding.Gain{What: "time per call of the class", Lo: 1.5, Hi: 4}
	l := judged(c)
	if l.Result != stat.Better || l.Ratio.Lo > 2 || l.Ratio.Hi < 2 || l.Ratio.N < 3 || len(l.Classes) != 1 ||
		l.Classes[0].Class != "a1" || len(l.Classes[0].Course) != 90 || l.Expected == nil {
		t.Errorf("%+v", l)
	}
	if l.Examined.Center < 90 || l.Examined.Center > 110 {
		t.Errorf("rows examined: %+v", l.Examined)
	}
	// Standardised by hand: (200·0.02 + 800·0.001) ÷ (200·0.01 + 800·0.001)
	if x := l.Whole.Ratio; x.Lo > 4.8/2.8 || x.Hi < 4.8/2.8 {
		t.Errorf("whole: %+v", x)
	}
	back := slow
	back.mean = [2]float64{0.01, 0.02}
	if l := judged(world(random(), 60, 30, 0.5, 0.1, back, items)); l.Result != stat.Worse {
		t.Errorf("%s %+v", l.Result, l.Ratio)
	}
}

// TestLiveMix: calls that only changed in number do not change the ratio, and a mix of other classes is said.
func TestLiveMix(t *testing.T) {
	a, b := slow, items
	a.mean = [2]float64{0.02, 0.02}
	a.calls = [2]float64{200, 600}
	l := judged(world(random(), 120, 120, 0, 0.05, a, b))
	if l.Result != stat.Same || l.Whole.Result != stat.Same || !says(l.Notes, "corrected for that") {
		t.Errorf("%s %s %+v %q", l.Result, l.Whole.Result, l.Whole.Ratio, l.Notes)
	}
	gone := items
	gone.calls, gone.mean = [2]float64{800, 0}, [2]float64{0.1, 0.1}
	l = judged(world(random(), 60, 60, 0, 0.05, slow, gone))
	if l.Whole.Result != stat.Invalid || !says(l.Whole.Reasons, "another mix") || len(l.Whole.Unmatched) != 1 {
		t.Errorf("%+v", l.Whole)
	}
}

// TestLiveFalseVerdicts: of changes that do nothing at most 5 % are called better or worse, however alike neighbours
// are, and of intervals at least 93 % hold 1.
func TestLiveFalseVerdicts(t *testing.T) {
	same := slow
	same.mean = [2]float64{0.02, 0.02}
	r := random()
	for _, phi := range []float64{0, 0.5, 0.9} {
		t.Run(fmt.Sprint(phi), func(t *testing.T) {
			const times = 400
			wrong, hit := 0, 0
			for range times {
				l := judged(world(r, 60, 40, phi, 0.2, same, items))
				if l.Result == stat.Better || l.Result == stat.Worse {
					wrong++
				}
				if l.Ratio.N > 0 && l.Ratio.Lo <= 1 && l.Ratio.Hi >= 1 {
					hit++
				}
			}
			if wrong > times/20 || hit < times*93/100 {
				t.Errorf("%d of %d verdicts are wrong, %d intervals hold the truth", wrong, times, hit)
			}
		})
	}
}

// TestLiveOtherChanges: what changed on one side of the change cuts that side; what came together with it leaves no
// verdict; its own events and those of other tables count for nothing.
func TestLiveOtherChanges(t *testing.T) {
	minutes := func(n int) time.Time { return changed.Add(time.Duration(n) * time.Minute) }
	at := func(kind event.Kind, n int, text string) event.Event {
		return event.Event{At: minutes(n), Kind: kind, Text: text}
	}
	for name, x := range map[string]struct {
		events        []event.Event
		result        stat.Result
		why           string
		before, after int
	}{
		"own": {[]event.Event{
			{At: changed, Kind: event.Action, Ref: "a-1", Text: "alter table orders"},
			{At: changed, Kind: event.DDL, Text: "alter table orders add index"},
			{At: minutes(10), Kind: event.Config, Ref: "a1", Text: "another plan for select"},
			at(event.DDL, 5, "create temporary table scratch"), at(event.Annotation, 5, "hello"),
		}, stat.Better, "", 60, 30},
		"restart before": {[]event.Event{at(event.Restart, -20, "restarted")}, stat.Better, "", 20, 30},
		"setting after":  {[]event.Event{at(event.Config, 10, "sort_buffer_size 1 → 2")}, stat.Better, "", 60, 9},
		"restart just before": {
			[]event.Event{at(event.Restart, -2, "restarted")},
			stat.Invalid, "too few windows", 2, 30,
		},
		"together": {
			[]event.Event{{At: changed.Add(5 * time.Second), Kind: event.Config, Text: "x 1 → 2"}},
			stat.Invalid, "other changes at the same time", 60, 30,
		},
		"another action": {
			[]event.Event{{At: minutes(3), Kind: event.Action, Ref: "a-2", Text: "drop index"}},
			stat.Invalid, "too few windows", 60, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := world(random(), 60, 30, 0.3, 0.05, slow, items)
			c.Events = x.events
			l := judged(c)
			if l.Result != x.result || !says(l.Reasons, x.why) || l.Before.Windows != x.before ||
				l.After.Windows != x.after {
				t.Errorf("%s %q, %d and %d windows", l.Result, l.Reasons, l.Before.Windows, l.After.Windows)
			}
		})
	}
}

// TestLiveSchemaChanges: another change of any table that the statements use is one, even right after; of other tables,
// and of those whose names only hold that of one, none.
func TestLiveSchemaChanges(t *testing.T) {
	joined := slow
	joined.text = "select * from orders o join customers c on c.id = o.customer where o.day = ?"
	for text, why := range map[string]string{
		"ALTER TABLE orders ADD KEY by_day (day)":    "", // its own
		"ALTER TABLE customers ADD KEY by_name (n)":  "a schema change (ALTER TABLE customers",
		"4 more: TRUNCATE TABLE customers":           "a schema change (4 more: TRUNCATE TABLE customers)",
		"9 more: " + event.OtherDDL:                  "a schema change (9 more: ",
		"ALTER TABLE order_items ADD KEY a (b)":      "",
		"ALTER TABLE old_customers ADD KEY by_b (b)": "",
	} {
		t.Run(text, func(t *testing.T) {
			c := world(random(), 60, 30, 0.3, 0.05, joined, items)
			c.Action.Index.Name = "by_day"
			c.Events = []event.Event{{At: changed.Add(20 * time.Second), Kind: event.DDL, Text: text}}
			l := judged(c)
			if (l.Result == stat.Invalid) != (why != "") || !says(l.Reasons, why) {
				t.Errorf("%s %q", l.Result, l.Reasons)
			}
			c.Events[0].At = changed.Add(20 * time.Minute)
			own := strings.Contains(text, "TABLE orders")
			if l := judged(c); (l.After.Windows < 30) != (why != "" || own) || l.Result != stat.Better {
				t.Errorf("later: %d windows, %s %q", l.After.Windows, l.Result, l.Reasons)
			}
		})
	}
}

// TestLiveRefuses: what says nothing is invalid, with the reason.
func TestLiveRefuses(t *testing.T) {
	rare, guessed := slow, slow
	rare.calls, guessed.sampled = [2]float64{200, 0.9}, true
	gap := world(random(), 60, 30, 0, 0.05, slow, items)
	for i := range gap.Traffic.Spans {
		gap.Traffic.Spans[i].Seconds = 10
	}
	for name, x := range map[string]struct {
		c   Case
		why string
	}{
		"too few calls":   {world(random(), 60, 30, 0, 0.05, rare, items), "too few calls"},
		"sampled":         {world(random(), 60, 30, 0, 0.05, guessed, items), "sampled"},
		"no class":        {world(random(), 60, 30, 0, 0.05, items), "no class that the change affects"},
		"gaps":            {gap, "gaps: only 17 %"},
		"too few windows": {world(random(), 60, 4, 0, 0.05, slow), "too few windows: 4 after"},
		"nothing":         {world(random(), 0, 0, 0, 0, slow), "too few windows: 0 before"},
	} {
		t.Run(name, func(t *testing.T) {
			if l := judged(x.c); l.Result != stat.Invalid || !says(l.Reasons, x.why) {
				t.Errorf("%s %q", l.Result, l.Reasons)
			}
		})
	}
}

// TestLiveFinal: what later windows cannot change is said, and only that.
func TestLiveFinal(t *testing.T) {
	late, guessed := slow, slow
	late.calls, guessed.sampled = [2]float64{0, 200}, true
	short := world(random(), 60, 4, 0, 0.05, slow, items)
	cut := world(random(), 60, 30, 0, 0.05, slow, items)
	cut.Events = []event.Event{{At: changed.Add(4 * time.Minute), Kind: event.Restart, Text: "restarted"}}
	together := world(random(), 60, 4, 0, 0.05, slow, items)
	together.Events = []event.Event{{
		At: changed.Add(5 * time.Second), Kind: event.Restart, Text: "another server answers: b instead of a",
	}}
	for name, x := range map[string]struct {
		c   Case
		why string
	}{
		"more is needed after": {short, ""},
		"nothing after yet":    {world(random(), 60, 0, 0, 0.05, slow, items), ""},
		"too few before":       {world(random(), 4, 30, 0, 0.05, slow, items), "too few windows: 4 before"},
		"sampled":              {world(random(), 60, 4, 0, 0.05, guessed, items), "were sampled"},
		"none before":          {world(random(), 60, 30, 0, 0.05, late, items), "had 20 calls in 8 windows before"},
		"restart after":        {cut, "only that until 2026-03-04 12:04:00 UTC counts"},
		"another server":       {together, "another server answers: b instead of a at"},
	} {
		t.Run(name, func(t *testing.T) {
			l := judged(x.c)
			if (len(l.Final) > 0) != (x.why != "") || !says(l.Final, x.why) {
				t.Errorf("%q, %s %q", l.Final, l.Result, l.Reasons)
			}
		})
	}
}

// TestLiveCompared: an expected gain is set beside the time per call of the classes it is about, and beside nothing
// when it is of another thing.
func TestLiveCompared(t *testing.T) {
	other := slow
	other.id, other.text = "c3", "update orders set a = ? where id = ?"
	other.mean = [2]float64{0.01, 0.03}
	c := world(random(), 60, 30, 0.3, 0.05, slow, items, other)
	c.About.Classes = []string{"a1"}
	for what, want := range map[string]float64{
		"time per call of the class": 2, "time per statement": (4 + 0.8 + 2) / (2 + 0.8 + 6),
		"pages written for the same changes": 0,
	} {
		c.Gain = &finding.Gain{What: what, Lo: 2, Hi: 4}
		x := judged(c).Compared
		if (x != nil) != (want > 0) || x != nil && (x.Lo > want || x.Hi < want) {
			t.Errorf("%s: %+v, want %g", what, x, want)
		}
	}
	c.Gain = nil
	if x := judged(c).Compared; x != nil {
		t.Errorf("no gain: %+v", x)
	}
}

// TestLiveOtherSource: of a class that another source counts after than before nothing is compared, and that is said.
func TestLiveOtherSource(t *testing.T) {
	c := world(random(), 60, 30, 0.3, 0.05, slow, slow)
	for j := range c.Traffic.Courses {
		x := &c.Traffic.Courses[j]
		x.Class.Origin = []class.Origin{class.PerformanceSchema, class.SlowLog}[j]
		x.Sums = slices.DeleteFunc(x.Sums, func(p Sum) bool { return (p.Span >= 60) != (j == 1) })
	}
	if l := judged(c); l.Result != stat.Invalid || !says(l.Reasons, "by performance_schema before and by slow_log") {
		t.Errorf("%s %q", l.Result, l.Reasons)
	}
}

// TestLiveBeyond: where much of the time is of classes that were not looked at, nothing is said of all, and all is said
// of those that the change affects.
func TestLiveBeyond(t *testing.T) {
	for beyond, want := range map[float64]stat.Result{
		0: stat.Better, 0.1: stat.Better, 0.7: stat.Invalid, 1: stat.Invalid,
	} {
		c := world(random(), 60, 30, 0.3, 0.05, slow, items)
		c.Beyond[1] = beyond
		l := judged(c)
		if l.Whole.Result != want || (want == stat.Invalid) != says(l.Whole.Reasons, "another mix") ||
			(beyond > 0) != says(l.Notes, fmt.Sprintf("%.0f %% of the statement time", 100*beyond)) {
			t.Errorf("%g: %s %q %q", beyond, l.Whole.Result, l.Whole.Reasons, l.Notes)
		}
		if l.Result != stat.Better || len(l.Classes) != 1 {
			t.Errorf("%g: of the class %s %q", beyond, l.Result, l.Reasons)
		}
	}
}

// TestLiveRhythm: a gain that each day brings at that hour is none.
func TestLiveRhythm(t *testing.T) {
	c := world(random(), 60, 30, 0.3, 0.05, slow, items)
	after := c.Traffic.Spans[60:]
	var days []Span
	for d := 3; d >= 1; d-- {
		for _, s := range after {
			back := time.Duration(d) * -24 * time.Hour
			days = append(days, Span{s.From.Add(back), s.To.Add(back), s.Seconds})
		}
	}
	c.Before = 2 * time.Hour
	for j := range c.Traffic.Courses {
		x := &c.Traffic.Courses[j]
		var sums []Sum
		for d := range 3 {
			for _, s := range x.Sums {
				if s.Span >= 60 {
					s.Span += len(after)*d - 60
					sums = append(sums, s)
				}
			}
		}
		for _, s := range x.Sums {
			s.Span += len(days)
			sums = append(sums, s)
		}
		x.Sums = sums
	}
	c.Traffic.Spans = append(days, c.Traffic.Spans...)
	l := judged(c)
	if l.Result != stat.Unstable || !says(l.Reasons, "the day's rhythm") || l.Earlier == nil || l.Ratio.Lo < 1.5 {
		t.Errorf("%s %q %+v %+v", l.Result, l.Reasons, l.Ratio, l.Earlier)
	}
}

// TestLiveGap: windows beyond a long gap do not count when there are enough nearer to the change, and do otherwise.
func TestLiveGap(t *testing.T) {
	for near, want := range map[int]int{20: 20, 4: 60} {
		c := world(random(), 60, 30, 0.3, 0.05, slow, items)
		for i := range 60 - near {
			s := &c.Traffic.Spans[i]
			s.From, s.To = s.From.Add(-10*time.Minute), s.To.Add(-10*time.Minute)
		}
		for i := 75; i < 90; i++ {
			s := &c.Traffic.Spans[i]
			s.From, s.To = s.From.Add(10*time.Minute), s.To.Add(10*time.Minute)
		}
		if l := judged(c); l.Before.Windows != want || l.After.Windows != 15 || l.Result != stat.Better {
			t.Errorf("%d and %d windows, %s %q", l.Before.Windows, l.After.Windows, l.Result, l.Reasons)
		}
	}
}
