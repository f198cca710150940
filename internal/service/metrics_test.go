package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql"
	"github.com/dyno-perf/dyno/internal/panel"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// graphStart is the first second of the worlds below; it begins a minute and an hour.
const graphStart = int64(1_764_000_000)

// graphService is a service that has nothing but series and an empty ledger.
func graphService(t testing.TB) *Service {
	t.Helper()
	st, err := series.Open(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	a := &app.App{Home: t.TempDir(), Environ: func(string) string { return "" }}
	l, err := a.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := wired(&Service{Series: st, app: a, ledger: l})
	t.Cleanup(func() { s.Series.Close(); a.Close() })
	return s
}

// serverWorld gives what a server tells, second by second: every series that panels ask for, under the names that are
// stored.
type serverWorld struct {
	rnd    *rand.Rand
	values map[string]*worldSeries
	order  []string
}

type worldSeries struct {
	metric.Sample
	source string
	busy   float64
}

func newServerWorld() *serverWorld {
	w := &serverWorld{rnd: rand.New(rand.NewPCG(1, 2)), values: map[string]*worldSeries{}}
	add := func(source string, busy float64, kind metric.Kind, name string, kv ...string) {
		key := name + strings.Join(kv, "\x00")
		w.values[key] = &worldSeries{metric.Sample{Name: name, Labels: metric.L(kv...), Kind: kind}, source, busy}
		w.order = append(w.order, key)
	}
	labels := map[string][]string{
		metric.ClientStatus: {"variable", "threads_running", "threads_connected"},
		metric.ClientStatusTotal: {
			"variable", "handler_read_rnd_next", "handler_read_next", "handler_read_key", "handler_read_first",
			"handler_read_last", "handler_read_prev", "handler_read_rnd", "handler_write", "handler_update",
			"handler_delete", "handler_commit", "handler_rollback", "questions",
			"slow_queries", "select_scan", "select_full_join", "created_tmp_tables",
			"created_tmp_disk_tables", "sort_merge_passes", "bytes_sent",
			"bytes_received", "connections", "com_select",
		},
		"node_cpu_seconds_total": {
			"mode", "user", "system", "idle", "iowait", "irq",
			"softirq", "steal", "nice",
		},
		"mysql_global_status_commands_total": {
			"command", "select", "insert", "update", "delete", "commit",
			"rollback", "create_table", "alter_table", "replace", "load", "update_multi", "drop_index",
		},
		"mysql_global_status_innodb_row_ops_total": {"operation", "read", "inserted", "updated", "deleted"},
		"mysql_global_status_handlers_total": {
			"handler", "read_key", "read_next", "read_rnd_next", "write",
			"update", "delete", "commit",
		},
		"node_disk_read_bytes_total":       {"device", "sda", "dm-0"},
		"node_disk_written_bytes_total":    {"device", "sda", "dm-0"},
		"node_disk_reads_completed_total":  {"device", "sda", "dm-0"},
		"node_disk_writes_completed_total": {"device", "sda", "dm-0"},
		"node_disk_io_time_seconds_total":  {"device", "sda", "sdb", "dm-0"},
		"dyno_server_cpu_seconds_total":    {"mode", "user", "system"},
		"mysql_perf_schema_events_waits_seconds_total": {
			"event_name", "wait/io/file/innodb/innodb_data_file", "wait/io/file/innodb/innodb_log_file",
			"wait/io/file/sql/binlog", "wait/io/file/sql/FRM",
			"wait/io/file/sql/io_cache", "wait/io/file/aria/MAD", "wait/lock/table/sql/handler",
			"wait/io/table/sql/handler", "idle",
		},
		"dyno_statement_latency_seconds":                 {"quantile", "0.5", "0.95", "0.99"},
		"mysql_info_schema_processlist_threads":          {"state", "lock", "client"},
		"dyno_innodb_os_waits_total":                     {"lock", "mutex", "rw_shared", "rw_excl", "rw_sx"},
		"dyno_innodb_spin_rounds_total":                  {"lock", "mutex", "rw_shared", "rw_excl", "rw_sx"},
		"mysql_perf_schema_table_io_waits_seconds_total": {"name", "a", "b"},
		"mysql_perf_schema_table_io_waits_total":         {"name", "a", "b"},
		"dyno_file_seconds_total":                        {"file_name", "/data/a", "/b/a"},
		"mysql_perf_schema_file_instances_bytes":         {"file_name", "/data/a", "/b/a"},
		"dyno_memory_user_bytes":                         {"user", "a", "b"},
		"mysql_perf_schema_memory_events_used_bytes": {
			"event_name", "1", "2", "3", "4", "5", "6", "7", "8", "9",
		},
	}
	seen := map[string]bool{}
	for _, p := range (mysql.Family{}).Panels() {
		for _, l := range p.Lines {
			if ofReplicas[l.Name] {
				continue
			}
			for _, t := range append(l.Ways[0].Terms, l.Ways[0].Per...) {
				if seen[t.Name] {
					continue
				}
				seen[t.Name] = true
				kind, busy := metric.Gauge, 0.3
				if t.Rate {
					kind, busy = metric.Counter, 0.9
				}
				if l.Source == "variables" {
					busy = 0
				}
				vs := labels[t.Name]
				if vs == nil {
					add(string(l.Source), busy, kind, t.Name)
					continue
				}
				for _, v := range vs[1:] {
					add(string(l.Source), busy, kind, t.Name, vs[0], v)
				}
			}
		}
	}
	add("processlist", 0.3, metric.Gauge, "mysql_info_schema_processlist_longest_seconds")
	return w
}

// ofReplicas are the lines that only a replica has.
var ofReplicas = map[string]bool{"lag": true, "oldest being applied": true, "other states of workers": true}

// every is how often sources are read, in seconds.
var every = map[string]int64{
	"waits": 10, "latency": 10, "variables": 10, "innodb_status": 5, "process_threads": 5,
	"table_io": 10, "files": 10, "memory": 10, "memory_users": 10,
}

// read gives the round of a second.
func (w *serverWorld) read(second int64) reading.Reading {
	r := reading.Reading{Target: "shop", At: time.Unix(second, 0)}
	by := map[string][]metric.Sample{}
	var sources []string
	for _, k := range w.order {
		x := w.values[k]
		if e := every[x.source]; e > 0 && second%e != 0 {
			continue
		}
		if w.rnd.Float64() < x.busy {
			if x.Kind == metric.Counter {
				x.Value += float64(w.rnd.IntN(1000))
			} else {
				x.Value = float64(w.rnd.IntN(100))
			}
		}
		if by[x.source] == nil {
			sources = append(sources, x.source)
		}
		s := x.Sample
		s.At = second * 1000
		by[x.source] = append(by[x.source], s)
	}
	for _, n := range sources {
		r.Samples = append(r.Samples, by[n]...)
		r.Parts = append(r.Parts, reading.Part{Source: source.Name(n), Samples: len(by[n])})
	}
	return r
}

// restart makes all counters begin anew.
func (w *serverWorld) restart() {
	for _, x := range w.values {
		if x.Kind == metric.Counter {
			x.Value = 0
		}
	}
}

func (g Graphs) line(t *testing.T, id, name string) GraphLine {
	t.Helper()
	for _, p := range g.Panels {
		for _, l := range p.Lines {
			if p.ID == id && l.Name == name {
				return l
			}
		}
	}
	t.Fatalf("there is no line %s of %s", name, id)
	return GraphLine{}
}

// TestGraphsAreWhatPromQLSays holds every line of every panel against the PromQL that it claims to be, over a restart
// and a pause.
func TestGraphsAreWhatPromQLSays(t *testing.T) {
	const span, restart, pause, resume = 1200, 400, 700, 760
	s := graphService(t)
	w := newServerWorld()
	for i := int64(-60); i <= span; i++ {
		if i == restart {
			w.restart()
		}
		r := w.read(graphStart + i)
		if i > pause && i < resume {
			continue
		}
		if err := s.Series.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
	g, err := s.Metrics.Graphs(t.Context(), GraphQuery{
		Target: "shop", From: time.Unix(graphStart, 0),
		To: time.Unix(graphStart+span, 0), Step: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if g.From != graphStart || g.To != graphStart+span || g.Step != 20 ||
		len(g.Panels) != len(mysql.Family{}.Panels()) {
		t.Fatalf("from %d to %d by %d, %d panels", g.From, g.To, g.Step, len(g.Panels))
	}
	e := series.NewEngine(s.Series, nil, series.Limits{})
	ask := func(expr string, at int64) float64 {
		a, err := e.Query(t.Context(), expr, time.Unix(at, 0), series.QueryOptions{})
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		if len(a.Series) != 1 {
			return math.NaN()
		}
		return a.Series[0].Points[0].Value
	}
	compared := 0
	for _, p := range g.Panels {
		for _, l := range p.Lines {
			def := l.Line
			if ofReplicas[def.Name] {
				if l.Unknown != "this server is not a replica" {
					t.Errorf("%s: %+v", def.Name, l)
				}
				continue
			}
			if len(l.Mean) != span/20 {
				t.Fatalf("%s, %s: %d points (%s)", p.ID, l.Name, len(l.Mean), l.Unknown)
			}
			slow := every[string(def.Source)] > 1
			for i, got := range l.Mean {
				from, to := graphStart+int64(i)*20, graphStart+int64(i+1)*20
				rel := from - graphStart
				if rel >= pause && rel+20 < resume {
					// the second that ends with the first reading is known, and what is read rarely holds a while
					if got == got && !(slow && rel < pause+20) {
						t.Errorf("%s, %s: %v within the pause", p.ID, l.Name, got)
					}
					continue
				}
				if got != got && len(def.Ways[0].Per) == 0 && !(rel+20 > pause && rel < resume+20) {
					t.Errorf("%s, %s: nothing known at %d", p.ID, l.Name, rel)
				}
				if rel+20 > pause && rel < resume+20 || rel < restart && restart <= rel+20 {
					continue // partly observed, or begun anew: the next test
				}
				want := means(def.Ways[0], ask, from, to)
				tolerance := 1e-9
				if slow && !def.Ways[0].Terms[0].Rate {
					continue // a value that holds for ten seconds: PromQL's mean weighs the samples of the window alike
				}
				if math.Abs(got-want) > tolerance*math.Max(1, math.Abs(want)) && !(got != got && want != want) {
					t.Errorf("%s, %s at %d: got %v, PromQL says %v", p.ID, l.Name, rel, got, want)
				}
				compared++
			}
		}
	}
	if compared < 2000 {
		t.Errorf("only %d points were compared", compared)
	}
}

// means returns what PromQL says about a way between two moments: how much counters grew between them, and the mean of
// gauges.
func means(w panel.Way, ask func(string, int64) float64, from, to int64) float64 {
	sum := func(ts []panel.Term) (all float64) {
		for i, x := range ts {
			by := "sum"
			if w.Most {
				by = "max"
			}
			sel := panel.Way{Terms: []panel.Term{{Name: x.Name, Match: x.Match}}}.Expr("shop", "")
			sel = strings.TrimSuffix(strings.TrimPrefix(sel, "sum("), ")")
			var v float64
			if x.Rate {
				v = ask(fmt.Sprintf("%s((%s - %s offset %ds) / %d)", by, sel, sel, to-from, to-from), to)
			} else {
				v = ask(fmt.Sprintf("%s(avg_over_time(%s[%ds]))", by, sel, to-from), to)
			}
			if v != v && w.Zero != "" {
				v = 0
			}
			if x.Minus && i > 0 {
				v = -v
			}
			all += v
		}
		return all
	}
	v := sum(w.Terms)
	if len(w.Per) > 0 {
		v /= sum(w.Per)
	}
	if w.Scale != 0 {
		v *= w.Scale
	}
	return v
}

// pileUp keeps 60 seconds of a server that answers 250 statements a second, in which five sessions wait for a row from
// second 20 to 34; the server books their waits when they end.
func pileUp(t *testing.T, s *Service) {
	t.Helper()
	for i := int64(-5); i <= 60; i++ {
		waiting, booked := 0.0, 0.0
		if i >= 20 && i < 34 {
			waiting = 5
		}
		if i >= 34 {
			booked = 5 * 14 * 1000
		}
		x := metric.Sample{
			Name: "mysql_global_status_innodb_row_lock_current_waits", Kind: metric.Gauge,
			At: (graphStart + i) * 1000, Value: waiting,
		}
		y := metric.Sample{
			Name: "mysql_global_status_innodb_row_lock_time", Kind: metric.Counter,
			At: x.At, Value: booked,
		}
		z := metric.Sample{
			Name: "mysql_global_status_questions", Kind: metric.Counter, At: x.At,
			Value: float64(1000 + 250*i),
		}
		r := reading.Reading{
			Target: "shop", At: time.Unix(graphStart+i, 0), Samples: []metric.Sample{x, y, z},
			Parts: []reading.Part{{Source: "global_status", Samples: 3}},
		}
		if err := s.Series.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWaitsAreBookedWhenTheyHappen: a long wait is drawn in the seconds in which it was, not in the one in which it
// ended.
func TestWaitsAreBookedWhenTheyHappen(t *testing.T) {
	s := graphService(t)
	pileUp(t, s)
	g, err := s.Metrics.Graphs(t.Context(), GraphQuery{
		Target: "shop", From: time.Unix(graphStart, 0),
		To: time.Unix(graphStart+60, 0), Step: time.Second, Panels: []string{"time"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range g.line(t, "time", "row locks").Mean {
		want := 0.0
		if i >= 21 && i < 33 { // a second begins and ends with a reading
			want = 5
		}
		if i != 20 && i != 19 && i != 33 && i != 34 && v != want {
			t.Errorf("second %d: %v, want %v", i, v, want)
		}
	}
}

// TestStatementRate: the number of statements is the server's own, whoever tells of their classes.
func TestStatementRate(t *testing.T) {
	s := graphService(t)
	pileUp(t, s)
	f := func(from, to int64, want known.Value[float64]) {
		t.Helper()
		got, err := s.Metrics.StatementRate(t.Context(), "shop", time.Unix(graphStart+from, 0),
			time.Unix(graphStart+to, 0))
		if g, ok := got.Get(); err != nil || ok != want.OK() || math.Abs(g-want.Or(0)) > 1e-6 {
			t.Errorf("from %d to %d: %v, %v, want %v", from, to, got, err, want)
		}
	}
	f(0, 60, known.Of(250.0))
	f(-3600, 60, known.Of(250.0)) // over what was read
	f(10, 20, known.Of(250.0))
	f(-3600, -1800, known.None[float64]())
}

// TestGraphsOverARestart: what a counter grew since it began anew counts, nothing is negative, and the range is of
// single seconds.
func TestGraphsOverARestart(t *testing.T) {
	s := graphService(t)
	total := 1_000_000.0
	for i := range int64(61) {
		total += 10
		switch i {
		case 25:
			total = 7 // restarted: 7 statements since
		case 41:
			total += 90
		}
		r := reading.Reading{
			Target: "shop", At: time.Unix(graphStart+i, 0),
			Samples: []metric.Sample{{
				Name: "mysql_global_status_questions", Kind: metric.Counter,
				At: (graphStart + i) * 1000, Value: total,
			}},
		}
		if err := s.Series.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
	g, err := s.Metrics.Graphs(t.Context(), GraphQuery{
		Target: "shop", From: time.Unix(graphStart, 0),
		To: time.Unix(graphStart+60, 0), Points: 6, Panels: []string{"throughput"},
	})
	if err != nil {
		t.Fatal(err)
	}
	l := g.line(t, "throughput", "statements")
	if want := []float64{10, 10, 9.7, 10, 19, 10}; fmt.Sprint(l.Mean) != fmt.Sprint(want) {
		t.Errorf("means %v, want %v", l.Mean, want)
	}
	if l.Min[2] != 7 || l.Max[2] != 10 || l.Max[4] != 100 || l.Min[4] != 10 || l.Min[0] != 10 || l.Max[0] != 10 {
		t.Errorf("ranges %v to %v", l.Min, l.Max)
	}
	if other := g.line(t, "throughput", "transactions"); other.Unknown == "" || other.Mean != nil {
		t.Errorf("what is not there is not known: %+v", other)
	}
}

func TestGraphsCompareAndTell(t *testing.T) {
	s := graphService(t)
	for i := range int64(240) {
		r := reading.Reading{
			Target: "shop", At: time.Unix(graphStart+i, 0),
			Samples: []metric.Sample{{
				Name: "mysql_global_status_threads_running", At: (graphStart + i) * 1000,
				Value: float64(i / 120),
			}},
		}
		if err := s.Series.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
	s.Fleet.members["shop"] = &member{sources: []source.Source{{
		Name: "variables", State: source.Denied,
		Reason: "may not look", Fix: "GRANT IT",
	}}}
	s.Fleet.members["shop"].entry.Name = "shop"
	q := GraphQuery{
		Target: "shop", From: time.Unix(graphStart+121, 0), To: time.Unix(graphStart+239, 0), Points: 50,
		Compare: 2 * time.Minute, Panels: []string{"connections"},
	}
	g, err := s.Metrics.Graphs(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	l := g.line(t, "connections", "running")
	if l.Mean[5] != 1 || l.Compare[5] != 0 || len(l.Compare) != len(l.Mean) {
		t.Errorf("now %v, before %v", l.Mean, l.Compare)
	}
	if l := g.line(t, "connections", "limit"); l.Unknown != "may not look; GRANT IT" {
		t.Errorf("limit: %q", l.Unknown)
	}
	if g.From%g.Step != 0 || g.From > graphStart+121 || g.To < graphStart+239 {
		t.Errorf("from %d to %d by %d", g.From, g.To, g.Step)
	}
	q.Panels = []string{"nonsense"}
	if _, err := s.Metrics.Graphs(t.Context(), q); err == nil {
		t.Error("a panel that nobody knows")
	}
}

// TestGraphsAreBounded asks for steps that would make the lines of much time be worked out by the second, or of too
// much time at all.
func TestGraphsAreBounded(t *testing.T) {
	s := graphService(t)
	const day = 24 * time.Hour
	f := func(span, step time.Duration, want int64) {
		t.Helper()
		to := time.Unix(graphStart, 0)
		g, err := s.Metrics.Graphs(t.Context(), GraphQuery{
			Target: "shop", From: to.Add(-span), To: to, Step: step,
			Panels: []string{"connections"},
		})
		if want == 0 {
			if !errors.Is(err, ErrGraphSize) {
				t.Errorf("steps of %v over %v: %v", step, span, err)
			}
			return
		}
		if err != nil || g.Step != want || g.From%want != 0 || g.To%want != 0 {
			t.Errorf("steps of %v over %v: %d from %d to %d, want %d; %v", step, span, g.Step, g.From, g.To, want, err)
		}
	}
	f(time.Hour, 7*time.Second, 7)
	f(time.Hour, time.Minute, 60)
	f(time.Hour, 61*time.Second, 120)
	f(400*day, 20_001*time.Second, 20_040)
	f(400*day, 20_040*time.Second, 20_040)
	f(day, time.Second, 0)
	f(time.Hour, 30*365*day, 0)
}

// TestGraphsOfALongTime reads hours, most of them from the level of minutes, and holds them against what the seconds
// say.
func TestGraphsOfALongTime(t *testing.T) {
	const hours = 7
	dir := filepath.Join(t.TempDir(), "s")
	st, err := series.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := newServerWorld()
	keep := map[string]bool{}
	for _, id := range []string{"throughput", "connections", "cpu", "transaction"} {
		p, _ := panel.Find(mysql.Family{}.Panels(), id)
		for _, l := range p.Lines {
			keep[l.Ways[0].Terms[0].Name] = true
		}
	}
	var order []string
	for _, k := range w.order {
		if keep[w.values[k].Name] {
			order = append(order, k)
		}
	}
	w.order = order
	for i := int64(-60); i <= hours*3600; i++ {
		if r := w.read(graphStart + i); i < 7000 || i > 7600 {
			if err := st.AppendRound(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err = series.Open(dir); err != nil {
		t.Fatal(err)
	}
	s := wired(&Service{Series: st, app: &app.App{Home: t.TempDir()}})
	defer s.Series.Close()
	waitForMinutes(t, s.Series, (graphStart+hours*3600-900)*1000)
	q := GraphQuery{
		Target: "shop", From: time.Unix(graphStart, 0), To: time.Unix(graphStart+hours*3600, 0),
		Step: 2 * time.Minute, Panels: []string{"throughput", "connections", "cpu", "transaction"},
	}
	long, err := s.Metrics.Graphs(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for part := range int64(hours) { // an hour at a time is read by the second
		q.From, q.To = time.Unix(graphStart+part*3600, 0), time.Unix(graphStart+(part+1)*3600, 0)
		short, err := s.Metrics.Graphs(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range short.Panels {
			for j, l := range p.Lines {
				for k, want := range l.Mean {
					got := long.Panels[i].Lines[j].Mean[int(part)*30+k]
					at := part*3600 + int64(k)*120
					if at+120 > 7000 && at <= 7800 {
						if at > 7020 && at+120 < 7600 && got == got {
							t.Errorf("%s, %s at %d: %v in a pause", p.ID, l.Name, at, got)
						}
						continue
					}
					if every[string(p.Panel.Lines[j].Source)] > 1 {
						// A value that holds for seconds belongs to two minutes by the second, and to one by the
						// minute.
						if math.Abs(got-want) > 5 {
							t.Errorf("%s, %s at %d: %v by the minute, %v by the second", p.ID, l.Name, at, got, want)
						}
						continue
					}
					if math.Abs(got-want) > 1e-6*math.Max(1, math.Abs(want)) {
						t.Errorf("%s, %s at %d: %v by the minute, %v by the second", p.ID, l.Name, at, got, want)
					}
					if l := long.Panels[i].Lines[j]; l.Max != nil && len(short.Panels[i].Lines[j].Max) > 0 &&
						l.Max[int(part)*30+k] < short.Panels[i].Lines[j].Max[k] {
						t.Errorf("%s, %s at %d: the greatest is %v by the minute, %v by the second", p.ID, l.Name, at,
							l.Max[int(part)*30+k], short.Panels[i].Lines[j].Max[k])
					}
				}
			}
		}
	}
}

// TestGraphsOfMinutesAlone looks closely at a time whose seconds are not kept any more: no line is torn.
func TestGraphsOfMinutesAlone(t *testing.T) {
	const old, young = 3600, 300 // seconds that are written, those of the first hour are dropped
	dir := filepath.Join(t.TempDir(), "s")
	write := func(from, to int64, after func(*series.Store)) {
		t.Helper()
		st, err := series.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i := from; i < to; i++ {
			at := (graphStart + i) * 1000
			r := reading.Reading{Target: "shop", At: time.UnixMilli(at), Samples: []metric.Sample{
				{Name: "mysql_global_status_questions", Kind: metric.Counter, At: at, Value: float64(10 * i)},
				{Name: "mysql_global_status_threads_running", At: at, Value: 5 + float64(i%3)},
			}}
			if err := st.AppendRound(r); err != nil {
				t.Fatal(err)
			}
		}
		if after != nil {
			after(st)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write(0, old, nil)
	write(0, 0, func(st *series.Store) { waitForMinutes(t, st, (graphStart+old-900)*1000) })
	parts, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if p.IsDir() && p.Name() != "minutes" {
			if err := os.RemoveAll(filepath.Join(dir, p.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(old, old+young, nil)
	st, err := series.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := wired(&Service{Series: st, app: &app.App{Home: t.TempDir()}})
	defer s.Series.Close()
	known := func(what string, vs []float64, n int, want float64) {
		t.Helper()
		if len(vs) != n {
			t.Fatalf("%s: %d points, want %d", what, len(vs), n)
		}
		for i, v := range vs {
			if !(math.Abs(v-want) < 0.5) {
				t.Errorf("%s, point %d: %v, want %v", what, i, v, want)
			}
		}
	}
	q := GraphQuery{
		Target: "shop", From: time.Unix(graphStart+601, 0), To: time.Unix(graphStart+1200, 0),
		Step: 10 * time.Second, Panels: []string{"throughput", "connections"},
	}
	g, err := s.Metrics.Graphs(t.Context(), q)
	if err != nil || g.Step != 60 || g.From != graphStart+600 || g.To != graphStart+1200 {
		t.Fatalf("from %d to %d by %d: %v", g.From-graphStart, g.To-graphStart, g.Step, err)
	}
	known("statements by the minute", g.line(t, "throughput", "statements").Mean, 10, 10)
	known("running by the minute", g.line(t, "connections", "running").Mean, 10, 6)
	q.From, q.To, q.Compare = time.Unix(graphStart+old+20, 0), time.Unix(graphStart+old+young-20, 0), 45*time.Minute
	if g, err = s.Metrics.Graphs(t.Context(), q); err != nil || g.Step != 10 {
		t.Fatalf("step %d, %v", g.Step, err)
	}
	const n = (young - 40) / 10
	for name, want := range map[string]float64{"statements": 10, "running": 6} {
		l := g.line(t, map[string]string{"statements": "throughput", "running": "connections"}[name], name)
		known(name, l.Mean, n, want)
		known(name+" before", l.Compare, n, want)
	}
	s.Series.Close()
	fresh := graphService(t) // one that is watched since a minute ago: its seconds are there
	for i := range int64(60) {
		r := reading.Reading{
			Target: "shop", At: time.Unix(graphStart+i, 0),
			Samples: []metric.Sample{{
				Name: "mysql_global_status_threads_running",
				At:   (graphStart + i) * 1000, Value: 1,
			}},
		}
		if err := fresh.Series.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
	q = GraphQuery{
		Target: "shop", From: time.Unix(graphStart-3600, 0), To: time.Unix(graphStart+60, 0),
		Step: 10 * time.Second, Panels: []string{"connections"},
	}
	if g, err := fresh.Metrics.Graphs(t.Context(), q); err != nil || g.Step != 10 {
		t.Errorf("what was never watched is taken for dropped: step %d, %v", g.Step, err)
	}
}

// waitForMinutes waits until the level of minutes is made up to a moment.
func waitForMinutes(t testing.TB, st *series.Store, until int64) {
	t.Helper()
	var made int64
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		r, err := st.Reader(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		made, err = r.MinutesUntil(context.Background())
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		if made >= until {
			return
		}
	}
	t.Fatalf("minutes are made up to %d, want %d", made, until)
}

func BenchmarkGraphs(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "s")
	st, err := series.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	const day = 86400
	w := newServerWorld()
	b.Logf("%d series", len(w.order))
	for i := int64(0); i <= day; i++ {
		if err := st.AppendRound(w.read(graphStart + i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
	if st, err = series.Open(dir); err != nil {
		b.Fatal(err)
	}
	s := wired(&Service{Series: st, app: &app.App{Home: b.TempDir()}})
	defer s.Series.Close()
	waitForMinutes(b, s.Series, (graphStart+day-900)*1000)
	for _, span := range []time.Duration{15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour} {
		b.Run(span.String(), func(b *testing.B) {
			b.ReportAllocs()
			to := time.Unix(graphStart+day, 0)
			for b.Loop() {
				if _, err := s.Metrics.Graphs(b.Context(), GraphQuery{
					Target: "shop", From: to.Add(-span), To: to,
					Points: 360,
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
