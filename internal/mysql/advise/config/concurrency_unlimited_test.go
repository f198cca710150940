package config

import (
	"testing"

	"github.com/dyno-perf/dyno/test/snap"
)

// crowd is a server of two CPUs with so many statements running, of which so many threads wait for a CPU at a time.
func crowd(running, waiting float64) *snap.Made {
	m := cpus(snap.Build(), 2, 1.9).Gauge("mysql_global_status_threads_running", running)
	if waiting >= 0 {
		m.Rate("dyno_server_run_queue_seconds_total", waiting)
	}
	return m
}

func TestConcurrencyUnlimited(t *testing.T) {
	f, ok := told(t, concurrencyUnlimited, crowd(150, 80))
	if !ok || f.Action != nil || len(f.Setting) == 0 || f.Setting[0] != "thread_handling = pool-of-threads" ||
		!f.Restart {
		t.Errorf("MariaDB: %v %+v", ok, f)
	}
	f, ok = told(t, concurrencyUnlimited, crowd(150, 80).MySQL("9.7.4").Set("innodb_thread_concurrency", "0"))
	if !ok || f.Action == nil || f.Action.Variable != "innodb_thread_concurrency" || f.Action.Value != "8" {
		t.Errorf("MySQL: %v %+v", ok, f)
	}
	if _, ok = told(t, concurrencyUnlimited, crowd(150, -1).Symptom("cpu-saturated", "cpu", "full")); !ok {
		t.Error("silent where the queue cannot be seen and the CPUs are full")
	}
}

func TestConcurrencyUnlimitedSilent(t *testing.T) {
	quiet(t, concurrencyUnlimited, crowd(4, 3.9))  // as busy as it can be
	quiet(t, concurrencyUnlimited, crowd(12, 11))  // a machine that others use too
	quiet(t, concurrencyUnlimited, crowd(150, 1))  // they wait for something else
	quiet(t, concurrencyUnlimited, crowd(3, 40))   // it was over before the server was asked
	quiet(t, concurrencyUnlimited, crowd(150, -1)) // the queue cannot be seen, and the CPUs are free
	quiet(t, concurrencyUnlimited, crowd(150, 80).Gauge("dyno_lock_waiters", 140, "kind", "row"))
	quiet(t, concurrencyUnlimited, crowd(150, 80).Set("thread_handling", "pool-of-threads"))
	quiet(t, concurrencyUnlimited, crowd(150, 80).Set("innodb_thread_concurrency", "8"))
}
