package config

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/test/snap"
)

// logins is a server that uses so many CPUs, with rates of connections, statements and threads made.
func logins(used, connects, statements, created float64) *snap.Made {
	return cpus(snap.Build(), 4, used).Status("Connections", connects).Status("Questions", statements).
		Status("Threads_created", created).
		Gauge("mysql_global_status_max_used_connections", 40).Set("thread_cache_size", "0")
}

func TestConnectionChurn(t *testing.T) {
	f, ok := told(t, connectionChurn, logins(0.6, 500, 1500, 500))
	if !ok || f.Action == nil || f.Action.Variable != "thread_cache_size" || f.Action.Value != "40" {
		t.Errorf("%v %+v", ok, f)
	}
	// beside connections that last; threads are kept
	f, ok = told(t, connectionChurn, logins(0.6, 500, 20_000, 0.1).Set("thread_cache_size", "100"))
	if !ok || f.Action != nil || len(f.Against) == 0 {
		t.Errorf("%v %+v", ok, f)
	}
	if f, ok = told(t, connectionChurn, logins(0.1, 100, 300, 100)); !ok || f.Severity != finding.Notice {
		// CPUs are free
		t.Errorf("%v %+v", ok, f)
	}
	f, ok = told(t, connectionChurn, logins(-1, 300, 600, 300)) // the process cannot be seen
	if !ok || f.Confidence != finding.Possible {
		t.Errorf("%v %+v", ok, f)
	}
}

func TestConnectionChurnSilent(t *testing.T) {
	quiet(t, connectionChurn, logins(0.6, 5, 15, 5))        // monitoring and people
	quiet(t, connectionChurn, logins(0.02, 30, 60, 30))     // nearly all of an idle server, and nothing to speak of
	quiet(t, connectionChurn, logins(2.0, 60, 20_000, 0))   // a drop in the ocean
	quiet(t, connectionChurn, logins(-1, 300, 60_000, 300)) // unseen, and each connection is used
	quiet(t, connectionChurn, snap.Build())
}
