package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/loadresult"
)

// intervalFigures is how scripts find the figures of a line.
var intervalFigures = regexp.MustCompile(
	`^\[ (\d+)s \] thds: (\d+) tps: ([\d.]+) qps: ([\d.]+) \(r/w/o: ([\d.]+)/([\d.]+)/([\d.]+)\) lat \(ms,95%\): ([\d.]+) err/s:? ([\d.]+) reconn/s: ([\d.]+)\n`)

func TestIntervalLine(t *testing.T) {
	x := sampleTick()
	x.Length = 2 * time.Second
	x.Errors, x.Reconnects = map[string]uint64{"1213": 3}, 1
	var b strings.Builder
	intervalLine(&b, x, 4*time.Second, 95)
	const want = "[ 4s ] thds: 2 tps: 23.00 qps: 460.00 (r/w/o: 322.00/92.00/46.00) lat (ms,95%): "
	if !strings.HasPrefix(b.String(), want) || !strings.HasSuffix(b.String(), " err/s: 1.50 reconn/s: 0.50\n") ||
		!intervalFigures.MatchString(b.String()) {
		t.Error(b.String())
	}
	if theirs := "[ 1s ] thds: 2 tps: 16.93 qps: 338.55 (r/w/o: 236.98/67.71/33.85) lat (ms,95%): 18.95 err/s: 0.00 " +
		"reconn/s: 0.00\n"; !intervalFigures.MatchString(theirs) {
		t.Error("sysbench's own line is not parsed")
	}
	x.Open = &loadresult.Open{Queue: 7, Busy: 2}
	b.Reset()
	intervalLine(&b, x, 4*time.Second, 95)
	if !strings.HasSuffix(b.String(), "\n[ 4s ] queue length: 7, concurrency: 2\n") {
		t.Error(b.String())
	}
}

// printed returns what a printer makes of n ticks of a second and an end of 20 ms, after one of the warm-up.
func printed(t *testing.T, output string, n int, args ...string) string {
	t.Helper()
	var b strings.Builder
	e := &env{console: console{Streams: Streams{Out: &b, Err: &strings.Builder{}}, output: output}}
	o, _, err := parsed(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	p := newTickPrinter(e, o)
	for i := range n + 2 {
		x := sampleTick()
		x.Seq, x.At, x.Length, x.Warm = i, time.Unix(int64(i), 0), time.Second, i == 0
		if i == n+1 {
			x.Length = 20 * time.Millisecond
		}
		p.tick(x)
	}
	p.end()
	return b.String()
}

func TestTickPrinter(t *testing.T) {
	f := func(lines int, args ...string) {
		t.Helper()
		got := printed(t, "text", 6, args...)
		if n := strings.Count(got, " thds: "); n != lines || strings.Count(got, "Threads started!") != 1 {
			t.Errorf("%q: %d lines, want %d:\n%s", args, n, lines, got)
		}
	}
	f(6)
	f(3, "--report-interval=2")
	f(2, "--report-interval=4") // the rest, half of it, at the end
	f(1, "--report-interval=5")
	f(0, "--report-interval=0")
}

func TestCheckpoints(t *testing.T) {
	got := printed(t, "text", 6, "--report-checkpoints=2,5", "--report-interval=0")
	if strings.Count(got, "Checkpoint report:") != 2 {
		t.Fatal(got)
	}
	var n []string
	for _, m := range regexp.MustCompile(`(?m)^\[ \d+s \] Checkpoint|events: +\d+|total time: +[\d.]+s`).
		FindAllString(got, -1) {
		n = append(n, strings.Join(strings.Fields(m), " "))
	}
	if s := strings.Join(n, ", "); s != "[ 2s ] Checkpoint, total time: 2.0000s, events: 92, [ 5s ] Checkpoint, "+
		"total time: 5.0000s, events: 138" {
		t.Error(s)
	}
}

// TestRest: a last checkpoint at the end of a run leaves no block of zeros behind it.
func TestRest(t *testing.T) {
	for checkpoints, want := range map[string]time.Duration{
		"--report-checkpoints=2,6": 6 * time.Second,
		"--report-checkpoints=2,5": time.Second,
	} {
		o, _, err := parsed(t, checkpoints)
		if err != nil {
			t.Fatal(err)
		}
		out := Streams{Out: &strings.Builder{}, Err: &strings.Builder{}}
		p := newTickPrinter(&env{console: console{Streams: out, output: "text"}}, o)
		total := loadresult.Tick{}
		for i := range 6 {
			x := sampleTick()
			x.Seq, x.At, x.Length = i, time.Unix(int64(i), 0), time.Second
			p.tick(x)
			total.Add(x)
		}
		if got := p.rest(total); got.Length != want {
			t.Errorf("%s: the last block is of %v", checkpoints, got.Length)
		}
	}
}

func TestTicksAsJSON(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(printed(t, "json", 2)), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines, want one of the warm-up, two, and the short end", len(lines))
	}
	for i, s := range lines[:3] {
		var x struct {
			Message string
			Time    float64
			TPS     float64
			Warm    bool
			Service map[string]float64 `json:"service_ms"`
			Ops     []loadresult.Op
		}
		if err := json.Unmarshal([]byte(s), &x); err != nil {
			t.Fatal(err)
		}
		if x.Message != "tick" || x.Time != float64(i) || x.TPS != 46 || x.Warm != (i == 0) || x.Service["p50"] < 49 ||
			x.Service["p50"] > 51 || x.Ops[0].Latency.Count() != 46 {
			t.Errorf("line %d: %+v", i, x)
		}
	}
}
