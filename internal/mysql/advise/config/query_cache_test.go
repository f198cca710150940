package config

import (
	"testing"

	"github.com/dyno-perf/dyno/test/snap"
)

// cached is a server with a query cache, with rates of stored results, hits and writes.
func cached(kind string, inserts, hits, writes float64) *snap.Made {
	return snap.Build().Set("query_cache_type", kind).Set("query_cache_size", "134217728").
		Status("Qcache_inserts", inserts).Status("Qcache_hits", hits).Status("Com_update",
		writes).Status("Com_insert", 0)
}

func TestQueryCache(t *testing.T) {
	f, ok := told(t, queryCache, cached("ON", 900, 40, 100))
	if !ok || f.Action == nil || f.Action.Variable != "query_cache_size" || f.Action.Value != "0" ||
		f.Action.Undo != "SET GLOBAL query_cache_size = 134217728" {
		t.Errorf("%v %+v", ok, f)
	}
	// The hits are good, and a third of the statements stand before the lock.
	f, ok = told(t, queryCache, sessions(cached("ON", 100, 900, 100), 10,
		map[string]int{"Waiting for query cache lock": 2, "Sending data": 4}))
	if !ok || f.Share < 0.3 {
		t.Errorf("%v %+v", ok, f)
	}
	if f, ok = told(t, queryCache, sessions(cached("ON", 0, 900, 100), 10,
		map[string]int{"Waiting for query cache lock": 2, "Sending data": 4})); !ok ||
		f.Why[1].Answer != "none was stored in this window; 900 statements/s found one from before" {
		t.Errorf("nothing stored: %v %+v", ok, f.Why)
	}
}

func TestQueryCacheSilent(t *testing.T) {
	quiet(t, queryCache, cached("OFF", 900, 40, 100))
	quiet(t, queryCache, cached("ON", 900, 40, 100).Set("query_cache_size", "0"))
	quiet(t, queryCache, cached("ON", 100, 900, 100))   // it is used
	quiet(t, queryCache, cached("ON", 900, 40, 0))      // nobody writes: it fills
	quiet(t, queryCache, cached("DEMAND", 0.1, 0, 100)) // nothing is stored
	quiet(t, queryCache, snap.Build())
	quiet(t, queryCache, sessions(cached("ON", 100, 900, 100), 10, map[string]int{"Sending data": 6}))
}
