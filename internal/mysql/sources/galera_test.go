package sources

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
)

func TestGalera(t *testing.T) {
	f := func(rows map[string]string, want map[string]float64) {
		t.Helper()
		var g galera
		for range 2 { // the second reading knows nothing of the first
			for _, k := range sortedKeys(rows) {
				g.note([]byte(k), []byte(rows[k]))
			}
			got := map[string]float64{}
			g.emit(5, func(s metric.Sample) {
				k := s.Name
				for _, l := range s.Labels {
					k += " " + l.Name + "=" + l.Value
				}
				got[k] = s.Value
			})
			if len(got) != len(want) {
				t.Errorf("got %v", got)
			}
			for k, v := range want {
				if g, ok := got[k]; !ok || g != v {
					t.Errorf("%s: got %v %v, want %v", k, g, ok, v)
				}
			}
		}
	}
	node := map[string]string{
		"wsrep_local_state_uuid": "L", "wsrep_cluster_state_uuid": "C", "wsrep_provider_version": "26.4.14(r0)",
		"wsrep_cluster_status":      "Primary",
		"wsrep_local_state_comment": "Synced", "wsrep_evs_repl_latency": "0.0002/0.0004/0.001/0.0003/12",
		"wsrep_connected": "ON", "Questions": "5",
	}
	f(node, map[string]float64{
		"mysql_galera_status_info wsrep_cluster_state_uuid=C wsrep_local_state_uuid=L " +
			"wsrep_provider_version=26.4.14(r0)": 1,
		"dyno_galera_primary": 1, "dyno_galera_state state=Synced": 1,
		"mysql_galera_evs_repl_latency_min_seconds": 0.0002, "mysql_galera_evs_repl_latency_avg_seconds": 0.0004,
		"mysql_galera_evs_repl_latency_max_seconds": 0.001, "mysql_galera_evs_repl_latency_stdev": 0.0003,
		"mysql_galera_evs_repl_latency_sample_size": 12,
	})
	f(map[string]string{
		"wsrep_provider_version": "26", "wsrep_cluster_status": "non-Primary",
		"wsrep_local_state_comment": "Initialized", "wsrep_evs_repl_latency": "",
	}, map[string]float64{
		"mysql_galera_status_info wsrep_cluster_state_uuid= wsrep_local_state_uuid= wsrep_provider_version=26": 1,
		"dyno_galera_primary": 0, "dyno_galera_state state=Initialized": 1,
	})
	f(map[string]string{"wsrep_provider_version": "", "wsrep_cluster_status": "Disconnected", "wsrep_connected": "OFF"},
		nil)
	f(map[string]string{"Uptime": "1"}, nil)
}
