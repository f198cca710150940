package report_test

import (
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/report"
)

func TestRunCharts(t *testing.T) {
	start := time.Unix(1000, 0)
	var ticks []loadresult.Tick
	for i := range 4 {
		ticks = append(ticks, loadresult.Tick{
			Seq: i, At: start.Add(time.Duration(i) * time.Second), Length: time.Second,
			Ops: []loadresult.Op{{Name: "read", Latency: latencies(time.Millisecond)}},
		})
	}
	ticks[3].Length = 30 * time.Millisecond // the stub at the end
	if cs := report.RunCharts(ticks); len(cs) != 2 || len(cs[0].Lines[0].Points) != 3 || len(cs[0].Lines) != 1 {
		t.Fatalf("closed: %+v", cs)
	}
	for i := range ticks {
		ticks[i].Open = &loadresult.Open{Due: 5, Queue: uint64(i)}
		ticks[i].Ops[0].Response = latencies(20 * time.Millisecond)
	}
	cs := report.RunCharts(ticks)
	if len(cs) != 3 {
		t.Fatalf("open: %+v", cs)
	}
	due, response, queue := cs[0].Lines[1].Points, cs[1].Lines[2].Points, cs[2].Lines[0].Points
	if len(due) != 3 || due[0].Value != 5 || response[0].Value != 20 {
		t.Errorf("open: %v %v", due, response)
	}
	if queue[2].Value != 2 {
		t.Errorf("queue: %v", queue)
	}
}
