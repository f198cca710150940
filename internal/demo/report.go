package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// documentOf fills the report. r is nil when there was no cure, after when there is nothing to set side by side.
func documentOf(d *demo, res *Result, g app.Diagnosis, r *remedy, after *snapshot.Snapshot,
	p proof.Proof, x trial.Result,
) {
	d.mu.Lock()
	ticks, events := slices.Clone(d.ticks), slices.Clone(d.events)
	d.mu.Unlock()
	now := time.Now()
	for i := range events {
		if events[i].Kind == event.Variant && events[i].Until.IsZero() {
			events[i].Until = now
		}
	}
	all := d.buf.Series(0, now.UnixMilli())
	names := app.FiguresOf(d.box.Server.Flavor).Names()
	doc := report.Document{
		Kind: report.Demo, ID: d.id, Title: capital(titleOf(d.parts)), At: now, From: d.begin, To: now,
		Place: report.PlaceOf(g.Snapshot, names, d.a.Version), Events: events, Findings: g.Findings,
		Sources: g.Snapshot.Sources, Story: d.story,
		Charts: slices.Concat(report.RunCharts(ticks), slices.DeleteFunc(report.ServerCharts(all, names),
			func(c report.Chart) bool { return c.Title == "Statements" })),
	}
	doc.Place.Settings = append(doc.Place.Settings, report.Fact{
		Name:  "sessions of the load",
		Value: fmt.Sprint(threadsOf(d.parts)),
	})
	doc.Commands = []report.Command{{Text: "run all of this again", Line: repeatOf(d.o)}}
	if controlOf(d.parts) {
		doc.Sentence = report.Sentence(g.Snapshot, g.Symptoms, g.Findings)
	} else {
		var said []string
		for _, p := range res.Parts {
			if p.Found != nil {
				said = append(said, p.Found.Title)
			} else {
				said = append(said, fmt.Sprintf("The planted cause (%s) was not found: %s", p.Fault.Title, p.Missed))
			}
		}
		doc.Sentence = strings.Join(said, ". ")
	}
	if r != nil {
		doc.Verdict = res.Verdict
		if res.Verdict.Result == stat.Better {
			doc.Sentence += ". " + r.did + " cured it."
		}
		if res.Action.ID != "" {
			doc.Change = report.ChangeDone(res.Action)
		}
		doc.Measures, doc.Experiment = measures(d.o, d.parts, r, x)
		doc.Commands = append(doc.Commands,
			report.Command{Text: "diagnose one of your servers", Line: "dyno diagnose " + d.set.URL},
			report.Command{
				Text: "apply a finding, first as a dry run, then for real",
				Line: "dyno apply TARGET FINDING --execute",
			},
			report.Command{Text: "this report in another format", Line: "dyno report " + d.id + " --format md"})
	}
	if after != nil {
		doc.Classes = report.TouchedClasses(p, g.Snapshot, after)
		doc.Warnings = append(report.MixWarnings(p), p.Warnings...)
	}
	for _, l := range res.Limits {
		if !l.InForce {
			doc.Warnings = append(doc.Warnings, fmt.Sprintf("The limit %s %s was not in effect: %s",
				l.Name, l.Wanted, l.Reason))
		}
	}
	res.Document = doc
}

// titleOf tells what was planted.
func titleOf(parts []part) string {
	var list []string
	for _, p := range parts {
		list = append(list, p.f.Title)
	}
	return strings.Join(list, "; and ")
}

// capital makes a sentence's beginning a title's.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

func repeatOf(o Options) string {
	s := "dyno demo " + o.Fault + " --server " + o.Server
	for _, k := range slices.Sorted(maps.Keys(o.Settings)) {
		s += " --set " + k + "=" + o.Settings[k]
	}
	for _, dir := range o.ServerDirs {
		s += " --server-dir " + dir
	}
	if o.RandomNames {
		s += " --random-names"
	}
	return s + fmt.Sprintf(" --seed %d", o.Seed)
}

func measures(o Options, parts []part, r *remedy, x trial.Result) ([]report.Measure, *report.Experiment) {
	e := &report.Experiment{
		Baseline: r.off, Variant: r.on, SettleSec: r.settle.Seconds(), WindowSec: demoWindow.Seconds(), Seed: o.Seed,
		Metrics: report.Metrics(figures(parts)...), Main: figures(parts)[0], Text: r.text,
	}
	for _, t := range x.Trials {
		if t.Control { // it has its own line
			continue
		}
		state := r.off
		if t.Variant == cured {
			state = r.on
		}
		e.Windows = append(e.Windows, report.Window{
			Pair: t.Round, Variant: state, From: t.From, To: t.To,
			Values: t.Values, Invalid: t.Invalid,
		})
	}
	if c := x.Control; c != nil {
		e.Text += fmt.Sprintf(" In each round the fixed state was measured twice: compared with itself it is %s, %s "+
			"(%s to %s, %d pairs, within ±%s counts as the same).",
			c.Result, unit.Ratio(c.Ratio.Center), unit.Ratio(c.Ratio.Lo), unit.Ratio(c.Ratio.Hi), c.Ratio.N,
			unit.Percent(c.Margin))
	}
	ms := report.MeasuresOf(e)
	for _, c := range x.Cells {
		if c.Verdict == nil {
			continue
		}
		for i := range ms {
			q := c.Ratios[ms[i].Name] // before ÷ after
			// Of what decides it is the verdict's, so that one figure has one ratio in the whole report.
			if v := c.Verdict.Ratio; ms[i].Name == e.Main && v.N > 0 {
				if q = v; trial.MetricOf(e.Main, "").Better == trial.Less {
					q = v.Inverse()
				}
			}
			if q.N > 0 {
				ms[i].Ratio = q.Inverse()
			}
		}
	}
	return ms, e
}

// writeReport stores the document and renders it as files. It works also when ctx has just ended.
func writeReport(ctx context.Context, a *app.App, dir string, res *Result) error {
	ctx = context.WithoutCancel(ctx)
	path, err := app.Reports{App: a}.StoreReport(ctx, res.Document, dir)
	if err != nil {
		return err
	}
	res.Report = path
	return nil
}
