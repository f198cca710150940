package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
)

// sysbenchSummary is what sysbench 1.0.20 printed at the end of a run.
const sysbenchSummary = `SQL statistics:
    queries performed:
        read:                            644
        write:                           184
        other:                           92
        total:                           920
    transactions:                        46     (21.56 per sec.)
    queries:                             920    (431.30 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          4.1451s
    total number of events:              46

Latency (ms):
         min:                                    3.42
         avg:                                   62.75
         max:                                  547.61
         95th percentile:                      196.89
         sum:                                 2886.72

Threads fairness:
    events (avg/stddev):           23.0000/2.00
    execution time (avg/stddev):   1.4434/0.31

`

// summaryFigures is how scripts find the figures of a summary.
var summaryFigures = regexp.MustCompile(
	`(?s)read: +(\d+)\n +write: +(\d+)\n +other: +(\d+)\n +total: +(\d+)\n +transactions: +(\d+) +\(([\d.]+) per sec\.\)\n` +
		` +queries: +(\d+) +\(([\d.]+) per sec\.\)\n +ignored errors: +(\d+) +\([\d.]+ per sec\.\)\n +reconnects: +(\d+) +\([\d.]+ per sec\.\)\n.*` +
		`total time: +([\d.]+)s\n +total number of events: +(\d+)\n.*` +
		`min: +([\d.]+)\n +avg: +([\d.]+)\n +max: +([\d.]+)\n +95th percentile: +([\d.]+)\n +sum: +([\d.]+)\n.*` +
		`events \(avg/stddev\): +([\d.]+)/([\d.]+)\n +execution time \(avg/stddev\): +([\d.]+)/([\d.]+)\n`)

// sampleTick has the counts of sysbenchSummary.
func sampleTick() loadresult.Tick {
	h := hist.New()
	h.Record(3420 * time.Microsecond)
	for range 43 {
		h.Record(50 * time.Millisecond)
	}
	h.Record(196890 * time.Microsecond)
	h.Record(547610 * time.Microsecond)
	return loadresult.Tick{
		Length: 2133100 * time.Microsecond, Threads: 2,
		Ops: []loadresult.Op{{Name: "oltp_read_write", Reads: 644, Writes: 184, Others: 92, Latency: h}},
	}
}

// TestSummaryIsSysbenchs compares layouts to the letter, and parses both with the same expression.
func TestSummaryIsSysbenchs(t *testing.T) {
	var b strings.Builder
	sysbenchBlock(&b, sampleTick(), 4145100*time.Microsecond, &loadresult.Fairness{
		Events: 23, EventsSD: 2,
		Seconds: 1.44336, SecondsSD: 0.31,
	}, 95)
	ours, theirs := strings.Split(b.String(), "\n"), strings.Split(sysbenchSummary, "\n")
	for i, line := range ours[:len(ours)-1] {
		digits := regexp.MustCompile(`[\d.]+`)
		same := line == theirs[i]
		if strings.HasPrefix(theirs[i], "         ") { // latencies differ, and stand on the right
			same = len(line) == len(theirs[i]) && digits.ReplaceAllString(strings.Join(strings.Fields(line), " "),
				"N") == digits.ReplaceAllString(strings.Join(strings.Fields(theirs[i]), " "), "N")
		}
		if !same {
			t.Errorf("line %d:\n%q, sysbench's is\n%q", i, line, theirs[i])
		}
	}
	a, c := summaryFigures.FindStringSubmatch(b.String()), summaryFigures.FindStringSubmatch(sysbenchSummary)
	if a == nil || c == nil {
		t.Fatalf("one of the two is not parsed: %v, %v", a, c)
	}
	for i := 1; i <= 13; i++ {
		if a[i] != c[i] {
			t.Errorf("figure %d: %s, want %s", i, a[i], c[i])
		}
	}
}

func TestSummaryWithoutPercentile(t *testing.T) {
	var b strings.Builder
	sysbenchBlock(&b, loadresult.Tick{}, 0, nil, 0)
	if !strings.Contains(b.String(), "\n         percentile stats:               disabled\n") ||
		strings.Contains(b.String(), "NaN") {
		t.Error(b.String())
	}
}

// TestFelt: with a rate it is the response times that sysbench tells.
func TestFelt(t *testing.T) {
	x := sampleTick()
	if felt(x).Count() != 46 {
		t.Error("no service times")
	}
	x.Ops[0].Response = hist.New()
	x.Ops[0].Response.Record(time.Second)
	if felt(x).Count() != 1 {
		t.Error("no response times")
	}
}
