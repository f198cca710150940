package report

import (
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// TestTouchedInOneDatabase: a statement that several databases have is listed for those that the change touches.
func TestTouchedInOneDatabase(t *testing.T) {
	s := &snapshot.Snapshot{From: time.Unix(0, 0), To: time.Unix(10, 0), Classes: []class.Class{
		{ID: "q", Schema: "tenant1", Count: 10, TimeSec: 1},
		{ID: "q", Schema: "tenant2", Count: 10, TimeSec: 5},
		{ID: "other", Schema: "tenant1", Count: 10, TimeSec: 9},
	}}
	got := TouchedClasses(proof.Proof{Touched: []proof.TouchedClass{{Class: "q", Schema: "tenant1"}}}, s, s)
	if len(got) != 1 || got[0].ID != "q" || got[0].Schema != "tenant1" {
		t.Errorf("%+v", got)
	}
}

func TestTouchedClasses(t *testing.T) {
	touched := proof.Proof{Touched: []proof.TouchedClass{
		{Class: "B", Fingerprint: "b"},
		{Class: "C"},
		{Class: "A"},
		{Class: "gone"},
		{Class: "D", Schema: "two"},
		{Class: "D", Schema: "one"},
	}}
	before := &snapshot.Snapshot{From: time.Unix(0, 0), To: time.Unix(10, 0), Classes: []class.Class{
		{
			ID: "A", Fingerprint: "a", Count: 100, TimeSec: 9, Examined: known.Of[uint64](1000),
			RowsSent: known.Of[uint64](100),
		},
		{ID: "B", Fingerprint: "b", Count: 10, TimeSec: 1},
		// One statement in the databases of two tenants is two classes of one id.
		{ID: "D", Schema: "one", Count: 100, TimeSec: 8},
		{ID: "D", Schema: "two", Count: 1000, TimeSec: 1},
	}, Rest: snapshot.Rest{TimeSec: 1}}
	after := &snapshot.Snapshot{From: time.Unix(10, 0), To: time.Unix(15, 0), Classes: []class.Class{
		{ID: "C", Fingerprint: "c", Count: 5, TimeSec: 3, Sampled: true},
		{ID: "A", Count: 2000, TimeSec: 1},
	}}
	var ids string
	cs := TouchedClasses(touched, before, after)
	for _, c := range cs {
		ids += c.ID + c.Schema
	}
	if ids != "CADoneBDtwo" {
		t.Fatalf("order %s", ids)
	}
	a := cs[1]
	if a.Fingerprint != "a" || a.Before.PerSec != known.Of(10.0) || a.Before.Examined != known.Of(10.0) ||
		a.Before.Share != known.Of(0.45) || a.After.PerSec != known.Of(400.0) || a.After.Examined.OK() {
		t.Errorf("A: %+v %+v", a.Before, a.After)
	}
	if c := cs[0]; c.Before != nil || c.After.PerSec.OK() || c.After.MeanSec.OK() || !c.Sampled {
		t.Errorf("a sampled class has a rate: %+v", c.After)
	}
	if one, two := cs[2].Before.MeanSec, cs[4].Before.MeanSec; one != known.Of(0.08) || two != known.Of(0.001) {
		t.Errorf("two databases: %v and %v", one, two)
	}
}

func TestChangeDone(t *testing.T) {
	at := time.Unix(1000, 0)
	e := journal.Entry{
		ID: "a-1", State: journal.Done, Action: finding.Action{SQL: "x", Undo: "y"}, Started: at,
		Ended: at.Add(1500 * time.Millisecond),
	}
	c := ChangeDone(e)
	if c.UndoCommand != "dyno undo a-1 --execute" || c.TookSec != known.Of(1.5) || c.Undo != "y" {
		t.Errorf("%+v", c)
	}
	e.State = journal.Undone
	if c := ChangeDone(e); c.UndoCommand != "" {
		t.Error("a command to undo what is undone")
	}
}

// TestProofSentence: what is said of the most expensive class is of that one.
func TestProofSentence(t *testing.T) {
	unseen := proof.TouchedClass{Class: "dear", Before: proof.Side{Seen: true, Share: 0.8}}
	small := proof.TouchedClass{
		Class: "cheap", Fingerprint: "select id from t where v=?", TimeRatio: known.Of(10.0),
		Before: proof.Side{Seen: true, Share: 0.01, Calls: 5, MeanSec: known.Of(0.1)},
		After:  proof.Side{Seen: true, Calls: 6, MeanSec: known.Of(0.01)},
	}
	f := func(want string, touched ...proof.TouchedClass) {
		t.Helper()
		if got := proofSentence(proof.Proof{Touched: touched}); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	const went = "A call of select id from t where v=? went from 100 ms to 10 ms"
	f(went+" (means of 5 and 6 calls, without an interval): there are too few calls, or the rows examined per call "+
		"are unknown, so no gain is proven.", small, unseen)
	f("A call of select id from t where v=?, 1 % of the statement time before, went from", unseen, small)
	// Many calls that examine as many rows as before prove nothing either; fewer rows do.
	small.Before.Calls, small.After.Calls, small.Before.Examined, small.After.Examined = 500, 600,
		known.Of(1.0), known.Of(1.0)
	f(went+" (means of 500 and 600 calls, without an interval): the rows examined per call did not change with it",
		small)
	small.Before.Examined = known.Of(200e3)
	f(went+": 10.0 times faster, 200k rows examined per call before and 1 after (means of 500 and 600 calls, without "+
		"an interval).", small)
	f("The most expensive class it affects took 80 %", unseen)
	f("No class that the change affects")
}

func TestSumKeepsOnlyMomentsThatAllHave(t *testing.T) {
	a := metric.Series{Points: []metric.Point{{At: 1, Value: 1}, {At: 2, Value: 2}, {At: 3, Value: 3}}}
	b := metric.Series{Points: []metric.Point{{At: 1, Value: 10}, {At: 3, Value: 30}}}
	got := sum(a, b).Points
	if len(got) != 2 || got[0] != (metric.Point{At: 1, Value: 11}) || got[1] != (metric.Point{At: 3, Value: 33}) {
		t.Fatalf("got %v", got)
	}
}

func TestSentence(t *testing.T) {
	s := &snapshot.Snapshot{
		From: time.Unix(0, 0), To: time.Unix(10, 0),
		Sources: []source.Source{{Name: "a", State: source.OK}},
	}
	odd := []finding.Symptom{
		{Kind: "cpu-saturated", Title: "the CPUs are busy"},
		{Kind: "not-observable", Title: "no digests"},
	}
	f := func(symptoms []finding.Symptom, findings []finding.Finding, want string) {
		t.Helper()
		if got := Sentence(s, symptoms, findings); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	f(nil, nil, "No symptoms were found in 10 s.")
	f(odd[1:], nil, "No symptoms")
	f(odd, nil, "No cause was found in 10 s for these symptoms: the CPUs are busy.")
	f(odd, []finding.Finding{{Title: "the verdict"}}, "the verdict")
	s.Sources = append(s.Sources, source.Source{Name: "b", State: source.Denied})
	f(nil, nil, "1 of 2 data sources are unavailable.")
}

func TestNoCPUChartWithoutTheProcess(t *testing.T) {
	counter := func(name, mode string) metric.Series {
		return metric.Series{
			Name: name, Labels: metric.L("mode", mode), Kind: metric.Counter,
			Points: []metric.Point{{At: 0, Value: 0}, {At: 1000, Value: 1}},
		}
	}
	if _, ok := cpuChart([]metric.Series{counter("node_cpu_seconds_total", "iowait")}); ok {
		t.Fatal("the CPU of a process that could not be seen was drawn")
	}
	c, ok := cpuChart([]metric.Series{
		counter("dyno_server_cpu_seconds_total", "user"),
		counter("dyno_server_cpu_seconds_total", "system"),
	})
	if !ok || len(c.Lines) != 1 || c.Lines[0].Points[0].Value != 2 {
		t.Fatalf("got %+v %v", c, ok)
	}
}

func TestRunDocument(t *testing.T) {
	h := func(d time.Duration) *hist.Histogram {
		x := hist.New()
		x.Record(d)
		return x
	}
	r := loadresult.Run{ID: "r-1", Target: "db", Workload: "w", Elapsed: time.Second, Total: loadresult.Tick{
		Length: time.Second,
		Ops:    []loadresult.Op{{Name: "op", Latency: h(time.Millisecond)}},
	}, Warnings: []string{"slow"}}
	if d := RunDocument(r, nil, "v"); d.Sentence != "1 operations per second, 95 % of them within 1 ms, in 1 s." ||
		len(d.Warnings) != 1 {
		t.Errorf("%s %q", d.Sentence, d.Warnings)
	}
	// What somebody waits for is the response; and an invalid run says so first.
	r.Total.Ops[0].Response = h(2 * time.Second)
	r.Invalid = "the client was the limit"
	d := RunDocument(r, nil, "v")
	if !strings.HasPrefix(d.Sentence, "Invalid, ") || !strings.Contains(d.Sentence,
		"within 2 s, from their scheduled start") || d.Warnings[0] != "Invalid: the client was the limit." ||
		len(r.Warnings) != 1 {
		t.Errorf("%s %q", d.Sentence, d.Warnings)
	}
}

// TestStatementsOfFindings: in every form a finding shows the statements that it is about.
func TestStatementsOfFindings(t *testing.T) {
	s := &snapshot.Snapshot{From: time.Unix(0, 0), To: time.Unix(10, 0), Classes: []class.Class{
		{ID: "A1", Schema: "shop", Fingerprint: "select a from orders where b = ?"},
		{ID: "A2", Schema: "shop", Fingerprint: "select other from stock"},
	}}
	f := finding.Finding{
		ID: "f-1", Rule: "missing-index", Severity: finding.Warning, Title: "slow",
		Subject: finding.Subject{Classes: []string{"A1", "gone"}},
	}
	d := DiagnosisDocument("d-1", s, nil, []finding.Finding{f}, family.Names{}, "1")
	var text, md, page strings.Builder
	for form, err := range map[*strings.Builder]error{
		&text: Text(&text, &d, Options{}), &md: Markdown(&md, &d), &page: HTML(&page, &d),
	} {
		if got := form.String(); err != nil || !strings.Contains(got, "select a from orders where b = ?") ||
			!strings.Contains(got, "shop · A1") || strings.Contains(got, "stock") {
			t.Errorf("%v: %s", err, got)
		}
	}
}
