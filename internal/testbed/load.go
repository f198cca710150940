package testbed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

const (
	clientFull = 0.95 // of its CPUs: from here on it is the client that is measured
	someSteal  = 0.02 // of all CPUs' time is worth a warning
	muchSteal  = 0.60 // leaves nothing to compare
	busyOthers = 0.10 // of all CPUs, used by processes that do not belong here, is worth a warning
)

// configOf is the job's load without an end. turn is the number of the trial of its variant.
func configOf(cpus *cpus, j *job, turn uint64) load.Config {
	cfg := load.Config{
		Workload: j.runs, Options: j.runWith, Threads: max(1, j.config.Run.Threads),
		Seed:   j.seed*1_000_003 + turn, // so that all variants meet the same operations in their nth trial
		PSMode: load.PSMode(j.config.Run.PSMode),
	}
	if cpus.apart && cpus.n > 1 {
		// the client's CPUs have nothing else to do: no loop shall be full while another CPU is idle
		cfg.Loops = min(cpus.n, cfg.Threads)
	}
	for _, e := range j.config.Run.Ignore {
		if strings.EqualFold(e, "all") {
			cfg.IgnoreAll = true
		} else {
			cfg.Ignore = append(cfg.Ignore, e)
		}
	}
	return cfg
}

// speed is the speedometer of the CPUs that the server runs on.
type speed struct {
	cpus  string
	meter *host.Speedometer
}

// meter prepares the readings of one trial.
func (s *Testbed) meter(t family.TrialServer, p *place, j *job, tr *trial.Trial) *meter {
	m := &meter{pid: p.box.PID, dir: p.dataDir(), t: t}
	list := serverCPUs(s.cpus, j)
	if s.speed != nil && s.speed.cpus != list {
		s.speed.meter.Stop()
		s.speed = nil
	}
	if cpus, err := host.ParseCPUs(list); s.speed == nil && err == nil && len(cpus) > 0 {
		// with free placement there is nothing to watch
		x, err := host.StartSpeedometer(cpus)
		if err != nil {
			tr.Warnings = append(tr.Warnings, "the speed of the CPUs is unknown: "+err.Error())
			return m
		}
		s.speed = &speed{list, x}
	}
	if s.speed != nil {
		m.speed = s.speed.meter
	}
	return m
}

// load warms up and measures under the job's workload.
func (s *Testbed) load(ctx context.Context, t family.TrialServer, p *place, j *job, pl plan.Plan, turn uint64,
	tr *trial.Trial, sink progress.Sink,
) error {
	srv, err := j.servers.OpenLoad(ctx, p.box.Spec())
	if err != nil {
		return unusable(ctx, err)
	}
	defer srv.Close()
	w := newWindow(pl.Trials)
	m := s.meter(t, p, j, tr)
	cfg := configOf(s.cpus, j, turn)
	cfg.Time = w.longest() + time.Minute
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	prog := progress.Progress{Step: "warming up", Unit: "s", Started: time.Now(), Total: w.warmMin.Seconds()}
	// The readings are taken beside the load, for a question to the server must not hold up the next tick.
	ticks := make(chan loadresult.Tick, 256)
	done := make(chan struct{})
	if w.open { // without a warm-up
		m.begin(ctx)
	}
	go func() {
		defer close(done)
		for tick := range ticks {
			begin, end := w.add(tick)
			switch {
			case begin:
				m.begin(ctx)
				prog = progress.Progress{Step: "measuring", Unit: "s", Started: time.Now(), Total: w.time.Seconds()}
			case end:
				m.end(ctx)
				stop()
			}
			if w.open {
				prog.Done = span(w.in).Seconds()
			} else {
				prog.Done = min(span(w.warm).Seconds(), prog.Total)
			}
			prog.At = time.Now()
			sink.Report(prog)
		}
	}()
	r, err := srv.Run(ctx, cfg, func(tick loadresult.Tick) {
		select {
		case ticks <- tick:
		default: // nobody reads any more, or the readings hang: the window stays incomplete and says so
		}
	})
	close(ticks)
	<-done
	for _, x := range r.Warnings {
		if !slices.Contains(tr.Warnings, x) {
			tr.Warnings = append(tr.Warnings, x)
		}
	}
	for _, tk := range append(slices.Clone(w.warm), w.in...) {
		for k, n := range tk.Errors {
			if tr.Errors == nil {
				tr.Errors = map[string]uint64{}
			}
			tr.Errors[k] += n
		}
	}
	if err != nil && r.Elapsed == 0 {
		if endpoint.KindOf(t.Wrap("load", err)) == endpoint.Gone || !p.alive() {
			tr.Invalid = "the load could not start: " + describe(err)
			return nil
		}
		return &experiment.Unusable{Reason: describe(err)}
	}
	if err != nil {
		tr.Invalid = "the load broke off: " + describe(err)
	}
	sumUp(s.cpus, w, m, j, tr)
	switch {
	case r.Invalid == "" || tr.Invalid != "":
	case apart(s.cpus, j):
		tr.Invalid = r.Invalid
	default: // a client that shares its CPUs with the server waits for them now and then, and the plan wants it so
		tr.Warnings = append(tr.Warnings, r.Invalid)
	}
	if tr.Invalid == "" && (len(w.in) == 0 || span(w.in) < w.time-time.Second) {
		tr.Invalid = fmt.Sprintf("only %v of %v were measured", span(w.in).Round(time.Millisecond), w.time)
	}
	return nil
}

// sumUp fills in what the window tells.
func sumUp(cpus *cpus, w *window, m *meter, j *job, tr *trial.Trial) {
	tr.Warm = span(w.warm).Seconds()
	if len(w.in) == 0 {
		return
	}
	if !w.steady && w.warmMax > w.warmMin {
		tr.Warnings = append(tr.Warnings, fmt.Sprintf("the rate was not stationary after %v of warm-up",
			span(w.warm).Round(time.Second)))
	}
	total := loadresult.Merged(w.in)
	tr.From, tr.To = w.in[0].At, w.in[len(w.in)-1].At.Add(w.in[len(w.in)-1].Length)
	tr.Latency = total.Latency()
	for _, t := range w.in {
		sec := trial.Second{At: t.At, Length: t.Length.Seconds(), Ops: t.Operations(), Errors: t.ErrorCount()}
		if l := t.Latency(); l.Count() > 0 {
			sec.P95 = float64(l.Quantile(0.95)) / 1e6
		}
		if m.speed != nil {
			sec.Speed, _ = m.speed.Speed(t.At, t.At.Add(t.Length))
		}
		tr.Seconds = append(tr.Seconds, sec)
	}
	if m.speed != nil {
		if x, ok := m.speed.Speed(tr.From, tr.To); ok {
			tr.Values["cpu_speed"] = x
		}
	}
	v := tr.Values
	n := float64(total.Operations())
	v["tps"], v["qps"] = total.TPS(), total.QPS()
	if n == 0 {
		tr.Invalid = "the load completed no operation"
		return
	}
	for name, q := range map[string]float64{
		"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99,
		"p999_ms": 0.999, "max_ms": 1,
	} {
		v[name] = float64(tr.Latency.Quantile(q)) / 1e6
	}
	if low := stat.Steady([][]float64{rates(tr.Seconds)}); low.Seconds >= leastSeconds && low.Median > 0 {
		v["low_share"] = low.Low
	}
	v["mean_ms"] = float64(tr.Latency.Mean()) / 1e6
	client := max(0, total.ClientCPU-m.own) // the load's alone
	v["client_cpu_us_per_op"] = float64(client) / 1e3 / n
	share := client.Seconds() / total.Length.Seconds() / float64(cpus.n)
	v["client_cpu_share"] = share
	if apart(cpus, j) && share >= clientFull {
		tr.Invalid = fmt.Sprintf("the client used %.0f %% of its CPUs (%s): it was the bottleneck, not the server",
			100*share, cpus.client)
	}
	m.fill(n, total.Length.Seconds(), tr)
	if steal, ok := v["steal_share"]; ok {
		switch {
		case steal >= muchSteal:
			tr.Invalid = fmt.Sprintf("the hypervisor took %.0f %% of the CPUs' time", 100*steal)
		case steal >= someSteal:
			tr.Warnings = append(tr.Warnings, fmt.Sprintf("the hypervisor took %.1f %% of the CPUs' time", 100*steal))
		}
	}
	bad, ignored := serious(tr.Errors, j.servers.Retried(), j.config.Run.Ignore)
	if bad != "" && tr.Invalid == "" {
		tr.Invalid = "statements failed: " + bad
	}
	if ignored != "" {
		tr.Warnings = append(tr.Warnings, "errors that the plan ignores ended operations: "+ignored)
	}
}

// leastSeconds are too few to tell a slow second from a usual one below it.
const leastSeconds = 5

// rates returns the operations per second of whole seconds.
func rates(secs []trial.Second) (out []float64) {
	for _, s := range secs {
		if s.Length > 0.5 {
			out = append(out, float64(s.Ops)/s.Length)
		}
	}
	return out
}

// serious names the errors that no healthy run has, and beside them those that the plan lets pass. Those that are
// retried are part of a load that writes.
func serious(errs map[string]uint64, retried, ignore []string) (bad, ignored string) {
	var bads, passed []string
	for _, k := range slices.Sorted(maps.Keys(errs)) {
		text := fmt.Sprintf("%d× error %s", errs[k], k)
		switch {
		case slices.Contains(retried, k):
		case slices.ContainsFunc(ignore, func(x string) bool { return x == k || strings.EqualFold(x, "all") }):
			passed = append(passed, text)
		default:
			bads = append(bads, text)
		}
	}
	return strings.Join(bads, ", "), strings.Join(passed, ", ")
}

// meter reads what the server did between the beginning and the end of the window.
type meter struct {
	pid   int
	dir   string // of the data
	t     family.TrialReadings
	speed *host.Speedometer // nil when it is not known which CPUs to watch

	host   *host.Meter
	use    host.Usage
	before map[string]uint64
	after  map[string]uint64
	err    error
	ended  bool
	own    time.Duration // CPU that the speedometer took in the window: this process's, but not the load's
}

func (m *meter) begin(ctx context.Context) {
	if m.speed != nil {
		m.own = -m.speed.Used()
	}
	if w, err := m.t.Written(ctx); err == nil {
		m.before = w
	}
	m.host, m.err = host.Begin(m.pid, m.dir)
}

func (m *meter) end(ctx context.Context) {
	if m.speed != nil {
		m.own += m.speed.Used()
	}
	if m.err == nil && m.host != nil {
		m.use, m.err = m.host.End()
		m.ended = m.err == nil
	}
	if w, err := m.t.Written(ctx); err == nil {
		m.after = w
	}
}

// fill turns the readings into values per operation.
func (m *meter) fill(ops, seconds float64, tr *trial.Trial) {
	v := tr.Values
	for name, from := range m.before {
		if to, ok := m.after[name]; ok && to >= from {
			v["written_bytes_"+name] = float64(to - from)
		}
	}
	if n, err := dataBytes(m.dir); err == nil && n > 0 {
		v["data_bytes"] = float64(n)
	}
	if !m.ended {
		if m.err != nil {
			tr.Warnings = append(tr.Warnings, "the server's resource use is unknown: "+m.err.Error())
		}
		return
	}
	u := m.use
	// The readings cover a few milliseconds more or less than the ticks: rates over their own time, then per operation.
	per := seconds / u.Seconds / ops
	add := func(name string, x known.Value[uint64], scale float64) {
		if n, ok := x.Get(); ok {
			v[name] = float64(n) * scale
		}
	}
	user, ok1 := u.UserSec.Get()
	sys, ok2 := u.SystemSec.Get()
	if ok1 && ok2 {
		v["server_cpu_us_per_op"] = (user + sys) * 1e6 * per
		v["server_cpu_cores"] = (user + sys) / u.Seconds
	}
	add("cs_per_op", u.Switches, per)
	add("read_kb_per_op", u.ReadBytes, per/1024)
	add("write_kb_per_op", u.WriteBytes, per/1024)
	add("written_bytes_device", u.DeviceWriteBytes, 1)
	v["steal_share"], v["iowait_share"] = u.Machine.Steal, u.Machine.IOWait
	if ok1 && ok2 && len(u.CPUs) > 0 { // what neither the server nor the client did
		others := u.Machine.Busy*float64(len(u.CPUs)) - (user+
			sys)/u.Seconds - v["client_cpu_us_per_op"]/1e6/per/u.Seconds
		v["other_cpu_cores"] = max(0, others)
		if others >= busyOthers*float64(len(u.CPUs)) {
			tr.Warnings = append(tr.Warnings, fmt.Sprintf("other processes used %.1f CPUs of this machine meanwhile",
				others))
		}
	}
	tr.Warnings = append(tr.Warnings, u.Notes...)
}
