package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// DiagnosisDocument tells what a diagnosis of a target found; names are those of the server's family.
func DiagnosisDocument(
	id string, s *snapshot.Snapshot, symptoms []finding.Symptom, findings []finding.Finding, names family.Names,
	version string,
) Document {
	d := Document{
		Kind: Diagnosis, ID: id, Title: "Diagnosis of " + s.Target.Name,
		Sentence: Sentence(s, symptoms, findings),
		At:       s.To, From: s.From, To: s.To, Place: PlaceOf(s, names, version),
		Charts: ServerCharts(s.Series, names), Findings: findings, Sources: s.Sources,
	}
	if s.Past != nil {
		d.Title += ", " + s.From.Format(time.DateTime) + " to " + s.To.Format(time.TimeOnly) + " UTC, from stored data"
		d.Warnings = PastNotes(s)
	}
	shown := map[string]bool{}
	for _, f := range findings {
		for _, id := range f.Subject.Classes[:min(len(f.Subject.Classes), mostStatements)] {
			c, ok := s.Class(id)
			if len(f.Subject.Tables) > 0 { // of several databases the finding's own
				if own, is := s.ClassIn(f.Subject.Tables[0].Schema, id); is {
					c = own
				}
			}
			if ok && !shown[id] {
				shown[id] = true
				d.Statements = append(d.Statements, Statement{
					Class: id, Schema: c.Schema, Fingerprint: state.Clip(c.Fingerprint, 2000),
				})
			}
		}
	}
	for _, f := range findings {
		if f.Action != nil {
			d.Commands = append(d.Commands, Command{Text: "preview the change", Line: "dyno apply " +
				s.Target.Name + " " + f.ID})
			break
		}
	}
	return d
}

// PastNotes says how a diagnosis of a window that was over differs from one of an observed window: which time was
// judged, and what is not of it.
func PastNotes(s *snapshot.Snapshot) (notes []string) {
	if s.Past == nil {
		return nil
	}
	if s.From.Sub(s.Past.From).Abs() > time.Second || s.To.Sub(s.Past.To).Abs() > time.Second {
		notes = append(notes, fmt.Sprintf("requested were %s to %s UTC: query classes are stored by the minute, and "+
			"whole minutes were judged", s.Past.From.Format(time.TimeOnly), s.Past.To.Format(time.TimeOnly)))
	}
	for _, x := range s.Sources {
		if x.State == source.OK && x.Reason != "" {
			notes = append(notes, fmt.Sprintf("not observed in the window: %s, %s", x.Name, x.Reason))
		}
	}
	return notes
}

// Sentence is the verdict of a diagnosis in one line.
func Sentence(s *snapshot.Snapshot, symptoms []finding.Symptom, findings []finding.Finding) string {
	return spaced(diagnose.Denied(s.Sources), seenIn(s, symptoms, findings))
}

// NoAdvice is the verdict of the advice of some kinds that have no finding, while the others have so many.
func NoAdvice(s *snapshot.Snapshot, kinds []string, others int) string {
	return fmt.Sprintf("No findings of the kind %s in %s. `dyno diagnose` has %s of other kinds.",
		strings.Join(kinds, ", "), unit.Seconds(s.Seconds()), unit.Plural(others, "finding", "findings"))
}

// seenIn is the verdict on what could be seen.
func seenIn(s *snapshot.Snapshot, symptoms []finding.Symptom, findings []finding.Finding) string {
	look := "in " + unit.Seconds(s.Seconds())
	if len(findings) > 0 {
		if bound := diagnose.Bound(symptoms); bound != "" {
			return bound + ": " + findings[0].Title
		}
		return capital(findings[0].Title)
	}
	var odd []string
	for _, x := range symptoms {
		if x.Kind != finding.NotObservable {
			odd = append(odd, x.Title)
		}
	}
	out := "No symptoms were found " + look
	if len(odd) > 0 {
		out = "No cause was found " + look + " for these symptoms: " + strings.Join(odd, "; ")
	}
	if missing := len(s.Sources) - gave(s); missing > 0 {
		out += fmt.Sprintf("; %d of %d data sources are unavailable", missing, len(s.Sources))
	}
	return out + "."
}

// PlaceOf tells where a snapshot was taken: server, machine and the settings that say most.
func PlaceOf(s *snapshot.Snapshot, names family.Names, version string) Place {
	p := Place{Target: s.Target.Name, Flavor: s.Target.Flavor, Version: s.Target.Version, Dyno: version}
	if v, ok := s.Host.CPUs.Get(); ok {
		p.Host = append(p.Host, Fact{Name: "CPUs", Value: unit.Count(v)})
	}
	if v, ok := s.Host.MemBytes.Get(); ok {
		p.Host = append(p.Host, Fact{Name: "memory", Value: unit.Bytes(float64(v))})
	}
	if s.Host.Kernel != "" {
		p.Host = append(p.Host, Fact{Name: "kernel", Value: s.Host.Kernel})
	}
	if names.Telling != nil {
		for _, x := range names.Telling(s.Variables) {
			p.Settings = append(p.Settings, Fact{Name: x.Name, Value: x.Value})
		}
	}
	return p
}

// find looks a series up by name and one label; an empty label name takes the first of that name.
func find(series []metric.Series, name, label, value string) (metric.Series, bool) {
	for _, s := range series {
		if s.Name == name && (label == "" || s.Labels.Get(label) == value) {
			return s, true
		}
	}
	return metric.Series{}, false
}

// ServerCharts draws what the server itself told, by the names of its family: statements, CPU, rows read.
func ServerCharts(series []metric.Series, names family.Names) []Chart {
	var cs []Chart
	if s, ok := find(series, names.Statements.Name, "", ""); ok {
		cs = append(cs, Chart{
			Title: "Statements", Unit: "1/s",
			Lines: []Line{{Name: "statements", Points: s.Rates().Points}},
		})
	}
	if c, ok := cpuChart(series); ok {
		cs = append(cs, c)
	}
	if c, ok := rowsChart(series, names.RowReads); ok {
		cs = append(cs, c)
	}
	return cs
}

func cpuChart(series []metric.Series) (Chart, bool) {
	c := Chart{Title: "Server CPU", Unit: "cores"}
	u, ok1 := find(series, "dyno_server_cpu_seconds_total", "mode", "user")
	s, ok2 := find(series, "dyno_server_cpu_seconds_total", "mode", "system")
	if !ok1 || !ok2 {
		return c, false
	}
	c.Lines = []Line{{Name: "server process", Points: sum(u.Rates(), s.Rates()).Points}}
	if io, ok := find(series, "node_cpu_seconds_total", "mode", "iowait"); ok {
		c.Lines = append(c.Lines, Line{Name: "machine waiting for I/O", Points: io.Rates().Points})
	}
	return c, true
}

func rowsChart(series []metric.Series, rows []metric.Ref) (Chart, bool) {
	if len(rows) == 0 {
		return Chart{}, false
	}
	var parts []metric.Series
	for _, c := range rows {
		s, ok := find(series, c.Name, c.By.Name, c.By.Value)
		if !ok {
			return Chart{}, false
		}
		parts = append(parts, s.Rates())
	}
	return Chart{
		Title: "Rows read by the server", Unit: "rows/s",
		Lines: []Line{{Name: "rows read", Points: sum(parts...).Points}},
	}, true
}

// sum adds series point by point where all have one.
func sum(ss ...metric.Series) metric.Series {
	out := metric.Series{Kind: metric.Gauge}
	at := make([]map[int64]float64, len(ss))
	for i, s := range ss {
		at[i] = map[int64]float64{}
		for _, p := range s.Points {
			at[i][p.At] = p.Value
		}
	}
next:
	for _, p := range ss[0].Points {
		v := p.Value
		for _, m := range at[1:] {
			x, ok := m[p.At]
			if !ok {
				continue next
			}
			v += x
		}
		out.Points = append(out.Points, metric.Point{At: p.At, Value: v})
	}
	return out
}

// TouchedClasses sets the classes that an action touches beside each other, the one with the larger share of time on
// either side first.
func TouchedClasses(p proof.Proof, before, after *snapshot.Snapshot) (out []ClassChange) {
	for _, c := range p.Touched {
		x := ClassChange{ID: c.Class, Schema: c.Schema, Verdict: string(c.Verdict())}
		if x.Before, x.After = x.in(before), x.in(after); x.Before != nil || x.After != nil {
			out = append(out, x)
		}
	}
	share := func(c ClassChange) (s float64) {
		for _, f := range []*ClassFigures{c.Before, c.After} {
			if f != nil {
				s = max(s, f.Share.Or(0)) // only the order depends on it
			}
		}
		return s
	}
	slices.SortStableFunc(out, func(a, b ClassChange) int {
		return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Schema, b.Schema))
	})
	return out
}

// in returns what the class did in a snapshot, nil where it is not in it, and notes what that tells of the class.
func (c *ClassChange) in(s *snapshot.Snapshot) *ClassFigures {
	i := slices.IndexFunc(s.Classes, func(x class.Class) bool { return x.ID == c.ID && x.Schema == c.Schema })
	if i < 0 {
		return nil
	}
	x := s.Classes[i]
	c.Fingerprint, c.Origin = cmp.Or(c.Fingerprint, x.Fingerprint), cmp.Or(c.Origin, x.Origin)
	c.Sampled = c.Sampled || x.Sampled
	f := ClassFigures{
		MeanSec: x.MeanSec(), P95Sec: x.P95Sec, Examined: x.PerCall(x.Examined), Sent: x.PerCall(x.RowsSent),
	}
	if s.Seconds() > 0 && !x.Sampled { // a sampled count is a lower bound, not a rate
		f.PerSec = known.Of(float64(x.Count) / s.Seconds())
	}
	if total := s.TotalTime(); total > 0 {
		f.Share = known.Of(x.TimeSec / total)
	}
	return &f
}

// ChangeDone tells what an action did. The command to take it back is only there while it can be.
func ChangeDone(e journal.Entry) *AppliedChange {
	c := &AppliedChange{
		Text: ActionDone(e.Action), SQL: e.Action.SQL, Undo: e.Action.Undo, Journal: e.ID, By: e.By, State: e.State,
		Notes: e.Notes,
	}
	if e.State == journal.Done {
		c.UndoCommand = "dyno undo " + e.ID + " --execute"
	}
	if !e.Started.IsZero() && e.Ended.After(e.Started) {
		c.TookSec = known.Of(e.Ended.Sub(e.Started).Seconds())
	}
	return c
}

// ActionDone says in a few words what an action did.
func ActionDone(a finding.Action) string {
	_, did := inWords(a)
	return did
}

// ActionText says in a few words what an action is for.
func ActionText(a finding.Action) string {
	does, _ := inWords(a)
	return does
}

func inWords(a finding.Action) (does, did string) {
	both := func(does, did string, args ...any) (string, string) {
		return fmt.Sprintf(does, args...), fmt.Sprintf(did, args...)
	}
	switch a.Kind {
	case finding.AddIndex:
		return both("add index %s to %s", "index %s added to %s", a.Index.Name, a.Table)
	case finding.DropIndex:
		return both("drop index %s of %s", "index %s of %s dropped", a.Index.Name, a.Table)
	case finding.HideIndex:
		return both("hide index %s of %s", "index %s of %s hidden", a.Index.Name, a.Table)
	case finding.AlterTable:
		return both("change table %s", "table %s changed", a.Table)
	case finding.SetVariable, finding.SetKernel:
		return both("set %s to %s", "%s set to %s", a.Variable, a.Value)
	case finding.KillSession:
		return both("kill session %s of %s", "session %s of %s killed", a.Value, a.Was)
	}
	return string(a.Kind), string(a.Kind)
}

// ProofDocument tells what the live traffic showed around an action; names are those of the server's family.
func ProofDocument(id string, e journal.Entry, p proof.Proof, before, after *snapshot.Snapshot,
	names family.Names, version string,
) Document {
	d := Document{
		Kind: Proof, ID: id, Title: "Before and after " + e.ID + " on " + e.Target, Sentence: proofSentence(p),
		At: after.To, From: after.From, To: after.To, Place: PlaceOf(after, names, version),
		Change: ChangeDone(e), Classes: TouchedClasses(p, before, after), Sources: after.Sources,
		Warnings: append(MixWarnings(p), p.Warnings...),
		Commands: []Command{
			{Text: "check again", Line: "dyno proof " + e.ID},
			{Text: "undo the change", Line: "dyno undo " + e.ID},
		},
	}
	for _, f := range p.Server {
		m := Metric{Name: f.Name, Title: f.Name + ", whole server", Unit: f.Unit}
		d.Measures = append(d.Measures, Measure{Metric: m, Before: f.Before, After: f.After})
	}
	return d
}

// proofSentence says what the server's own counters prove. Sources keep sums, so a mean time has no interval: a call is
// called faster or slower only where the rows that it examines changed with it.
func proofSentence(p proof.Proof) string {
	promise := ""
	if k := p.Action.Kind; k == finding.HideIndex || k == finding.DropIndex {
		promise = " One index less makes writes cheaper and takes less memory; it makes no read faster."
	}
	for i, c := range p.Touched {
		v, ok := c.TimeRatio.Get()
		if !ok {
			continue
		}
		which := "A call of " + clip(c.Fingerprint, 80)
		if i > 0 {
			which += fmt.Sprintf(", %s of the statement time before,", unit.Percent(c.Before.Share))
		}
		which = fmt.Sprintf("%s went from %s to %s", which, unit.Seconds(c.Before.MeanSec.Or(0)),
			unit.Seconds(c.After.MeanSec.Or(0)))
		means := fmt.Sprintf("(means of %d and %d calls, without an interval)", c.Before.Calls, c.After.Calls)
		if verdict := c.Verdict(); verdict != proof.Unproven {
			if verdict == proof.Slower {
				v = 1 / v
			}
			return fmt.Sprintf("%s: %s times %s, %s rows examined per call before and %s after %s.%s", which,
				strings.TrimPrefix(unit.Ratio(v), "×"), verdict, unit.Count(c.Before.Examined.Or(0)),
				unit.Count(c.After.Examined.Or(0)), means, promise)
		}
		why := "the rows examined per call did not change with it"
		if _, ok := c.RatioOfRows(); !ok {
			why = "there are too few calls, or the rows examined per call are unknown"
		}
		return which + " " + means + ": " + why + ", so no gain is proven." + promise
	}
	for _, c := range p.Touched {
		if c.Before.Seen {
			return fmt.Sprintf("The most expensive class it affects took %s of the statement time before and %s "+
				"after; times per call are unavailable.",
				unit.Percent(c.Before.Share), unit.Percent(c.After.Share))
		}
	}
	return "No class that the change affects was observed before and after: no result."
}

// MixWarnings says how much of the calls differ in class before and after; nothing where that is unknown.
func MixWarnings(p proof.Proof) []string {
	v, ok := p.Mix.Shift.Get()
	if !ok {
		return nil
	}
	return []string{fmt.Sprintf("Mix of calls: %s of them differ in class between the traffic before and after.",
		unit.Percent(v))}
}

// RunDocument tells how a load went.
func RunDocument(r loadresult.Run, ticks []loadresult.Tick, version string) Document {
	d := Document{
		Kind: Run, ID: r.ID, Title: r.Workload + " on " + r.Target, Sentence: runSentence(&r),
		At: r.Started.Add(r.Elapsed), From: r.Started, To: r.Started.Add(r.Elapsed),
		Place:  Place{Target: r.Target, Dyno: version},
		Charts: RunCharts(ticks), Run: &r, Warnings: r.Warnings,
	}
	if r.Invalid != "" {
		d.Warnings = slices.Concat([]string{"Invalid: " + r.Invalid + "."}, r.Warnings)
	}
	return d
}

// runSentence is the outcome of a run in one line. Where operations were due at moments of their own it is the response
// time that somebody who waits would have seen.
func runSentence(r *loadresult.Run) string {
	h, of := r.Total.Latency(), ""
	if x := r.Total.Response(); x != nil {
		h, of = x, ", from their scheduled start"
	}
	s := fmt.Sprintf("%s operations per second, 95 %% of them within %s%s, in %s.", unit.Count(r.Total.TPS()),
		unit.Seconds(h.Quantile(0.95).Seconds()), of, unit.Seconds(r.Elapsed.Seconds()))
	if r.Invalid != "" {
		s = "Invalid, the client, not the server, was the limit: " + s
	}
	return s
}

// Reasoning tells how a snapshot was judged: what was seen, what was out of order, which finding explains it and by
// which questions, what nothing explains, and what could not be seen.
func Reasoning(s *snapshot.Snapshot, symptoms []finding.Symptom, findings []finding.Finding) []Node {
	var calls uint64
	for _, c := range s.Classes {
		calls += c.Count
	}
	seen := Node{Text: fmt.Sprintf("Observed for %s: %s statements of %d classes, %s of statement time, %d tables, "+
		"%d of %d data sources available.",
		unit.Seconds(s.Seconds()), unit.Count(float64(calls)), len(s.Classes), unit.Seconds(s.TotalTime()),
		len(s.Tables), gave(s), len(s.Sources))}
	told := map[string]bool{}
	node := func(i int) Node {
		f := findings[i]
		n := Node{Text: fmt.Sprintf("Finding %d, %s: %s", i+1, f.ID, f.Title)}
		if told[f.ID] {
			return n
		}
		told[f.ID] = true
		for _, r := range f.Why {
			n.Then = append(n.Then, Node{Text: r.Ask + " " + reasonText(r)})
		}
		for _, m := range f.Merged {
			n.Then = append(n.Then, Node{Text: "Its consequence, not a separate finding: " + m})
		}
		return n
	}
	var out, blind []Node
	for _, x := range symptoms {
		if x.Kind == finding.NotObservable {
			blind = append(blind, Node{Text: x.Title})
			continue
		}
		n := Node{Text: "Symptom: " + x.Title + "."}
		for _, e := range x.Evidence {
			if e.Text != "" {
				n.Then = append(n.Then, Node{Text: e.Text})
			}
		}
		explained := false
		for i, f := range findings {
			if slices.Contains(f.Symptoms, x.ID) {
				n.Then, explained = append(n.Then, node(i)), true
			}
		}
		if !explained {
			n.Then = append(n.Then, Node{Text: "No rule found a cause for it."})
		}
		out = append(out, n)
	}
	for i, f := range findings {
		if !told[f.ID] {
			out = append(out, node(i))
		}
	}
	if len(out) == 0 {
		out = append(out, Node{Text: "No symptoms."})
	}
	if len(blind) > 0 {
		out = append(out, Node{Text: "Data unavailable (unknown, not OK):", Then: blind})
	}
	seen.Then = out
	return []Node{seen}
}

// gave counts the sources that gave what they should.
func gave(s *snapshot.Snapshot) (n int) {
	for _, x := range s.Sources {
		if x.State == source.OK {
			n++
		}
	}
	return n
}
