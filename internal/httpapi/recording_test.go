package httpapi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
)

// recording is what a scraper of two servers gave in 100 minutes, one reading a second, and beside it every sample that
// a Prometheus scraping the same would hold.
type recording struct {
	begin, end time.Time
	reopen     time.Time // the store is closed and opened again before this reading
	readings   []reading.Reading
	full       map[string]*metric.Series // by name and labels
	order      []string
}

// stale is Prometheus' marker of a series that has ended, see
// https://prometheus.io/docs/prometheus/latest/querying/basics/#staleness.
var stale = math.Float64frombits(0x7ff0000000000002)

func (r *recording) add(target string, m metric.Sample, at int64) string {
	key := m.Name + "|" + target
	for _, l := range m.Labels {
		key += "|" + l.Value
	}
	s := r.full[key]
	if s == nil {
		ls := append(metric.L("target", target, "instance", target, "job", "dyno"), m.Labels...)
		kv := make([]string, 0, 2*len(ls))
		for _, l := range ls {
			kv = append(kv, l.Name, l.Value)
		}
		s = &metric.Series{Name: m.Name, Labels: metric.L(kv...), Kind: m.Kind}
		r.full[key] = s
		r.order = append(r.order, key)
	}
	s.Points = append(s.Points, metric.Point{At: at, Value: m.Value})
	return key
}

func newRecording(begin time.Time) *recording {
	const minutes = 100
	r := &recording{
		begin: begin, end: begin.Add(minutes * time.Minute),
		reopen: begin.Add(75*time.Minute + 30*time.Second), full: map[string]*metric.Series{},
	}
	rnd := rand.New(rand.NewPCG(4, 2))
	for _, target := range []string{"a", "b"} {
		live := map[string]map[string]bool{} // by source: the series it gave the last time
		var (
			questions, slow, cpu, uptime float64
			commands                     [3]float64
			connected                    = 20.0
			history                      = 100.0
		)
		for at := begin; at.Before(r.end); at = at.Add(time.Second) {
			since := at.Sub(begin)
			second := int(since / time.Second)
			within := func(from, to time.Duration) bool { return since >= from && since < to }
			// Time runs on in the server, read or not.
			questions += float64(rnd.IntN(2000))
			cpu += rnd.Float64() / 3
			uptime++
			commands[0] += float64(rnd.IntN(9))
			if rnd.IntN(40) == 0 {
				commands[1]++
			}
			if rnd.IntN(300) == 0 {
				slow++
			}
			if rnd.IntN(90) == 0 {
				connected = float64(10 + rnd.IntN(30))
			}
			if rnd.IntN(20) == 0 {
				history = float64(rnd.IntN(5000))
			}
			running := float64(1 + rnd.IntN(4))
			down := target == "a" && within(30*time.Minute, 30*time.Minute+25*time.Second)
			if down {
				questions, slow, uptime, commands = 0, 0, 0, [3]float64{}
			}
			if within(60*time.Minute, 64*time.Minute) || target == "b" && rnd.IntN(50) == 0 {
				continue // nobody looked: Dyno was not running, or the machine was late
			}
			ms := at.UnixMilli()
			d := reading.Reading{Target: target, At: at}
			give := func(name string, samples ...metric.Sample) {
				now := map[string]bool{}
				for _, m := range samples {
					m.At = ms
					d.Samples = append(d.Samples, m)
					now[r.add(target, m, ms)] = true
				}
				for key := range live[name] {
					if !now[key] {
						r.full[key].Points = append(r.full[key].Points, metric.Point{At: ms, Value: stale})
					}
				}
				live[name] = now
				if name != "round" {
					d.Parts = append(d.Parts, reading.Part{Source: source.Name(name), Samples: len(samples)})
				}
			}
			fails := func(name string) { give(name) } // what it gave before has ended
			c, g := metric.Counter, metric.Gauge
			m := func(kind metric.Kind, v float64, name string, kv ...string) metric.Sample {
				return metric.Sample{Name: name, Kind: kind, Value: v, Labels: metric.L(kv...)}
			}
			if down {
				fails("global_status")
				fails("processlist")
				if second%60 == 7 {
					fails("tables")
				}
			} else {
				give("global_status",
					m(c, questions, "mysql_global_status_questions"), m(c, slow, "mysql_global_status_slow_queries"),
					m(g, uptime, "mysql_global_status_uptime"), m(g, running, "mysql_global_status_threads_running"),
					m(g, connected, "mysql_global_status_threads_connected"),
					m(g, 4096, "mysql_global_status_open_files_limit"),
					m(g, history, "dyno_history_length"),
					m(c, commands[0], "mysql_global_status_commands_total", "command", "select"),
					m(c, commands[1], "mysql_global_status_commands_total", "command", "update"),
					m(c, commands[2], "mysql_global_status_commands_total", "command", "alter_table"))
				var list []metric.Sample
				for i, state := range []string{"executing", "Sending data", "Waiting for table metadata lock"} {
					if second/(7+30*i)%(2+i) == 0 {
						list = append(list, m(g, float64(1+second/50%3), "mysql_info_schema_processlist_threads",
							"command", "query", "state", state))
					}
				}
				give("processlist", list...)
			}
			if target == "b" && within(70*time.Minute, 71*time.Minute) {
				fails("host")
			} else {
				ratio := math.NaN() // nothing was read and nothing was written
				if second%10 < 7 {
					ratio = float64(second%10) / 4
				}
				if second%100 == 0 {
					ratio = math.Inf(1)
				}
				give("host", m(c, cpu, "node_cpu_seconds_total", "mode", "user"), m(c, cpu/7+float64(second/600),
					"node_cpu_seconds_total", "mode", "iowait"),
					m(g, ratio, "dyno_read_write_ratio"), m(g, 4, "node_cpus"))
			}
			if !down && second%60 == 7 {
				var tables []metric.Sample
				for i := range 3 {
					if i == 1 && within(50*time.Minute, 80*time.Minute) {
						continue // dropped, and made again
					}
					tables = append(tables, m(g, float64(1<<20*(1+second/(600*(i+1)))), "mysql_info_schema_table_size",
						"schema", "shop", "table", fmt.Sprint("t", i)))
				}
				give("tables", tables...)
			}
			up := 1.0
			if down {
				up = 0
			}
			give("round", m(g, up, "dyno_up"))
			r.readings = append(r.readings, d)
		}
	}
	slices.SortStableFunc(r.readings, func(a, b reading.Reading) int { return a.At.Compare(b.At) })
	return r
}
