package sources

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
)

// galera makes figures of what SHOW GLOBAL STATUS says of a Galera node in words; those in numbers are
// mysql_global_status_wsrep_<name>.
//
//	mysql_galera_status_info{wsrep_local_state_uuid,wsrep_cluster_state_uuid,wsrep_provider_version} 1
//	mysql_galera_evs_repl_latency_{min,avg,max}_seconds, …_stdev, …_sample_size
//	dyno_galera_primary      1 while the node belongs to the part of the cluster that may write
//	dyno_galera_state{state} 1 for the state that the node is in, in the server's words: Synced, Donor/Desynced,
//	Joining, …
//
// A server that runs without a provider has none of these.
type galera struct {
	word map[string]string
	info info
	now  info
}

// note takes a status variable.
func (g *galera) note(name, val []byte) {
	if len(name) < 6 || (name[0]|0x20) != 'w' || !strings.EqualFold(string(name[:6]), "wsrep_") {
		return
	}
	switch n := strings.ToLower(string(name)); n {
	case "wsrep_local_state_uuid", "wsrep_cluster_state_uuid", "wsrep_provider_version", "wsrep_evs_repl_latency",
		"wsrep_cluster_status", "wsrep_local_state_comment", "wsrep_connected":
		if g.word == nil {
			g.word = map[string]string{}
		}
		g.word[n] = strings.ToValidUTF8(string(val), "?")
	}
}

// emit ends a reading.
func (g *galera) emit(at int64, emit func(metric.Sample)) {
	defer clear(g.word)
	if v := g.word["wsrep_provider_version"]; v == "" || g.word["wsrep_connected"] == "OFF" &&
		g.word["wsrep_cluster_status"] == "" {
		// no provider
		return
	}
	show := func(x *info, name string, pairs ...string) {
		if t := strings.Join(pairs, "\x00"); x.text != t {
			*x = info{t, metric.L(pairs...)}
		}
		emit(metric.Sample{Name: name, Labels: x.labels, At: at, Value: 1})
	}
	show(&g.info, "mysql_galera_status_info", "wsrep_local_state_uuid", g.word["wsrep_local_state_uuid"],
		"wsrep_cluster_state_uuid", g.word["wsrep_cluster_state_uuid"], "wsrep_provider_version",
		g.word["wsrep_provider_version"])
	if s := g.word["wsrep_local_state_comment"]; s != "" {
		show(&g.now, "dyno_galera_state", "state", s)
	}
	if s := g.word["wsrep_cluster_status"]; s != "" {
		v := 0.0
		if s == "Primary" {
			v = 1
		}
		emit(metric.Sample{Name: "dyno_galera_primary", At: at, Value: v})
	}
	for i, part := range strings.SplitN(g.word["wsrep_evs_repl_latency"], "/", 6) {
		names := []string{"min_seconds", "avg_seconds", "max_seconds", "stdev", "sample_size"}
		if v, ok := parseNumber([]byte(part)); ok && i < len(names) {
			emit(metric.Sample{Name: "mysql_galera_evs_repl_latency_" + names[i], At: at, Value: v})
		}
	}
}
