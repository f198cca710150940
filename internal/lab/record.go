package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Run is one run of a load, for a list.
type Run struct {
	ID        string           `json:"id"`
	Target    string           `json:"target"`
	Workload  string           `json:"workload"`
	State     loadresult.State `json:"state"`
	Started   time.Time        `json:"started"`
	Seconds   float64          `json:"seconds"`
	Sessions  int              `json:"sessions"`
	PerSecond float64          `json:"operations_per_second"`
	// from when operations were due where they were; nil when none ended
	P95     *float64 `json:"p95_seconds,omitempty"`
	Errors  uint64   `json:"errors"`
	Invalid string   `json:"invalid,omitzero"`
}

// RunDetail is a run with its seconds.
type RunDetail struct {
	Run
	Title      string               `json:"title"`
	Sentence   string               `json:"sentence"`
	Error      string               `json:"error,omitzero"`
	Operations uint64               `json:"operations"`
	Queries    uint64               `json:"queries"`
	Reads      uint64               `json:"reads"`
	Writes     uint64               `json:"writes"`
	Others     uint64               `json:"others"`
	Reconnects uint64               `json:"reconnects"`
	Failed     uint64               `json:"given_up"` // operations given up because of errors that were to be ignored
	ByCode     map[string]uint64    `json:"errors_by_code"`
	ErrorText  string               `json:"errors_text"`
	Arrivals   *Arrivals            `json:"arrivals,omitempty"` // where operations were due at moments of their own
	Client     string               `json:"client,omitzero"`
	Fairness   *loadresult.Fairness `json:"fairness,omitempty"`
	Latencies  []Latency            `json:"latencies"`
	Charts     []Chart              `json:"charts"`
	Options    map[string]string    `json:"options"`
	Warnings   []string             `json:"warnings"`
}

// Arrivals accounts for operations that were due: each has begun, or was dropped when the run ended.
type Arrivals struct {
	Due     uint64  `json:"due"`
	Begun   uint64  `json:"begun"`
	Dropped uint64  `json:"dropped"`
	Rate    float64 `json:"due_per_second"`
	Text    string  `json:"text"`
}

// Latency is a distribution, in seconds.
type Latency struct {
	Of        string  `json:"of"`
	Which     string  `json:"which"` // "service", "response", "corrected"
	Statement bool    `json:"statement,omitzero"`
	Count     uint64  `json:"count"`
	Min       float64 `json:"min"`
	Median    float64 `json:"p50"`
	Mean      float64 `json:"mean"`
	P95       float64 `json:"p95"`
	P99       float64 `json:"p99"`
	P999      float64 `json:"p999"`
	Max       float64 `json:"max"`
}

// Chart is a picture over time; a line's values stand at the times of X, Unix seconds, null where it has none.
type Chart struct {
	Title string      `json:"title"`
	Unit  string      `json:"unit"`
	X     []float64   `json:"x"`
	Lines []ChartLine `json:"lines"`
}

// ChartLine is one line of a chart. Where several readings share a point Lo and Hi are their least and greatest.
type ChartLine struct {
	Name string     `json:"name"`
	Y    []*float64 `json:"y"`
	Lo   []*float64 `json:"lo,omitempty"`
	Hi   []*float64 `json:"hi,omitempty"`
}

// Document is one stored report, for a list.
type Document struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"` // "demo", "proof"
	Target   string    `json:"target,omitzero"`
	At       time.Time `json:"at"`
	Title    string    `json:"title"`
	Sentence string    `json:"sentence,omitzero"`
}

// Runs lists the latest runs of loads, newest first.
func (l *Lab) Runs(ctx context.Context, target string, limit int) ([]Run, error) {
	led, err := l.app.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	all, err := led.Runs(ctx, target, limit)
	if err != nil {
		return nil, err
	}
	out := []Run{}
	for i := range all {
		out = append(out, runLine(&all[i]))
	}
	return out, nil
}

func runLine(r *loadresult.Run) Run {
	x := Run{
		ID: r.ID, Target: r.Target, Workload: r.Workload, State: r.State, Started: r.Started,
		Seconds: r.Elapsed.Seconds(), Sessions: r.Total.Threads,
		PerSecond: r.Total.TPS(), Errors: r.Total.ErrorCount(), Invalid: r.Invalid,
	}
	h := r.Total.Response()
	if h == nil {
		h = r.Total.Latency()
	}
	if h.Count() > 0 {
		v := h.Quantile(0.95).Seconds()
		x.P95 = &v
	}
	return x
}

// Run returns one run with its seconds.
func (l *Lab) Run(ctx context.Context, id string) (RunDetail, error) {
	led, err := l.app.Ledger(ctx)
	if err != nil {
		return RunDetail{}, err
	}
	r, err := led.Run(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) {
		return RunDetail{}, fmt.Errorf("%w: no run has the id %q; it may have been removed", ErrNoRecord, id)
	}
	if err != nil {
		return RunDetail{}, err
	}
	doc, err := app.Reports{App: l.app}.Report(ctx, id) // it has the seconds; an old run may have none
	if err != nil {
		return RunDetail{}, err
	}
	t := &r.Total
	x := RunDetail{
		Run: runLine(&r), Title: doc.Title, Sentence: doc.Sentence, Error: r.Error, Operations: t.Operations(),
		Queries: t.Queries(), Reconnects: t.Reconnects,
		ByCode: t.Errors, ErrorText: report.RunErrors(t), Client: report.RunClient(&r), Fairness: r.Fairness,
		Latencies: []Latency{}, Charts: []Chart{},
		Options: r.Options, Warnings: r.Warnings,
	}
	for _, o := range t.Ops {
		x.Reads, x.Writes, x.Others, x.Failed = x.Reads+o.Reads, x.Writes+o.Writes, x.Others+o.Others, x.Failed+o.Failed
	}
	if x.ByCode == nil {
		x.ByCode = map[string]uint64{}
	}
	if x.Options == nil {
		x.Options = map[string]string{}
	}
	if x.Warnings == nil {
		x.Warnings = []string{}
	}
	if o := t.Open; o != nil {
		x.Arrivals = &Arrivals{
			Due: o.Due, Begun: o.Due - min(o.Due, o.Dropped), Dropped: o.Dropped,
			Text: report.RunArrivals(&r),
		}
		if t.Length > 0 {
			x.Arrivals.Rate = float64(o.Due) / t.Length.Seconds()
		}
	}
	for _, y := range report.RunLatencies(&r) {
		x.Latencies = append(x.Latencies, latencyOf(y.Of, y.Which, y.Statement, y.Latency))
	}
	for _, c := range doc.Charts {
		x.Charts = append(x.Charts, chartOf(c))
	}
	return x, nil
}

func latencyOf(of, which string, statement bool, h *hist.Histogram) Latency {
	q := func(v float64) float64 { return h.Quantile(v).Seconds() }
	return Latency{
		of, which, statement, h.Count(), h.Min().Seconds(), q(0.5), h.Mean().Seconds(), q(0.95), q(0.99),
		q(0.999), h.Max().Seconds(),
	}
}

// labPoints is the most points of a line of a chart.
const labPoints = 600

// chartOf puts the lines of a chart on one time axis of at most labPoints points.
func chartOf(c report.Chart) Chart {
	out := Chart{Title: c.Title, Unit: c.Unit, X: []float64{}, Lines: []ChartLine{}}
	var times []int64
	for _, l := range c.Lines {
		for _, p := range l.Points {
			times = append(times, p.At)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	group := max(1, (len(times)+labPoints-1)/labPoints)
	at := map[int64]int{}
	for i, t := range times {
		if i%group == 0 {
			out.X = append(out.X, float64(t)/1000)
		}
		at[t] = i / group
	}
	for _, l := range c.Lines {
		line := ChartLine{Name: l.Name, Y: make([]*float64, len(out.X))}
		n := make([]float64, len(out.X))
		lo, hi := make([]*float64, len(out.X)), make([]*float64, len(out.X))
		for _, p := range l.Points {
			i, v := at[p.At], p.Value
			n[i]++
			if line.Y[i] == nil {
				a, b := v, v
				line.Y[i], lo[i], hi[i] = &v, &a, &b
				continue
			}
			*line.Y[i] += (v - *line.Y[i]) / n[i]
			*lo[i], *hi[i] = min(*lo[i], v), max(*hi[i], v)
		}
		if group > 1 {
			line.Lo, line.Hi = lo, hi
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

// Documents lists the stored reports of demos and proofs, newest first.
func (l *Lab) Documents(ctx context.Context, limit int) ([]Document, error) {
	led, err := l.app.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	var all []ledger.Listed
	for _, kind := range []report.Kind{report.Demo, report.Proof} {
		some, err := led.Documents.Heads(ctx, string(kind), limit)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b ledger.Listed) int { return b.At.Compare(a.At) })
	out := []Document{}
	for _, d := range all[:min(len(all), max(1, limit))] {
		h, err := l.head(ctx, led, d)
		if errors.Is(err, ledger.ErrNotFound) { // it was removed just now
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, Document{d.ID, d.Kind, d.Target, d.At, h.title, h.sentence})
	}
	return out, nil
}

// stampedHead is what a list tells of a document with that stamp.
type stampedHead struct{ stamp, title, sentence string }

// head reads the beginning of a document, or takes what was read of the same one.
func (l *Lab) head(ctx context.Context, led *ledger.Ledger, d ledger.Listed) (stampedHead, error) {
	stamp := stampOf(d)
	l.mu.Lock()
	kept := l.heads[d.ID]
	l.mu.Unlock()
	if kept.stamp == stamp {
		return kept, nil
	}
	full, err := led.Documents.Get(ctx, d.ID)
	if err != nil {
		return stampedHead{}, err
	}
	var told struct {
		Title    string `json:"title"`
		Sentence string `json:"sentence"`
	}
	if err := json.Unmarshal(full.JSON, &told); err != nil {
		told.Title = "damaged: " + err.Error()
	}
	kept = stampedHead{stamp, told.Title, told.Sentence}
	l.mu.Lock()
	l.heads[d.ID] = kept
	l.mu.Unlock()
	return kept, nil
}
