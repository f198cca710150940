package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"dyno/internal/event"
	"dyno/internal/experiment"
	"dyno/internal/fault"
	"dyno/internal/proof"
	"dyno/internal/report"
	"dyno/internal/snapshot"
	"dyno/internal/stat"
	"dyno/internal/unit"
)

// document fills the report. after is nil when there was no cure.
func (d *demo) document(res *DemoResult, g Diagnosis, after *snapshot.Snapshot, p proof.Proof, x experiment.Result) {
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
	doc := report.Document{
		Kind: report.Demo, ID: d.id, Title: capital(d.f.Title), At: now, From: d.begin, To: now,
		Place: place(g.Snapshot, d.a.Version), Events: events, Findings: g.Findings, Sources: g.Snapshot.Sources, Story: d.story,
		Charts: slices.Concat(loadCharts(ticks), serverCharts(all)[1:]),
	}
	doc.Place.Settings = append(doc.Place.Settings, report.Fact{Name: "sessions of the load", Value: fmt.Sprint(d.f.Threads)})
	doc.Commands = []report.Command{{Text: "run all of this again", Line: d.repeat()}}
	if d.f.Kind == fault.Control {
		doc.Sentence = sentence(g.Snapshot, g.Symptoms, g.Findings)
	} else if res.Expected != nil {
		doc.Sentence = res.Expected.Title
	}
	if after != nil {
		doc.Verdict = res.Verdict
		if res.Verdict.Result == stat.Better {
			doc.Sentence += fmt.Sprintf(". One index, added online in %s, cured it.", unit.Seconds(res.Action.Ended.Sub(res.Action.Started).Seconds()))
		}
		doc.Change = changeOf(res.Action)
		doc.Classes = touched(p, g.Snapshot, after)
		doc.Warnings = append(mixWarning(p), p.Warnings...)
		doc.Measures, doc.Experiment = d.measures(x)
		doc.Commands = append(doc.Commands,
			report.Command{Text: "diagnose any server of yours", Line: "dyno diagnose mysql://user@host:3306"},
			report.Command{Text: "carry a finding out, first dry, then for real", Line: "dyno apply TARGET FINDING --execute"},
			report.Command{Text: "this report in another form", Line: "dyno report " + d.id + " --format md"})
	}
	res.Document = doc
}

// capital makes a sentence's beginning a title's.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

func (d *demo) repeat() string {
	s := "dyno demo " + d.f.Name + " --server " + d.o.Server
	for _, k := range slices.Sorted(maps.Keys(d.o.Settings)) {
		s += " --set " + k + "=" + d.o.Settings[k]
	}
	if d.o.RandomNames {
		s += " --random-names"
	}
	return s + fmt.Sprintf(" --seed %d", d.o.Seed)
}

func (d *demo) measures(x experiment.Result) ([]report.Measure, *report.Experiment) {
	e := &report.Experiment{
		Baseline: hidden, Variant: visible, SettleSec: demoSettle.Seconds(), WindowSec: demoWindow.Seconds(), Seed: d.o.Seed,
		Metrics: report.Metrics(figures()...), Main: "qps",
		Text: "The same load ran all the time. The index was hidden from the optimizer and shown again in turn, in random order within each pair.",
	}
	for _, w := range x.Windows {
		e.Windows = append(e.Windows, report.Window{Pair: w.Pair, Variant: w.Variant, From: w.From, To: w.To, Values: w.Values, Invalid: w.Invalid})
	}
	ms := report.MeasuresOf(e)
	for i := range ms {
		ms[i].Ratio = x.Ratios[ms[i].Name]
	}
	return ms, e
}

// write stores the document and renders it as files. It works also when ctx has just ended.
func (d *demo) write(ctx context.Context, res *DemoResult) error {
	ctx = context.WithoutCancel(ctx)
	path, err := d.a.StoreReport(ctx, res.Document, d.dir)
	if err != nil {
		return err
	}
	res.Report = path
	return nil
}
