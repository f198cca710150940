package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// prometheus starts a real one that takes remote writes and returns its address.
func prometheus(t *testing.T, config string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real Prometheus")
	}
	tree := os.Getenv("DYNO_TEST_PEERS")
	if tree == "" {
		t.Fatal("DYNO_TEST_PEERS names no Prometheus: export DYNO_TEST_PEERS=$(build/peers)")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(tree, "usr/bin/prometheus"), "--config.file="+file, "--storage.tsdb.path="+
		filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--web.enable-remote-write-receiver", "--log.level=warn")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(time.Minute); ; {
		r, err := http.Get("http://" + address + "/-/ready")
		if err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return address
			}
		}
		select {
		case <-ended:
			ended <- nil
			b, _ := os.ReadFile(log.Name())
			t.Fatalf("Prometheus ended: %s", b)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			b, _ := os.ReadFile(log.Name())
			t.Fatalf("Prometheus is not ready: %v\n%s", err, b)
		}
	}
}

// receive sends every sample of the recording to a Prometheus, a minute at a time because it takes none older than its
// newest by much.
func (r *recording) receive(t *testing.T, address string) {
	t.Helper()
	next := make([]int, len(r.order))
	for from := r.begin; from.Before(r.end); from = from.Add(time.Minute) {
		until := from.Add(time.Minute).UnixMilli()
		var req prompb.WriteRequest
		for i, key := range r.order {
			s := r.full[key]
			ts := prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: s.Name}}}
			for _, l := range s.Labels {
				ts.Labels = append(ts.Labels, prompb.Label{Name: l.Name, Value: l.Value})
			}
			for ; next[i] < len(s.Points) && s.Points[next[i]].At < until; next[i]++ {
				p := s.Points[next[i]]
				ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: p.At, Value: p.Value})
			}
			if len(ts.Samples) > 0 {
				req.Timeseries = append(req.Timeseries, ts)
			}
		}
		if len(req.Timeseries) == 0 {
			continue
		}
		b, err := req.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		q, err := http.NewRequest(http.MethodPost, "http://"+address+"/api/v1/write",
			bytes.NewReader(snappy.Encode(nil, b)))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Encoding", "snappy")
		q.Header.Set("Content-Type", "application/x-protobuf")
		q.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		a.Body.Close()
		if a.StatusCode/100 != 2 {
			t.Fatalf("Prometheus takes no samples: %s %s", a.Status, text)
		}
	}
}

// store puts the recording into a new store, as the program does.
func (r *recording) store(t *testing.T) *series.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "series")
	open := func() *series.Store {
		s, err := series.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	reopened := false
	for _, d := range r.readings {
		if !reopened && !d.At.Before(r.reopen) {
			reopened = true
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open()
		}
		if err := s.AppendRound(d); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// reply is the status and the JSON of an answer.
type reply struct {
	code int
	body struct {
		Status    string          `json:"status"`
		Data      json.RawMessage `json:"data"`
		ErrorType string          `json:"errorType"`
		Error     string          `json:"error"`
		Warnings  []string        `json:"warnings"`
		Infos     []string        `json:"infos"`
	}
}

func ask(t *testing.T, address, path string, q url.Values) (r reply) {
	t.Helper()
	a, err := http.Get("http://" + address + path + "?" + q.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	r.code = a.StatusCode
	b, err := io.ReadAll(a.Body) // to its end, so that the connection is used again
	if err == nil {
		err = json.Unmarshal(b, &r.body)
	}
	if err != nil {
		t.Fatalf("%s %v: %v", path, q, err)
	}
	return r
}

// value is the data of an answer, with its series in order.
type value struct {
	ResultType string `json:"resultType"`
	Result     []struct {
		Metric map[string]string `json:"metric"`
		Value  []any             `json:"value"`
		Values [][]any           `json:"values"`
	} `json:"result"`
}

func decode(t *testing.T, raw json.RawMessage) (v value, ok bool) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil { // a scalar or a string
		return v, false
	}
	name := func(m map[string]string) string { b, _ := json.Marshal(m); return string(b) }
	slices.SortFunc(v.Result, func(a, b struct {
		Metric map[string]string `json:"metric"`
		Value  []any             `json:"value"`
		Values [][]any           `json:"values"`
	},
	) int {
		return cmp.Compare(name(a.Metric), name(b.Metric))
	})
	return v, true
}

// same compares two answers; values may differ by the last bits, for versions of Prometheus add up in different orders.
func same(t *testing.T, what string, ours, theirs reply) (points int) {
	t.Helper()
	if ours.code != theirs.code || ours.body.Status != theirs.body.Status ||
		ours.body.ErrorType != theirs.body.ErrorType {
		t.Errorf("%s: ours is %d %s %s, Prometheus' %d %s %s", what, ours.code, ours.body.ErrorType, ours.body.Error,
			theirs.code, theirs.body.ErrorType, theirs.body.Error)
		return 0
	}
	if ours.code != http.StatusOK {
		return 1
	}
	a, ok1 := decode(t, ours.body.Data)
	b, ok2 := decode(t, theirs.body.Data)
	if !ok1 || !ok2 {
		if !bytes.Equal(ours.body.Data, theirs.body.Data) {
			t.Errorf("%s: ours is %s, Prometheus' %s", what, ours.body.Data, theirs.body.Data)
		}
		return 1
	}
	if a.ResultType != b.ResultType || len(a.Result) != len(b.Result) {
		t.Errorf("%s: ours is %s of %d series, Prometheus' %s of %d", what, a.ResultType, len(a.Result),
			b.ResultType, len(b.Result))
		return 0
	}
	for i := range a.Result {
		x, y := a.Result[i], b.Result[i]
		if fmt.Sprint(x.Metric) != fmt.Sprint(y.Metric) {
			t.Errorf("%s: ours has %v, Prometheus %v", what, x.Metric, y.Metric)
			return 0
		}
		xs, ys := x.Values, y.Values
		if a.ResultType == "vector" {
			xs, ys = [][]any{x.Value}, [][]any{y.Value}
		}
		if len(xs) != len(ys) {
			t.Errorf("%s: %v has %d points, in Prometheus %d", what, x.Metric, len(xs), len(ys))
			return 0
		}
		points += len(xs)
		for j := range xs {
			if !near(xs[j], ys[j]) {
				t.Errorf("%s: %v is %v, in Prometheus %v", what, x.Metric, xs[j], ys[j])
				return 0
			}
		}
	}
	return points
}

func near(x, y []any) bool {
	if len(x) != 2 || len(y) != 2 || x[0] != y[0] { // the time as it is written
		return false
	}
	s, ok1 := x[1].(string)
	u, ok2 := y[1].(string)
	if !ok1 || !ok2 {
		return false
	}
	if s == u {
		return true
	}
	f, err1 := strconv.ParseFloat(s, 64)
	g, err2 := strconv.ParseFloat(u, 64)
	return err1 == nil && err2 == nil && math.Abs(f-g) <= 1e-9*max(math.Abs(f), math.Abs(g), 1e-6)
}

// expressions are what people and dashboards ask.
var expressions = []string{
	`mysql_global_status_questions`,
	`rate(mysql_global_status_questions[15s])`,
	`rate(mysql_global_status_questions[1m])`,
	`sum by (target) (rate(mysql_global_status_commands_total[5m]))`,
	`sum by (instance, job) (rate(mysql_global_status_questions{instance=~"a|c",job="dyno"}[5m]))`,
	`mysql_global_status_uptime{instance!="a",job=~"dy.*"} / on (instance) mysql_global_status_threads_connected`,
	`mysql_global_status_uptime{job!="dyno"} or mysql_global_status_threads_running{job=~"x?"} or node_cpus{instance="",job=~".*"}`,
	`rate(mysql_global_status_slow_queries[1h])`,
	`irate(mysql_global_status_questions[10s])`,
	`increase(mysql_global_status_slow_queries[10m])`,
	`increase(mysql_global_status_commands_total{command=~"update|alter_table"}[30m])`,
	`max_over_time(mysql_global_status_threads_running[2m])`,
	`max(max_over_time(dyno_client_status{variable="threads_running"}[2s])) or max(max_over_time(mysql_global_status_threads_running{target="a"}[2s]))`,
	`avg_over_time(mysql_global_status_threads_connected[7m])`,
	`quantile_over_time(0.9, dyno_history_length[5m])`,
	`count_over_time(mysql_global_status_open_files_limit[3m])`,
	`sum_over_time(dyno_up[10m]) / count_over_time(dyno_up[10m])`,
	`changes(mysql_global_status_threads_connected[20m]) + resets(mysql_global_status_questions[20m])`,
	`absent(mysql_global_status_uptime{target="a"})`,
	`absent_over_time(mysql_info_schema_processlist_threads{target="a",state="executing"}[30s])`,
	`sum by (state) (mysql_info_schema_processlist_threads)`,
	`mysql_global_status_questions - mysql_global_status_questions offset 5m`,
	`rate(mysql_global_status_commands_total[1m]) / on (target) group_left () rate(mysql_global_status_questions[1m])`,
	`100 * sum by (target) (rate(node_cpu_seconds_total[1m])) / on (target) node_cpus`,
	`node_cpus unless on (target) (dyno_up == 0) and on (target) mysql_global_status_uptime > 60`,
	`topk(2, sum by (target, command) (increase(mysql_global_status_commands_total[15m])))`,
	`mysql_info_schema_table_size > bool 3e6`,
	`deriv(dyno_history_length[3m]) > 0 or predict_linear(mysql_info_schema_table_size[10m], 3600)`,
	`max_over_time(rate(mysql_global_status_questions[30s])[10m:30s])`,
	`label_replace(dyno_read_write_ratio, "server", "$1", "target", "(.*)") * 2`,
	`histogram_quantile(0.5, mysql_global_status_questions)`,
	`timestamp(mysql_info_schema_table_size) - time()`,
	`count({__name__=~"mysql_.+"}) by (__name__, target)`,
	`mysql_global_status_threads_running @ end() offset -1m`,
	`last_over_time(mysql_global_status_uptime[1h]) - min_over_time(mysql_global_status_uptime[1h])`,
	`scalar(sum(dyno_up)) + vector(time() % 7)`,
	`time() % 1000`,
	`"text"`,
	// What is wrong must be wrong in the same way.
	`rate(mysql_global_status_questions)`,
	`sum by (`,
	`node_cpu_seconds_total * on (target) mysql_global_status_commands_total`,
	``,
}

// TestAnswersAreThoseOfPrometheus sets answers from Dyno's own store, which does not hold every sample, beside those of
// a real Prometheus that got every sample: across a restart of the server, a source that fails, gaps, and a restart of
// Dyno.
func TestAnswersAreThoseOfPrometheus(t *testing.T) {
	t.Parallel()
	theirs := prometheus(t, "global: {scrape_interval: 1s, evaluation_interval: 1m}\n")
	rec := newRecording(time.Now().Add(-3 * time.Hour).Truncate(time.Minute))
	rec.receive(t, theirs)
	e := series.NewEngine(rec.store(t), app.Help, series.Limits{})
	web := httptest.NewServer(New(Services{Service: &service.Service{}, Engine: e}, Options{}))
	t.Cleanup(web.Close)
	ours := strings.TrimPrefix(web.URL, "http://")

	unix := func(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', -1, 64) }
	var at []time.Time
	for _, d := range []time.Duration{
		// in seconds and between them: the begin, the restart, the gap, the failing source, the new process, the end
		-time.Minute, 90 * time.Second, 29*time.Minute + 59*time.Second, 30*time.Minute + 3500*time.Millisecond,
		30*time.Minute + 25*time.Second,
		51*time.Minute + 17*time.Second, 59*time.Minute + 59*time.Second, 60*time.Minute + 1500*time.Millisecond,
		64*time.Minute + time.Second,
		70*time.Minute + 30*time.Second, 75*time.Minute + 29*time.Second, 75*time.Minute + 31*time.Second,
		100*time.Minute - time.Second, 106 * time.Minute,
	} {
		at = append(at, rec.begin.Add(d))
	}
	ranges := []struct{ from, to, step time.Duration }{
		{0, 100 * time.Minute, time.Minute},
		{29 * time.Minute, 33 * time.Minute, time.Second},
		{58 * time.Minute, 66 * time.Minute, 3500 * time.Millisecond},
		{69 * time.Minute, 78 * time.Minute, 7 * time.Second},
		{-10 * time.Minute, 120 * time.Minute, 7 * time.Minute},
	}
	points := 0
	for _, expr := range expressions {
		for _, a := range at {
			q := url.Values{"query": {expr}, "time": {unix(a)}}
			points += same(t, fmt.Sprintf("%s at %v", expr, a.Sub(rec.begin)), ask(t, ours, "/api/v1/query", q),
				ask(t, theirs, "/api/v1/query", q))
		}
		for _, x := range ranges {
			q := url.Values{
				"query": {expr}, "start": {unix(rec.begin.Add(x.from))}, "end": {unix(rec.begin.Add(x.to))},
				"step": {fmt.Sprint(x.step.Seconds())},
			}
			points += same(t, fmt.Sprintf("%s from %v to %v", expr, x.from, x.to), ask(t, ours, "/api/v1/query_range",
				q), ask(t, theirs, "/api/v1/query_range", q))
		}
	}
	if points < 30_000 {
		t.Errorf("only %d points were compared", points)
	}
	t.Logf("%d points are equal", points)

	for _, x := range []struct {
		path string
		q    url.Values
	}{
		{"/api/v1/series", url.Values{"match[]": {`node_cpu_seconds_total`, `{command="select"}`}}},
		{"/api/v1/series", url.Values{"match[]": {`{target="a"}`}, "limit": {"3"}}},
		{"/api/v1/series", url.Values{}},
		{"/api/v1/series", url.Values{"match[]": {`{target=~".*"}`}}},
		{"/api/v1/labels", url.Values{}},
		{"/api/v1/labels", url.Values{"match[]": {`mysql_info_schema_table_size`}}},
		{"/api/v1/label/__name__/values", url.Values{}},
		{"/api/v1/label/command/values", url.Values{"match[]": {`{target="b"}`, `{target="c"}`}}},
		{"/api/v1/label/nothing/values", url.Values{}},
		{"/api/v1/label/target/values", url.Values{"limit": {"1"}}},
		{"/api/v1/label/instance/values", url.Values{"match[]": {`mysql_global_status_uptime{job="dyno"}`}}},
		{"/api/v1/label/job/values", url.Values{}},
		{"/api/v1/label/job/values", url.Values{"match[]": {`{instance="c"}`}}},
		{"/api/v1/query", url.Values{"query": {"topk(5, dyno_up)"}, "limit": {"x"}}},
		{"/api/v1/query", url.Values{"query": {"1"}, "time": {"yesterday"}}},
		{"/api/v1/query_range", url.Values{"query": {"1"}, "start": {"0"}, "end": {"20000"}, "step": {"1"}}},
		{"/api/v1/query_range", url.Values{"query": {"1"}, "start": {"9"}, "end": {"1"}, "step": {"1"}}},
		{"/api/v1/query_range", url.Values{"query": {"1"}, "start": {"1"}, "end": {"9"}, "step": {"0"}}},
		{"/api/v1/query_range", url.Values{"query": {"1"}, "start": {"1"}, "end": {"9"}, "step": {"1d1"}}},
		{"/api/v1/query_exemplars", url.Values{"query": {"dyno_up"}, "start": {"1"}, "end": {"9"}}},
		{"/api/v1/rules", url.Values{}},
		{"/api/v1/alerts", url.Values{}},
	} {
		a, b := ask(t, ours, x.path, x.q), ask(t, theirs, x.path, x.q)
		if a.code != b.code || a.body.ErrorType != b.body.ErrorType || a.body.Error != b.body.Error {
			t.Errorf("%s %v: ours is %d %s %q, Prometheus' %d %s %q", x.path, x.q, a.code, a.body.ErrorType,
				a.body.Error, b.code, b.body.ErrorType, b.body.Error)
			continue
		}
		if a.code == http.StatusOK && len(x.q["limit"]) == 0 && canonical(t, a.body.Data) != canonical(t, b.body.Data) {
			t.Errorf("%s %v: ours is %s, Prometheus' %s", x.path, x.q, a.body.Data, b.body.Data)
		}
	}
}

// canonical writes JSON with lists of objects in order, for Prometheus lists series in any.
func canonical(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var list []any
	if json.Unmarshal(raw, &list) != nil {
		return string(raw)
	}
	var rows []string
	for _, x := range list {
		b, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, string(b))
	}
	slices.Sort(rows)
	return strings.Join(rows, "\n")
}
