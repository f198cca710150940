// Package proof compares two windows of live traffic, before and after an action, per call of the
// query classes that the action affects. The result is the proof of a change.
//
// Live traffic changes without any action, so totals prove nothing. The comparison is therefore per
// call, and the change in the mix of calls is shown next to it. The package is pure: it gets two
// snapshots and asks no server.
package proof

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// Proof is the comparison.
type Proof struct {
	Action  finding.Action `json:"action"`
	Before  Window         `json:"before"`
	After   Window         `json:"after"`
	Touched []TouchedClass `json:"touched"` // classes that use the action's table, most time before first
	Mix     Mix            `json:"mix"`
	Server  []Figure       `json:"server"` // totals of the server: shown, never the proof
	// Warnings say what weakens the comparison; with any of them the figures stand, the conclusion may not.
	Warnings []string `json:"warnings,omitempty"`
}

// Window is one side of the comparison.
type Window struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Seconds float64   `json:"seconds"`
	Calls   uint64    `json:"calls"` // of all classes
}

// TouchedClass is what happened to one class.
type TouchedClass struct {
	Class       string `json:"class"`
	Schema      string `json:"schema,omitzero"` // default database of the statements: one id may be in several
	Fingerprint string `json:"fingerprint"`
	Before      Side   `json:"before"`
	After       Side   `json:"after"`
	// TimeRatio is the mean time of a call before ÷ after, above 1 is faster; unknown when a side has no exact figures.
	TimeRatio     known.Value[float64] `json:"time_ratio,omitzero"`
	ExaminedRatio known.Value[float64] `json:"rows_examined_ratio,omitzero"`
}

// Verdict says what a comparison of a class proves.
type Verdict string

// A class is faster or slower when its mean time and the rows examined per call changed alike, in enough calls.
const (
	Faster   Verdict = "faster"
	Slower   Verdict = "slower"
	Unproven Verdict = "unproven"
)

// leastChange is the factor below which means of a few seconds differ for no reason.
const leastChange = 1.1

// Verdict judges the class. Mean times alone vary with the machine: only the work per call, which the server counts,
// proves a change.
func (c TouchedClass) Verdict() Verdict {
	time, ok := c.TimeRatio.Get()
	rows, enough := c.RatioOfRows()
	switch {
	case !ok || !enough:
	case time > leastChange && rows > leastChange:
		return Faster
	case time < 1/leastChange && rows < 1/leastChange:
		return Slower
	}
	return Unproven
}

// RatioOfRows returns the rows examined per call before over those after, endless when none are; not ok when they are
// not known on both sides or there were too few calls.
func (c TouchedClass) RatioOfRows() (ratio float64, ok bool) {
	before, okBefore := c.Before.Examined.Get()
	after, okAfter := c.After.Examined.Get()
	switch {
	case !okBefore || !okAfter || min(c.Before.Calls, c.After.Calls) < fewCalls:
		return 0, false
	case before == after:
		return 1, true
	}
	return before / after, true
}

// Side is a class within one window. The means are of Calls executions; sources keep sums only, so there is no
// interval.
type Side struct {
	Seen     bool                 `json:"seen"`
	Sampled  bool                 `json:"sampled,omitzero"`
	Calls    uint64               `json:"calls"`
	PerSec   float64              `json:"calls_per_s"`
	Share    float64              `json:"share"` // of all statement time in the window, 0 to 1
	MeanSec  known.Value[float64] `json:"mean_s,omitzero"`
	Examined known.Value[float64] `json:"rows_examined_per_call,omitzero"`
	Sent     known.Value[float64] `json:"rows_sent_per_call,omitzero"`
}

// Mix says how far the traffic itself changed.
type Mix struct {
	// Shift is the share of calls that would have to change their class to turn one mix into the other, 0 to 1 (total
	// variation distance). Unknown when a side was sampled.
	Shift known.Value[float64] `json:"shift,omitzero"`
	Rows  []MixRow             `json:"rows"` // classes whose share of calls changed most, at most eight
}

// MixRow is one class of the mix.
type MixRow struct {
	Class       string  `json:"class"`
	Fingerprint string  `json:"fingerprint"`
	Before      float64 `json:"before"` // share of calls, 0 to 1
	After       float64 `json:"after"`
}

// Figure is a figure of the whole server on both sides.
type Figure struct {
	Name   string               `json:"name"`
	Unit   string               `json:"unit"`
	Before known.Value[float64] `json:"before"`
	After  known.Value[float64] `json:"after"`
}

// bigShift is the change of mix above which per-call means of a class may differ for reasons of traffic alone.
const bigShift = 0.2

// fewCalls is the number of calls below which a mean says little.
const fewCalls = 20

// weighty is the share of the statement time from which a class is touched by a change of the whole server.
const weighty = 0.02

// Compare sets the two windows side by side. Classes of about name the ones that the finding was about; others that use
// the action's table join them. A change of the whole server, a variable, touches all classes with a share of the
// statement time that counts. parse reads the statements of classes. What the
// server did as a whole is for the caller to add, see Server.
func Compare(
	before, after *snapshot.Snapshot, a finding.Action, about finding.Subject, parse shape.Parse,
) Proof {
	p := Proof{Action: a, Before: window(before), After: window(after)}
	seen := map[key]bool{}
	for _, c := range append(slices.Clone(before.Classes), after.Classes...) {
		k := keyOf(c)
		heavy := a.Table.Table == "" && (share(before, k) >= weighty || share(after, k) >= weighty)
		if seen[k] || !(slices.Contains(about.Classes, c.ID) && fits(c, a) || uses(c, a, parse) || heavy) {
			continue
		}
		seen[k] = true
		p.Touched = append(p.Touched, change(before, after, c))
	}
	slices.SortStableFunc(p.Touched, func(x, y TouchedClass) int { return cmp.Compare(y.Before.Share, x.Before.Share) })
	p.Mix = mix(before, after)
	p.warn(before, after)
	return p
}

// key tells classes apart. A statement has one id in all databases, and tables of one name differ from database to
// database.
type key struct{ schema, id string }

func keyOf(c class.Class) key { return key{c.Schema, c.ID} }

// fits reports whether a class that is known by its id only can be one of the action's table: a finding names no
// databases.
func fits(c class.Class, a finding.Action) bool {
	return a.Table.Schema == "" || c.Schema == "" || strings.EqualFold(c.Schema, a.Table.Schema)
}

// share returns which part of a window's statement time a class holds, 0 to 1.
func share(s *snapshot.Snapshot, k key) float64 {
	c, ok := s.ClassIn(k.schema, k.id)
	if total := s.TotalTime(); ok && total > 0 {
		return c.TimeSec / total
	}
	return 0
}

func window(s *snapshot.Snapshot) Window {
	w := Window{From: s.From, To: s.To, Seconds: s.Seconds()}
	for _, c := range s.Classes {
		w.Calls += c.Count
	}
	return w
}

// uses reports whether statements of the class name the action's table.
func uses(c class.Class, a finding.Action, parse shape.Parse) bool {
	if a.Table.Table == "" {
		return false
	}
	sh, err := parse(c.Text())
	if err != nil {
		return false
	}
	return slices.ContainsFunc(sh.Tables, func(r shape.TableRef) bool {
		db := cmp.Or(r.Schema, c.Schema)
		return shape.Match(r.Name, a.Table.Table) && (db == "" || strings.EqualFold(db, a.Table.Schema))
	})
}

func change(before, after *snapshot.Snapshot, c class.Class) TouchedClass {
	x := TouchedClass{
		Class: c.ID, Schema: c.Schema, Fingerprint: c.Fingerprint, Before: side(before, keyOf(c)),
		After: side(after, keyOf(c)),
	}
	x.TimeRatio = ratio(x.Before.MeanSec, x.After.MeanSec)
	x.ExaminedRatio = ratio(x.Before.Examined, x.After.Examined)
	return x
}

func side(s *snapshot.Snapshot, k key) Side {
	c, ok := s.ClassIn(k.schema, k.id)
	if !ok {
		return Side{}
	}
	x := Side{
		Seen: true, Sampled: c.Sampled, Calls: c.Count, MeanSec: c.MeanSec(), Examined: c.PerCall(c.Examined),
		Sent: c.PerCall(c.RowsSent),
	}
	if sec := s.Seconds(); sec > 0 {
		x.PerSec = float64(c.Count) / sec
	}
	if total := s.TotalTime(); total > 0 {
		x.Share = c.TimeSec / total
	}
	return x
}

func ratio(a, b known.Value[float64]) known.Value[float64] {
	x, ok := a.Get()
	y, ok2 := b.Get()
	if !ok || !ok2 || y <= 0 {
		return known.None[float64]()
	}
	return known.Of(x / y)
}

func mix(before, after *snapshot.Snapshot) Mix {
	var m Mix
	b, bok := shares(before)
	a, aok := shares(after)
	text := map[string]string{}
	for _, c := range append(slices.Clone(before.Classes), after.Classes...) {
		text[c.ID] = c.Fingerprint
	}
	var shift float64
	for id, fp := range text {
		shift += math.Abs(b[id]-a[id]) / 2
		m.Rows = append(m.Rows, MixRow{Class: id, Fingerprint: fp, Before: b[id], After: a[id]})
	}
	if bok && aok {
		m.Shift = known.Of(shift)
	}
	slices.SortFunc(m.Rows, func(x, y MixRow) int {
		return cmp.Or(cmp.Compare(math.Abs(y.Before-y.After), math.Abs(x.Before-x.After)),
			cmp.Compare(x.Class, y.Class))
	})
	m.Rows = m.Rows[:min(8, len(m.Rows))]
	return m
}

// shares returns each class's share of calls; not ok when a class was sampled or there were no calls.
func shares(s *snapshot.Snapshot) (map[string]float64, bool) {
	total, exact := 0.0, true
	for _, c := range s.Classes {
		total += float64(c.Count)
		exact = exact && !c.Sampled
	}
	m := map[string]float64{}
	if total == 0 {
		return m, false
	}
	for _, c := range s.Classes {
		m[c.ID] += float64(c.Count) / total
	}
	return m, exact
}

// RowReads returns the rows per second that the storage engine handed to the server, where the family counts them as
// metric.RowsReadTotal; else the sum of these counters. It is unknown when one of them was not observed.
func RowReads(
	counters []metric.Ref, find func(name string, by ...metric.Label) (metric.Series, bool),
) known.Value[float64] {
	if s, ok := find(metric.RowsReadTotal); ok {
		if r, ok := s.Rate(); ok {
			return known.Of(r)
		}
		return known.None[float64]()
	}
	if len(counters) == 0 {
		return known.None[float64]()
	}
	var sum float64
	for _, c := range counters {
		s, ok := find(c.Name, c.Labels()...)
		if !ok {
			return known.None[float64]()
		}
		r, ok := s.Rate()
		if !ok {
			return known.None[float64]()
		}
		sum += r
	}
	return known.Of(sum)
}

// ServerCPU returns the cores that the server's process kept busy: user and system seconds per second. It is unknown
// for a process that could not be seen.
func ServerCPU(find func(name, mode string) (metric.Series, bool)) known.Value[float64] {
	var sum float64
	for _, mode := range []string{"user", "system"} {
		s, ok := find("dyno_server_cpu_seconds_total", mode)
		if !ok {
			return known.None[float64]()
		}
		r, ok := s.Rate()
		if !ok {
			return known.None[float64]()
		}
		sum += r
	}
	return known.Of(sum)
}

// Server returns figures of the server as a whole. statements is its counter of them, and rowReads are those that
// RowReads sums.
func Server(before, after *snapshot.Snapshot, statements metric.Ref, rowReads []metric.Ref) []Figure {
	cpu := func(s *snapshot.Snapshot) known.Value[float64] {
		return ServerCPU(func(name, mode string) (metric.Series, bool) {
			return s.Find(name, metric.Label{Name: "mode", Value: mode})
		})
	}
	rows := func(s *snapshot.Snapshot) known.Value[float64] {
		return RowReads(rowReads, s.Find)
	}
	return []Figure{
		{
			"statements", "1/s", before.Rate(statements.Name, statements.Labels()...),
			after.Rate(statements.Name, statements.Labels()...),
		},
		{"rows read", "1/s", rows(before), rows(after)},
		{"server CPU", "cores", cpu(before), cpu(after)},
	}
}

func (p *Proof) warn(before, after *snapshot.Snapshot) {
	add := func(s string) { p.Warnings = append(p.Warnings, s) }
	if before.Target.Server != after.Target.Server {
		add("the two windows come from different servers (" + before.Target.Server + " and " + after.Target.Server +
			"): no proof is possible")
	}
	if after.Target.UptimeSec < int64(after.To.Sub(before.To).Seconds())-60 {
		add("the server was restarted between the windows: caches start cold, counters were reset")
	}
	if v, ok := p.Mix.Shift.Get(); ok && v > bigShift {
		add("the mix of calls changed between the windows: means of a class may differ because its parameters do")
	} else if !ok {
		add("a window was sampled, not counted: times per call and the mix of calls cannot be compared exactly")
	}
	if len(p.Touched) == 0 {
		what := "no class"
		if p.Action.Table.Table != "" {
			what = "no class that uses " + p.Action.Table.String()
		}
		add(what + " was observed in either window: there is nothing to compare; try a longer --window while the " +
			"traffic runs")
	}
	for _, c := range p.Touched {
		switch {
		case c.Before.Seen && !c.After.Seen:
			add("class " + short(c.Class) + " was not observed after the change: it may be too fast to be sampled, " +
				"or its traffic ended")
		case c.Before.Seen && min(c.Before.Calls, c.After.Calls) < fewCalls && !c.Before.Sampled:
			add("class " + short(c.Class) + " has less than 20 calls in a window: its means are unreliable")
		}
	}
}

// short returns the last eight digits of a class id, enough to find it in a report.
func short(id string) string { return id[max(0, len(id)-8):] }
