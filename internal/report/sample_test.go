package report_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/stat"
)

// sample is a document as the missing-index demo leaves it: 25 s of slow load, an index, then windows with the index
// hidden and visible in turns. Its noise comes from a fixed seed.
func sample() *report.Document {
	start := time.Date(2026, 5, 4, 10, 15, 2, 0, time.UTC)
	at := func(sec float64) time.Time { return start.Add(time.Duration(sec * float64(time.Second))) }
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := func(v, share float64) float64 { return v * math.Exp(rnd.NormFloat64()*share) }

	e := &report.Experiment{
		Baseline: "index hidden", Variant: "index visible", SettleSec: 1, WindowSec: 4, Seed: 42, Main: "qps",
		Text: "The same load ran without a pause while the index was hidden and shown to the optimizer in turns; " +
			"hidden, it is still kept up to date.",
		Metrics: report.Metrics("qps", "p95_ms", "server_cpu_cores", "rows_read_per_s"),
	}
	var events []event.Event
	var fast func(sec float64) bool
	t := 32.0
	type turn struct {
		from, to float64
		fast     bool
	}
	var turns []turn
	for pair := range 6 {
		order := []bool{false, true}
		if rnd.IntN(2) == 1 {
			order = []bool{true, false}
		}
		for _, on := range order {
			name, qps, p95, cpu, rows := e.Baseline, 17.1, 604.0, 1.96, 3.42e6
			if on {
				name, qps, p95, cpu, rows = e.Variant, 4168, 2.3, 1.71, 83_400
			}
			e.Windows = append(e.Windows, report.Window{
				Pair: pair + 1, Variant: name, From: at(t + 1), To: at(t + 5),
				Values: map[string]float64{
					"qps": noise(qps, 0.02), "p95_ms": noise(p95, 0.03),
					"server_cpu_cores": noise(cpu, 0.01), "rows_read_per_s": noise(rows, 0.02),
				},
			})
			events = append(events, event.Event{At: at(t), Until: at(t + 5), Kind: event.Variant, Text: name})
			turns = append(turns, turn{t, t + 5, on})
			t += 5
		}
	}
	end := t + 4
	fast = func(sec float64) bool {
		for _, x := range turns {
			if sec >= x.from && sec < x.to {
				return x.fast
			}
		}
		return sec >= 27
	}

	var ops, p95, median, cpu, rows []metric.Point
	add := func(ps *[]metric.Point, sec, v float64) {
		*ps = append(*ps, metric.Point{At: at(sec).UnixMilli(), Value: v})
	}
	for sec := 1.0; sec <= end; sec++ {
		on := fast(sec - 1)
		pick := func(a, b, share float64) float64 {
			if on {
				return noise(b, share)
			}
			return noise(a, share)
		}
		add(&ops, sec, pick(17, 4150, 0.04))
		add(&p95, sec, pick(604, 2.3, 0.06))
		add(&median, sec, pick(430, 1.7, 0.05))
		if sec >= 46 && sec < 50 {
			continue // the server was not scraped
		}
		add(&cpu, sec, min(2, pick(1.95, 1.7, 0.02)))
		add(&rows, sec, pick(3.4e6, 81_000, 0.03))
	}
	events = append(events,
		event.Event{At: at(0), Kind: event.Run, Text: "load started, 8 sessions"},
		event.Event{At: at(15), Kind: event.Annotation, Text: "looked for 9 s"},
		event.Event{At: at(25), Until: at(27), Kind: event.Action, Text: "index added", Ref: "a-3f9k2"},
		event.Event{At: at(46), Until: at(50), Kind: event.Gap, Text: "server not scraped"},
	)

	sql := "ALTER TABLE `shop`.`orders` ADD INDEX `idx_customer_id` (`customer_id`), ALGORITHM=INPLACE, LOCK=NONE"
	undo := "ALTER TABLE `shop`.`orders` DROP INDEX `idx_customer_id`, ALGORITHM=INPLACE, LOCK=NONE"
	index := schema.Index{Name: "idx_customer_id", Type: "BTREE", Parts: []schema.IndexPart{{Column: "customer_id"}}}
	orders := schema.Ref{Schema: "shop", Table: "orders"}
	fingerprint := "select id, status, total from orders where customer_id = ?"
	id := "6D5C4AD1C2BCB2BE9FD2E0F7F0F6A3A1"

	d := &report.Document{
		Kind: report.Demo, ID: "d-7k2m9", Title: "A missing index on shop.orders (customer_id)",
		Sentence: "With the index, the same eight sessions get 237 times as many answers, and 95 % of them within " +
			"2.3 ms instead of 604 ms.",
		Verdict: &stat.Verdict{
			Result: stat.Better, Margin: 0.05, Metric: "qps",
			Ratio: stat.Interval{Center: 237, Lo: 231.2, Hi: 244.1, N: 6, Confidence: 0.95},
		},
		At: at(end + 3), From: start, To: at(end),
		Place: report.Place{
			Target: "demo", URL: "unix:///run/dyno/demo.sock?user=dyno", Flavor: "mariadb",
			Version: "10.11.11", Dyno: "0.1.0",
			Host: []report.Fact{
				{Name: "CPUs", Value: "2 usable of 2"},
				{Name: "memory", Value: "7.8 GiB"},
				{Name: "kernel", Value: "6.1.0-31-amd64"},
			},
			Settings: []report.Fact{
				{Name: "innodb_buffer_pool_size", Value: "256 MiB"},
				{Name: "load", Value: "8 sessions, closed loop"},
			},
		},
		Charts: []report.Chart{
			{Title: "Throughput", Unit: "operations/s", Lines: []report.Line{{Name: "operations", Points: ops}}},
			{Title: "Latency of an operation", Unit: "ms", Lines: []report.Line{
				{Name: "95th percentile", Points: p95},
				{Name: "median", Points: median},
			}},
			{
				Title: "CPU used by the server", Unit: "cores",
				Lines: []report.Line{{Name: "server process", Points: cpu}}, Limit: known.Of(2.0),
				LimitText: "2 CPUs usable",
			},
			{Title: "Rows read by the engine", Unit: "rows/s", Lines: []report.Line{{Name: "rows", Points: rows}}},
		},
		Events: events,
		Findings: []finding.Finding{{
			ID: finding.MakeID("missing-index", "shop.orders", "customer_id"), Rule: "missing-index",
			Severity: finding.Critical, Confidence: finding.Certain,
			Title: "shop.orders is read whole for each of 17 queries a second: 200 000 rows to find 20",
			Cause: "The column customer_id stands in an equality and no index begins with it, so the server reads " +
				"every row of the table for each call. All pages are in memory: the time goes into CPU.",
			Subject: finding.Subject{
				Classes: []string{id}, Tables: []schema.Ref{orders},
				Columns: []string{"customer_id"},
			},
			Evidence: []finding.Evidence{
				{
					What: "rows examined per row sent", Value: known.Of(10_000.0), Expected: "≤ 10", Source: "digests",
					Text: "each row sent cost 10 000 rows read",
				},
				{
					What: "rows examined per call", Value: known.Of(200_000.0), Unit: "rows",
					Expected: "about 20", Source: "digests",
				},
				{What: "share of statement time", Value: known.Of(97.2), Unit: "%", Source: "digests"},
				{What: "rows read by scans", Value: known.Of(3.42e6), Unit: "rows/s", Source: "global_status"},
				{What: "time per call", Value: known.Of(0.468), Unit: "s", Source: "digests"},
				{
					What: "server CPU", Value: known.Of(1.96), Unit: "cores", Expected: "2 usable",
					Source: "process", Sampled: true,
				},
				{
					Text: "the plan reads the table from end to end (access ALL, 199 421 rows estimated, no " +
						"possible key)",
					Source: "explain",
				},
			},
			Against:    []string{"The class was seen for 9 seconds only."},
			Unobserved: []string{"how often customer_id is written: the binary log is off"},
			Falsify:    "a time per call that stays above 100 ms with the index visible",
			Suggestion: "Add an index on customer_id.",
			Cost:       "about 5 MiB; each INSERT into orders writes one more index entry",
			Gain: &finding.Gain{
				What: "time per call of the class", Lo: 50, Hi: 1000,
				Text: "a call of the class 50 to 1000 times as fast",
			},
			Action: &finding.Action{Kind: finding.AddIndex, Table: orders, Index: index, SQL: sql, Undo: undo},
			Share:  0.972,
			Why: []finding.Reason{
				{Ask: "Which class holds the time?", Answer: "one, with 97 % of all statement time", Source: "digests"},
				{Ask: "Does it read more than it returns?", Answer: "yes, 10 000 rows for each", Source: "digests"},
				{
					Ask: "Could an existing index serve it?", Answer: "no, the only one is the primary key (id)",
					Source: "catalog",
				},
				{
					Ask: "Is the column selective?", Answer: "about 10 000 different values in 200 000 rows, sampled",
					Source: "sample of the table",
				},
			},
		}},
		Change: &report.AppliedChange{
			Text: "Index idx_customer_id added to shop.orders", SQL: sql, Undo: undo, Journal: "a-3f9k2",
			State: journal.Done, TookSec: known.Of(1.8),
			UndoCommand: "dyno undo a-3f9k2 --execute",
			Notes:       []journal.Note{{At: at(25.1), Text: "metadata lock taken at the first attempt"}},
		},
		Experiment: e,
		Classes: []report.ClassChange{
			{
				ID: id, Fingerprint: fingerprint, Schema: "shop", Origin: class.PerformanceSchema,
				Before: &report.ClassFigures{
					PerSec: known.Of(17.0), MeanSec: known.Of(0.468), P95Sec: known.Of(0.604),
					Examined: known.Of(200_000.0), Sent: known.Of(20.0), Share: known.Of(0.972),
				},
				After: &report.ClassFigures{
					PerSec: known.Of(4150.0), MeanSec: known.Of(0.00171),
					P95Sec: known.Of(0.0023), Examined: known.Of(20.0), Sent: known.Of(20.0), Share: known.Of(0.93),
				},
			},
			{
				ID: "0A1B2C3D4E5F60718293A4B5C6D7E8F9", Fingerprint: "insert into audit (at, who, what) values (?+)",
				Schema: "shop", Origin: class.PerformanceSchema,
				Before: &report.ClassFigures{PerSec: known.Of(5.0), MeanSec: known.Of(0.0021), Share: known.Of(0.001)},
			},
		},
		Story: []report.Step{
			{
				At: at(0), Text: "planted: a table of 200 000 orders without an index on customer_id",
				State: report.StepDone,
			},
			{At: at(0.2), Text: "load started: 8 sessions", State: report.StepDone},
			{At: at(15), Text: "looked for 9 s", State: report.StepDone},
			{At: at(24.2), Text: "found: missing-index, critical, certain", State: report.StepDone},
			{At: at(26.8), Text: "index added online in 1.8 s, no query waited", State: report.StepDone},
			{At: at(92), Text: "proved with 6 pairs of windows", State: report.StepDone},
			{At: at(92.5), Text: "cleaning up the private server", State: report.StepSkipped},
		},
		Sources: []source.Source{
			{Name: "global_status", State: source.OK, Reads: 92},
			{Name: "digests", State: source.OK, Reads: 4},
			{
				Name: "innodb_metrics", State: source.Denied, Reason: "the PROCESS privilege is missing",
				Fix: "GRANT PROCESS ON *.* TO 'dyno'@'localhost'",
			},
			{Name: "slow_log", State: source.Missing, Reason: "slow_query_log is OFF"},
		},
		Warnings: []string{"Load and server ran on the same 2 CPUs: the load took 0.4 cores of them."},
		Commands: []report.Command{
			{Text: "The whole demonstration again", Line: "dyno demo missing-index --server mariadb@10.11 --seed 42"},
			{Text: "This report as a page", Line: "dyno report d-7k2m9 --format html > report.html"},
			{Text: "The change on a server of yours (dry run)", Line: "dyno apply prod " +
				finding.MakeID("missing-index", "shop.orders", "customer_id")},
		},
	}
	d.Measures = report.MeasuresOf(e)
	for i := range d.Measures {
		if m := &d.Measures[i]; m.Name == "qps" {
			m.Ratio = d.Verdict.Ratio
		}
	}
	return d
}

// hostile holds texts that strangers could get into a report.
var hostile = []string{
	"<script>alert(1)</script>",
	`"><img src=x onerror=alert(1)>`,
	"</style></script></svg><b>",
	"nul\x00 esc\x1b[31m bell\a cr\rdel\x7f c1\u009b31m",
	"bidi \u202egnp.exe\u202c \u2066iso\u2069 zero\u200bwidth \u2028 tag\U000e0041",
	"broken \xff\xfe utf-8",
	"| pipe `tick` ``` *star* _under_ [link](javascript:alert(1)) # head",
	"line\n# one\n- two\n\n<b>three</b>",
	"{{.Title}} ${x} `id` $(id) WWW.evil.example www.evil.example http://evil.example @everybody",
}

// hostileDocument is the sample with a hostile text at the end of every text it has, in turn; shift decides who gets
// which.
func hostileDocument(shift int) *report.Document {
	d := sample()
	n := shift
	var spoil func(v reflect.Value)
	spoil = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			if v.Type() == reflect.TypeFor[string]() { // not Kind, Result and the like: these are ours
				v.SetString(v.String() + hostile[n%len(hostile)])
				n++
			}
		case reflect.Pointer:
			if !v.IsNil() {
				spoil(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				spoil(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					spoil(v.Field(i))
				}
			}
		}
	}
	spoil(reflect.ValueOf(d))

	// Names that refer to each other still do.
	clean, e := sample(), d.Experiment
	e.Main = e.Metrics[0].Name
	variant := map[string]string{clean.Experiment.Baseline: e.Baseline, clean.Experiment.Variant: e.Variant}
	for i, w := range clean.Experiment.Windows {
		e.Windows[i].Variant, e.Windows[i].Values, e.Windows[i].Invalid = variant[w.Variant], map[string]float64{}, ""
		for j, m := range clean.Experiment.Metrics {
			e.Windows[i].Values[e.Metrics[j].Name] = w.Values[m.Name]
		}
	}
	for i, x := range clean.Events {
		if v, ok := variant[x.Text]; ok {
			d.Events[i].Text = v
		}
	}
	return d
}
