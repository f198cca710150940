package config

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/test/snap"
)

// queue is a MySQL of four CPUs with a limit, and the means of what is inside of the engine and before it.
func queue(limit string, inside, queued, used float64) *snap.Made {
	m := cpus(snap.Build().MySQL("8.0.36"), 4, used).Set("innodb_thread_concurrency", limit)
	return m.Gauge("mysql_engine_innodb_queries_inside_innodb", inside).Gauge("mysql_engine_innodb_queries_in_queue",
		queued)
}

func TestConcurrencyLimit(t *testing.T) {
	f, ok := told(t, concurrencyLimit, queue("1", 1, 6, 0.4))
	if !ok || f.Severity != finding.Critical || f.Action == nil || f.Action.Variable != "innodb_thread_concurrency" ||
		f.Action.Value != "0" ||
		f.Action.Undo != "SET GLOBAL innodb_thread_concurrency = 1" || f.Title != "6 statements wait to enter the "+
		"engine, which lets 1 in at a time" {
		t.Errorf("%v %+v", ok, f)
	}
	f, ok = told(t, concurrencyLimit, cpus(queue("8", 8, 6, 1), 4, -1)) // the process cannot be seen
	if !ok || f.Confidence != finding.Possible {
		t.Errorf("%v %+v", ok, f)
	}
}

func TestConcurrencyLimitSilent(t *testing.T) {
	quiet(t, concurrencyLimit, queue("0", 9, 0, 0.4))
	// a queue with no limit: it was taken away within the window
	quiet(t, concurrencyLimit, queue("0", 9, 6, 0.4))
	// the CPUs are full, the limit does what it is for
	quiet(t, concurrencyLimit, queue("8", 8, 30, 3.8))
	quiet(t, concurrencyLimit, queue("16", 9, 0.3, 2))                             // it is reached now and then
	quiet(t, concurrencyLimit, queue("64", 60, 10, 2))                             // hardly anybody waits
	quiet(t, concurrencyLimit, snap.Build())                                       // MariaDB has none
	quiet(t, concurrencyLimit, snap.Build().Set("innodb_thread_concurrency", "1")) // nobody told of the queue
}
