package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/report"
)

func latencies(ds ...time.Duration) *hist.Histogram {
	h := hist.New()
	for _, d := range ds {
		h.Record(d)
	}
	return h
}

// closedRun is 2 sessions for 1 s: 18 operations of 10 ms, and one of 800 ms during which its session began no other.
func closedRun() *loadresult.Run {
	h := latencies(800 * time.Millisecond)
	for range 18 {
		h.Record(10 * time.Millisecond)
	}
	return &loadresult.Run{
		Options: map[string]string{"threads": "2"}, Elapsed: time.Second,
		Total: loadresult.Tick{Length: time.Second, Threads: 1, Ops: []loadresult.Op{
			{Name: "order", Reads: 38, Latency: h}, {Name: "never", Latency: hist.New()},
		}, Statements: []loadresult.Statement{
			{Name: "point select", Latency: latencies(time.Millisecond)},
			{Name: "never", Latency: hist.New()},
		}},
	}
}

func names(ls []report.RunLatency) string {
	var out []string
	for _, l := range ls {
		s := l.Of + " " + l.Which
		if l.Statement {
			s = "statement " + s
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestRunLatencies(t *testing.T) {
	f := func(r *loadresult.Run, want string) {
		t.Helper()
		if got := names(report.RunLatencies(r)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f(closedRun(), "order service, order corrected, statement point select service")
	two := closedRun()
	two.Total.Ops[1].Latency = latencies(time.Millisecond)
	f(two, "order service, never service, all operations service, all operations corrected, statement point select "+
		"service")
	open := closedRun()
	open.Total.Open = &loadresult.Open{Due: 20, Dropped: 1}
	open.Total.Ops[0].Response = latencies(time.Second)
	open.Total.Ops[1].Response = hist.New()
	f(open, "order service, order response, statement point select service")
	f(&loadresult.Run{}, "")
}

// TestCorrected: 2 sessions and 19 operations in 1 s are one each 105 ms from either; the 800 ms hide 6 of them.
func TestCorrected(t *testing.T) {
	r := closedRun()
	h, rate, ok := report.Corrected(r)
	if !ok || rate != 19 || h.Count() != 19+6 {
		t.Fatalf("got %v, %v/s, %d operations", ok, rate, h.Count())
	}
	if n := r.Total.Operations(); n != 19 {
		t.Fatalf("the run itself has %d operations now", n)
	}
	f := func(change func(*loadresult.Run)) {
		t.Helper()
		r := closedRun()
		change(r)
		if _, _, ok := report.Corrected(r); ok {
			t.Error("corrected although there is nothing to go by")
		}
	}
	f(func(r *loadresult.Run) { r.Total.Open = &loadresult.Open{} })
	f(func(r *loadresult.Run) { r.Total.Length = 0 })
	f(func(r *loadresult.Run) { r.Total.Ops = nil })
	f(func(r *loadresult.Run) { r.Options, r.Total.Threads = nil, 0 })
}

func TestRunErrors(t *testing.T) {
	f := func(x loadresult.Tick, want string) {
		t.Helper()
		if got := report.RunErrors(&x); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(loadresult.Tick{}, "none")
	f(loadresult.Tick{
		Errors: map[string]uint64{"1213": 3, "lost": 12, "9999": 3}, Reconnects: 1, Ops: []loadresult.Op{{Failed: 2}},
	}, "12 × lost (connection lost), 3 × 1213 (deadlock), 3 × 9999, 2 operations given up, 1 reconnect")
}

func TestRunArrivals(t *testing.T) {
	f := func(o *loadresult.Open, want string) {
		t.Helper()
		r := loadresult.Run{Total: loadresult.Tick{Length: 2 * time.Second, Open: o}}
		if got := report.RunArrivals(&r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(nil, "")
	f(&loadresult.Open{Due: 1000}, "1000 due (500/s), all started")
	f(&loadresult.Open{Due: 1000, Dropped: 7}, "1000 due (500/s), 7 of them not started before the run ended")
}

func TestRunClient(t *testing.T) {
	f := func(r loadresult.Run, want string) {
		t.Helper()
		if got := report.RunClient(&r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(loadresult.Run{}, "")
	f(loadresult.Run{Path: "driver"}, "general driver")
	f(loadresult.Run{Path: "loops", Total: loadresult.Tick{
		Length: 2 * time.Second, ClientCPU: time.Second,
		Delay: 3 * time.Millisecond, Ops: []loadresult.Op{{Reads: 100_000, Latency: hist.New()}},
	}},
		"0.5 CPUs, 10 µs of CPU a query, longest delay 3 ms, event loops")
}

// TestRunPage looks for the figures of an open, invalid run in all formats.
func TestRunPage(t *testing.T) {
	d := loadRun()
	d.Run.Invalid = "the client was too slow"
	d.Run.Total.Open = &loadresult.Open{Due: 3000, Dropped: 190}
	d.Run.Total.Ops[0].Response = latencies(250 * time.Millisecond)
	for name, render := range map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return report.Text(b, d, report.Options{Width: 200}) },
		"markdown": func(b *bytes.Buffer) error { return report.Markdown(b, d) },
		"html":     func(b *bytes.Buffer) error { return report.HTML(b, d) },
	} {
		var b bytes.Buffer
		if err := render(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"the client was too slow", "190 of them not started", "read, response",
			"median 250 ms", "deadlock",
		} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
		if strings.Contains(b.String(), "corrected") {
			t.Errorf("%s: an open loop has a corrected distribution", name)
		}
	}
}
