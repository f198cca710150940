package cli

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
)

func TestOwnBlock(t *testing.T) {
	x := sampleTick()
	x.Statements = []loadresult.Statement{{Name: "point select", Latency: hist.New()}}
	x.Statements[0].Latency.Record(250 * time.Second)
	x.Errors = map[string]uint64{"1213": 2}
	r := loadresult.Run{
		Options: map[string]string{"threads": "2", "rand-seed": "7"}, Elapsed: x.Length, Total: x,
		State: loadresult.Stopped, Path: "loops",
		Warnings: []string{"the server is slow"}, Invalid: "the client was slower",
	}
	has := func(r loadresult.Run, list []float64, width int, wants ...string) {
		t.Helper()
		var b strings.Builder
		ownBlock(&b, &r, list, width)
		for _, w := range wants {
			if not, ok := strings.CutPrefix(w, "!"); strings.Contains(b.String(), not) == ok {
				t.Errorf("%q in\n%s", w, b.String())
			}
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if utf8.RuneCountInString(line) > width {
				t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
			}
		}
	}
	two := []float64{50, 99.9}
	has(r, two, 100, "Latency in ms                count    per s     mean      p50    p99.9      max\n",
		"  oltp_read_write\n    service                     46   ", "    corrected for 21.6/s ",
		"  statements\n    point select                 1    0.469   250000   250000   250000   250000\n",
		"Errors:      2 × 1213 (deadlock)\n", "Client:      event loops\n", "Seed:        7\n",
		"Note:        the server is slow.\n", "INVALID:     the client was slower.\n",
		"Stopped:     early", "!Arrivals")
	has(r, nil, 200, " p50      p75      p90      p95      p99    p99.9   p99.99      max\n")
	r.Total.Statements[0].Name = "the stock of an item that is far away"
	has(r, nil, 80, "Latency in ms                count      p50      p95      p99    p99.9      max\n",
		"\n    the stock of an item…")
	has(r, nil, 140, "\n    the stock of an item that is far away        1 ")
	r.Total.Open = &loadresult.Open{Due: 50, Dropped: 4}
	r.Total.Ops[0].Response = r.Total.Ops[0].Latency
	r.Invalid, r.State = "", loadresult.Done
	has(r, two, 120, "    response                                    46 ", "Arrivals:    50 due",
		"4 of them not started", "!corrected", "!INVALID", "!Stopped")
}

func TestFigures(t *testing.T) {
	x := sampleTick()
	r := loadresult.Run{Options: map[string]string{"threads": "2"}, Total: x}
	f := figuresOf(&x, &r)
	if f.Reads != 644 || f.Writes != 184 || f.Others != 92 || f.Service["max"] != 547.61 ||
		f.Corrected["max"] != 547.61 || f.CorrectedRate == 0 || f.Response != nil {
		t.Errorf("%+v", f)
	}
	if f := figuresOf(&loadresult.Tick{}, nil); f.Service != nil {
		t.Errorf("latencies of nothing: %+v", f)
	}
}
