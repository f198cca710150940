package sources

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/state"
)

// samplesOf makes samples of "name" or "name value-of-its-label".
func samplesOf(kv map[string]float64, ls ...metric.Sample) []metric.Sample {
	for n, v := range kv {
		x := metric.Sample{Name: n, Value: v}
		if name, of, ok := strings.Cut(n, " "); ok {
			x.Name, x.Labels = name, metric.L("by", of)
		}
		ls = append(ls, x)
	}
	return ls
}

func byName(vs []state.Vital) map[string]float64 {
	m := map[string]float64{}
	for _, v := range vs {
		m[v.Name] = v.Value
	}
	return m
}

func TestHeadline(t *testing.T) {
	f := func(name string, prev, cur []metric.Sample, seconds float64, want map[string]float64) {
		t.Helper()
		vs := state.Between(Headline.Take(prev), Headline.Take(cur), seconds)
		got := byName(vs)
		if len(got) != len(vs) {
			t.Errorf("%s: a name stands twice: %v", name, vs)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	const g = "mysql_global_status_"
	const commit, rollback = g + "commands_total commit", g + "commands_total rollback"
	type m = map[string]float64
	f("nothing", nil, nil, 1, m{})
	f("a rate", samplesOf(m{g + "questions": 10}), samplesOf(m{g + "questions": 30}), 2, m{state.QPS: 10})
	f("no time passed", samplesOf(m{g + "questions": 10}), samplesOf(m{g + "questions": 30}), 0, m{})
	f("fallen", samplesOf(m{g + "questions": 10}), samplesOf(m{g + "questions": 3}), 1, m{})
	f("not there before", nil, samplesOf(m{g + "questions": 3, g + "threads_running": 2}), 1, m{state.Running: 2})
	f("a restart that a counter does not show",
		samplesOf(m{g + "uptime": 100, g + "questions": 10, commit: 5, rollback: 1}),
		samplesOf(m{g + "uptime": 3, g + "questions": 500, commit: 7, rollback: 1}), 1, m{state.Uptime: 3})
	f("both or none", samplesOf(m{commit: 1}), samplesOf(m{commit: 5}), 1, m{})
	f("sums", samplesOf(m{commit: 1, rollback: 1}),
		samplesOf(m{commit: 5, rollback: 2}), 1, m{state.TPS: 5})
	f("an idle server", samplesOf(m{g + "questions": 10}), samplesOf(m{g + "questions": 10}), 1, m{state.QPS: 0})
	f("rows by InnoDB's count", samplesOf(m{g + "innodb_row_ops_total read": 1, g + "handlers_total read_next": 5}),
		samplesOf(m{g + "innodb_row_ops_total read": 4, g + "handlers_total read_next": 50}), 1, m{state.RowsRead: 3})
	f("rows by the handlers", samplesOf(m{g + "handlers_total read_key": 1, g + "handlers_total read_next": 5}),
		samplesOf(m{g + "handlers_total read_key": 2, g + "handlers_total read_next": 50}), 1, m{state.RowsRead: 46})
	f("the pool", nil, samplesOf(m{
		g + "buffer_pool_dirty_pages": 25, g + "buffer_pool_pages free": 0,
		g + "innodb_buffer_pool_pages_total": 100,
	}), 1, m{state.PoolDirty: 0.25, state.PoolFree: 0})
	f("no pool", nil, samplesOf(m{g + "buffer_pool_dirty_pages": 0, g + "innodb_buffer_pool_pages_total": 0}), 1,
		m{})
	f("checkpoint age by the log's positions", nil, samplesOf(m{
		g + "innodb_redo_log_current_lsn":    500,
		g + "innodb_redo_log_checkpoint_lsn": 100,
	}), 1, m{state.Checkpoint: 400})
	f("history in INNODB_METRICS", nil,
		samplesOf(m{"mysql_info_schema_innodb_metrics_transaction_trx_rseg_history_len": 7}), 1, m{state.History: 7})
	f("digits", samplesOf(m{g + "questions": 0}), samplesOf(m{g + "questions": 1e7}), 3, m{state.QPS: 3333330})

	lagOf := func(c string, v float64) metric.Sample {
		return metric.Sample{
			Name: "mysql_slave_status_seconds_behind_master", Labels: metric.L("channel_name", c),
			Value: v,
		}
	}
	f("the worst channel", nil, samplesOf(nil, lagOf("a", 3), lagOf("b", 9), lagOf("c", 0)), 1, m{state.ReplicaLag: 9})
}

func TestFiguresKeepNothingOfTheSamples(t *testing.T) {
	s := samplesOf(map[string]float64{"mysql_global_status_questions": 10})
	a := Headline.Take(s)
	s[0].Value = 20
	b := Headline.Take(s)
	s[0] = metric.Sample{}
	if got := byName(state.Between(a, b, 1)); got[state.QPS] != 10 {
		t.Fatal(got)
	}
}

func TestVitalsLeaveDynoOut(t *testing.T) {
	read := func(total, clients float64, known bool) (all []metric.Sample) {
		all = append(all, metric.Sample{Name: "mysql_global_status_questions", Value: total},
			metric.Sample{Name: "mysql_global_status_threads_running", Value: 3})
		if known {
			all = append(all, metric.Sample{
				Name: metric.ClientStatusTotal, Labels: metric.L("variable", "questions"),
				Value: clients,
			},
				metric.Sample{Name: metric.ClientStatus, Labels: metric.L("variable", "threads_running"), Value: 2})
		}
		return all
	}
	f := func(a, b []metric.Sample, want string) {
		t.Helper()
		if got := fmt.Sprint(state.Between(Headline.Take(a), Headline.Take(b), 2)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f(read(1000, 900, true), read(1030, 910, true), "[{qps 5} {threads_running 2}]")
	f(read(1000, 0, false), read(1030, 0, false), "[{qps 15} {threads_running 3}]")
	f(read(1000, 900, true), read(1030, 0, false), "[{threads_running 3}]") // one with Dyno's part, one without
}
