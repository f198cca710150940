package testbed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

const (
	// leastPeriods of a CPU quota must fit into what counts of a turn: with fewer it is luck how much CPU the turn had.
	leastPeriods = 8
	// muchCut is the share of the work in operations that a switch cut from which on the variants of a round are no
	// longer told apart well, and someCut that from which on it is worth a warning.
	muchCut, someCut = 0.5, 0.2
	// mostLate is the share of turns that may be given again because the client stood still.
	mostLate = 0.25
)

// round is a woven round under way.
type round struct {
	s       *Testbed
	p       plan.Plan
	strands []experiment.Strand
	jobs    []*job
	place   *place
	target  family.TrialServer
	sw      *switcher
	loom    *loom
	meter   *meter
	guard   time.Duration

	common  trial.Trial // what all trials of the round have in common
	from    time.Time
	to      time.Time
	client  time.Duration     // CPU time of this process in the round
	spent   []spent           // by turn
	ticks   []loadresult.Tick // that came in meanwhile
	invalid string
}

// spent is what was used in one turn, while it counted.
type spent struct {
	server, client time.Duration
	length         time.Duration // between the readings
	known          bool          // of server
}

// Weave runs the trials of one round in turns under one load. See experiment.Weaver.
func (s *Testbed) Weave(ctx context.Context, n int, strands []experiment.Strand, p plan.Plan,
	sink progress.Sink,
) ([]trial.Trial, error) {
	began := time.Now()
	r := &round{s: s, p: p, strands: strands, common: trial.Trial{Values: map[string]float64{}}}
	if err := s.place(p.Placement, &r.common); err != nil {
		return nil, err
	}
	if err := s.sweep(ctx); err != nil {
		return nil, err
	}
	for _, x := range strands {
		j, err := s.job(x.Variant, p)
		if err != nil {
			return nil, &experiment.Unusable{Reason: err.Error()}
		}
		r.jobs = append(r.jobs, j)
	}
	lead := r.jobs[0] // the server is provided for it: with a quota, so that there is a control group
	for _, j := range r.jobs {
		if lead.config.Limits.CPU == 0 {
			lead = j
		}
	}
	var err error
	if r.place, err = s.provide(ctx, lead, sink); err != nil {
		return nil, unusable(ctx, err)
	}
	for _, l := range r.place.box.Limits {
		if !l.InForce {
			return nil, &experiment.Unusable{Reason: fmt.Sprintf("the limit %s of %s is not in effect: %s",
				l.Name, l.Wanted, l.Reason)}
		}
	}
	if r.target, err = lead.servers.open(ctx, r.place); err != nil {
		return nil, unusable(ctx, err)
	}
	defer r.target.Close()
	if r.sw, err = newSwitcher(ctx, r.target, r.place.box.PID, r.jobs); err != nil {
		return nil, unusable(ctx, err)
	}
	defer r.sw.close()
	if ts, err := r.rehearse(ctx); ts != nil || err != nil {
		return ts, err
	}
	if err := r.sw.free(); err != nil { // until the first turn: the server has other questions to answer now
		return nil, unusable(ctx, err)
	}
	r.common.Env = environmentOf(ctx, s.cpus, r.target, r.place, &r.common)
	r.common.Setup = time.Since(began).Seconds()
	if err := r.warm(ctx, lead, sink); err != nil {
		return nil, err
	}
	if r.invalid == "" {
		if err := r.measure(ctx, n, sink); err != nil {
			return nil, err
		}
	}
	ts := r.trials()
	if ctx.Err() != nil {
		return ts, ctx.Err()
	}
	if !r.place.alive() {
		said := "the server ended during the trial: " + r.place.last(s.Yard)
		for i := range ts {
			ts[i].Invalid = said
		}
	}
	return ts, nil
}

// rehearse puts every variant in force once before anything is measured. What cannot be is unusable; it returns trials
// when one is.
func (r *round) rehearse(ctx context.Context) ([]trial.Trial, error) {
	r.guard = max(time.Duration(r.p.Trials.Guard()), 2*r.sw.period())
	if turn := time.Duration(r.p.Trials.Turns); turn-r.guard < leastPeriods*r.sw.period() {
		return nil, &experiment.Unusable{Reason: fmt.Sprintf("such a small CPU quota has periods of %v, and turns of "+
			"%v contain too few of them: use turns of %v",
			r.sw.period(), turn, (leastPeriods+2)*r.sw.period())}
	}
	bad := map[string]string{}
	for i, x := range r.strands {
		if err := r.sw.to(ctx, i); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			bad[x.Variant.Key] = describe(r.target.Wrap("change", err))
		}
	}
	if len(bad) == 0 {
		if err := r.sw.alike(); err != nil {
			return nil, &experiment.Unusable{Reason: err.Error()}
		}
		clear(r.sw.longest)
		return nil, nil
	}
	ts := make([]trial.Trial, len(r.strands))
	for i, x := range r.strands {
		why, ok := bad[x.Variant.Key]
		ts[i] = trial.Trial{Unusable: ok, Invalid: why}
		if !ok {
			ts[i].Invalid = "another variant of the round could not be applied"
		}
	}
	return ts, nil
}

// warm starts the load unless it runs, and waits until it is warm.
func (r *round) warm(ctx context.Context, j *job, sink progress.Sink) error {
	before := r.s.live
	if err := r.s.begin(ctx, r.place, j, true); err != nil {
		return err
	}
	r.loom = r.s.live.loom
	if r.s.live == before { // it has never stopped
		return nil
	}
	w := newWindow(r.p.Trials)
	prog := progress.Progress{Step: "warming up", Unit: "s", Started: time.Now(), Total: w.warmMin.Seconds()}
	deadline := time.Now().Add(w.longest() + time.Minute)
	for !w.open {
		ok, err := r.wait(ctx, deadline)
		if err != nil || !ok {
			return err
		}
		for _, t := range r.ticks {
			if !w.open {
				w.add(t)
			}
		}
		r.ticks = nil
		prog.Done, prog.At = min(span(w.warm).Seconds(), prog.Total), time.Now()
		sink.Report(prog)
	}
	r.common.Warm = span(w.warm).Seconds()
	if !w.steady {
		r.common.Warnings = append(r.common.Warnings, fmt.Sprintf("the rate was not stationary after %v of warm-up",
			span(w.warm).Round(time.Second)))
	}
	for r.loom.operations() == 0 { // its sessions connect first
		if ok, err := r.wait(ctx, deadline); err != nil || !ok {
			return err
		}
	}
	return nil
}

// wait lets a moment pass. It is false when the load has ended or made no progress until the deadline; invalid then
// says so.
func (r *round) wait(ctx context.Context, deadline time.Time) (bool, error) {
	if time.Now().After(deadline) {
		r.invalid = "the load made no progress"
		return false, nil
	}
	return r.until(ctx, time.Now().Add(10*time.Millisecond))
}

// until waits for a moment, and takes the ticks that have come. It is false when the load has ended.
func (r *round) until(ctx context.Context, at time.Time) (bool, error) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case t, more := <-r.s.live.ticks:
			if !more {
				return false, r.broke()
			}
			r.ticks = append(r.ticks, t)
		case <-timer.C:
			return true, nil
		}
	}
}

// broke says why the load has ended by itself.
func (r *round) broke() error {
	<-r.s.live.done
	err := r.s.live.err
	if err == nil {
		err = errors.New("it ended on its own")
	}
	if r.s.live.run.Elapsed == 0 && r.place.alive() {
		return &experiment.Unusable{Reason: describe(err)}
	}
	r.invalid = "the load broke off: " + describe(err)
	return nil
}

// measure gives every strand its turns.
func (r *round) measure(ctx context.Context, n int, sink progress.Sink) error {
	// Who switches must not wait until the load's thread gives its processor away.
	procs := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(procs + 1)
	defer runtime.GOMAXPROCS(procs)

	turn := time.Duration(r.p.Trials.Turns)
	counts, perSecond := turnsFor(time.Duration(r.p.Trials.Time), turn-r.guard)
	seconds := max(1, counts/perSecond)
	prog := progress.Progress{
		Step: "measuring in turns", Unit: "s", Started: time.Now(),
		Total: (time.Duration(counts*len(r.strands)) * turn).Seconds(),
	}
	r.meter = &meter{pid: r.place.box.PID, dir: r.place.dataDir(), t: r.target}
	r.meter.host, r.meter.err = host.Begin(r.meter.pid, r.meter.dir)
	r.loom.begin(len(r.strands))
	r.from = time.Now()
	r.client = -platform.OwnCPU()
	again := int(mostLate * float64(counts*len(r.strands)))
	for block, order := range blocks(r.p, n, counts, len(r.strands)) {
		for _, strand := range order {
			for more := true; more; {
				ok, late, err := r.turn(ctx, strand, min(block/perSecond, seconds-1), turn)
				if err != nil || !ok {
					return err
				}
				if more = late && again > 0; more {
					again--
				}
			}
			prog.Done, prog.At = min(prog.Done+turn.Seconds(), prog.Total), time.Now()
		}
		sink.Report(prog)
	}
	r.loom.leave(time.Now())
	r.to = time.Now()
	r.client += platform.OwnCPU()
	r.meter.use, r.meter.err = endOf(r.meter)
	r.meter.ended = r.meter.err == nil
	_, err := r.until(ctx, r.to.Add(r.guard)) // operations under way belong to the last turn in part
	return err
}

func endOf(m *meter) (host.Usage, error) {
	if m.err != nil {
		return host.Usage{}, m.err
	}
	return m.host.End()
}

// turn gives a strand one turn. late says that the client stood still and the turn does not count; not ok that the
// round has ended.
func (r *round) turn(ctx context.Context, strand, second int, length time.Duration) (ok, late bool, err error) {
	r.loom.leave(time.Now())
	if err := r.sw.to(ctx, strand); err != nil {
		if ctx.Err() == nil {
			r.invalid = "a switch failed: " + describe(r.target.Wrap("change", err))
		}
		return false, false, ctx.Err()
	}
	from := time.Now()
	r.loom.take(strand, second, from, from.Add(r.guard))
	if ok, err := r.until(ctx, from.Add(r.guard)); err != nil || !ok {
		return false, false, err
	}
	var x spent
	before := timeOf(r.meter.pid)
	client, at := platform.OwnCPU(), time.Now()
	if ok, err := r.until(ctx, from.Add(length)); err != nil || !ok {
		return false, false, err
	}
	after := timeOf(r.meter.pid)
	end := time.Now()
	x.server, x.known = after.since(before)
	x.client, x.length = platform.OwnCPU()-client, end.Sub(at)
	r.spent = append(r.spent, x)
	if late = end.Sub(from) > length+length/2; late {
		r.loom.miss()
	}
	return true, late, nil
}

// turnsFor returns how many turns a strand has when so much of each counts, an even number, and how many of them make a
// second.
func turnsFor(all, one time.Duration) (n, perSecond int) {
	n = int((all + one - 1) / one)
	n += n % 2
	return n, max(1, int(math.Round(float64(time.Second)/float64(one))))
}

// blocks returns the order of each block of turns: random, and in every second block that of the one before reversed,
// so that over the two a steady drift hits all strands alike.
func blocks(p plan.Plan, round, n, strands int) [][]int {
	keys := make([]string, strands)
	for i := range keys {
		keys[i] = fmt.Sprintf("%09d", i)
	}
	out := make([][]int, n)
	for b := range out {
		out[b] = make([]int, strands)
		if b%2 == 1 {
			for i, x := range out[b-1] {
				out[b][strands-1-i] = x
			}
			continue
		}
		for i, key := range p.Order(round*1_000_003+b, keys) {
			out[b][i], _ = strconv.Atoi(key)
		}
	}
	return out
}

// trials makes the trials of the round.
func (r *round) trials() []trial.Trial {
	ts := make([]trial.Trial, len(r.strands))
	for i := range ts {
		t := r.common
		t.Warnings, t.Values, t.Texts = append([]string(nil), r.common.Warnings...),
			map[string]float64{}, map[string]string{}
		t.Env = r.environment(i)
		t.Invalid = r.invalid
		ts[i] = t
	}
	if r.invalid != "" || r.to.IsZero() {
		return ts
	}
	turns, strands := r.loom.end()
	if len(turns) != len(r.spent) {
		panic(fmt.Sprintf("BUG: %d turns, %d readings", len(turns), len(r.spent)))
	}
	about := r.machine(turns)
	errs := map[string]uint64{}
	for _, t := range r.ticks {
		for k, n := range t.Errors {
			errs[k] += n
		}
	}
	for i := range ts {
		t := &ts[i]
		t.From, t.To = r.from, r.to
		if len(errs) > 0 {
			t.Errors = maps.Clone(errs)
		}
		r.sum(i, turns, strands[i], t)
		maps.Copy(t.Values, about.Values)
		t.Warnings = append(t.Warnings, about.Warnings...)
		if t.Invalid == "" {
			t.Invalid = about.Invalid
		}
		bad, ignored := serious(errs, r.jobs[i].servers.Retried(), r.jobs[i].config.Run.Ignore)
		if bad != "" && t.Invalid == "" {
			t.Invalid = "statements failed in the round, of any variant: " + bad
		}
		if ignored != "" {
			t.Warnings = append(t.Warnings, "errors that the plan ignores ended operations in the round, of any "+
				"variant: "+ignored)
		}
	}
	return ts
}

// machine tells what holds for the whole round.
func (r *round) machine(turns []turn) trial.Trial {
	all := trial.Trial{Values: map[string]float64{}}
	ops := 0.0
	for _, t := range turns {
		ops += t.ops
	}
	if ops == 0 {
		return trial.Trial{Invalid: "the load completed no operation"}
	}
	// Ops are those of the turns without guards; what follows is of the whole time, and per second or a share.
	all.Values["client_cpu_us_per_op"] = float64(r.client) / 1e3 / ops
	r.meter.fill(ops, r.to.Sub(r.from).Seconds(), &all)
	out := trial.Trial{Values: map[string]float64{}, Warnings: all.Warnings}
	for _, name := range []string{"steal_share", "iowait_share", "other_cpu_cores", "data_bytes"} {
		if v, ok := all.Values[name]; ok {
			out.Values[name] = v
		}
	}
	if steal := out.Values["steal_share"]; steal >= muchSteal {
		out.Invalid = fmt.Sprintf("the hypervisor took %.0f %% of the CPUs' time", 100*steal)
	} else if steal >= someSteal {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the hypervisor took %.1f %% of the CPUs' time", 100*steal))
	}
	return out
}

// sum fills in what the turns of a strand tell.
func (r *round) sum(strand int, turns []turn, got strand, t *trial.Trial) {
	w := &trial.Woven{
		Turn: time.Duration(r.p.Trials.Turns).Seconds(), Guard: r.guard.Seconds(), Of: len(r.strands),
		Switch: r.sw.longest[strand].Seconds() * 1e3,
	}
	t.Woven = w
	secs := make([]trial.Second, len(got.seconds))
	parts := make([]float64, len(secs))
	var ops, queries, cut float64
	var server, client, length time.Duration
	known := true
	for i, x := range turns {
		if x.strand != strand {
			continue
		}
		use := r.spent[i]
		if x.late {
			w.Late++
			continue
		}
		w.Turns++
		d := float64(max(0, x.to-x.open)) / 1e9
		w.Time += d
		ops, queries, cut = ops+x.ops, queries+x.queries, cut+x.cut
		s := &secs[x.second]
		if s.At.IsZero() {
			s.At = r.loom.base.Add(time.Duration(x.open))
		}
		s.Length += d
		parts[x.second] += x.ops
		server, client, length = server+use.server, client+use.client, length+use.length
		known = known && use.known
	}
	if w.Time <= 0 || w.Turns == 0 {
		t.Invalid = "no turn counts: the client itself stalled repeatedly"
		return
	}
	t.Latency = hist.New()
	for i := range secs {
		secs[i].Ops = uint64(math.Round(parts[i]))
		if l := got.seconds[i]; l.Count() > 0 {
			secs[i].P95 = float64(l.Quantile(0.95)) / 1e6
			t.Latency.Merge(l)
		}
		if secs[i].Length > 0 {
			t.Seconds = append(t.Seconds, secs[i])
		}
	}
	if ops <= 0 {
		t.Invalid = "the load completed no operation"
		return
	}
	v := t.Values
	v["tps"], v["qps"] = ops/w.Time, queries/w.Time
	if t.Latency.Count() > 0 {
		for name, q := range map[string]float64{
			"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99,
			"p999_ms": 0.999, "max_ms": 1,
		} {
			v[name] = float64(t.Latency.Quantile(q)) / 1e6
		}
		v["mean_ms"] = float64(t.Latency.Mean()) / 1e6
	}
	if low := stat.Steady([][]float64{rates(t.Seconds)}); low.Seconds >= leastSeconds && low.Median > 0 {
		v["low_share"] = low.Low
	}
	// The readings were taken a little before or after the edges of what counts: rates over their own time, then per
	// operation.
	if length > 0 {
		if known {
			v["server_cpu_cores"] = server.Seconds() / length.Seconds()
			v["server_cpu_us_per_op"] = v["server_cpu_cores"] / v["tps"] * 1e6
		}
		cores := client.Seconds() / length.Seconds()
		v["client_cpu_us_per_op"] = cores / v["tps"] * 1e6
		v["client_cpu_share"] = cores / float64(r.s.cpus.n)
		if r.s.cpus.apart && v["client_cpu_share"] >= clientFull {
			t.Invalid = fmt.Sprintf("the client used %.0f %% of its CPUs (%s): it was the bottleneck, not the server",
				100*v["client_cpu_share"], r.s.cpus.client)
		}
	}
	w.Cut = cut / ops
	turn := time.Duration(r.p.Trials.Turns)
	switch {
	case w.Cut >= muchCut:
		t.Invalid = fmt.Sprintf("%.0f %% of the work was in operations that a switch cut: operations take too long "+
			"for turns of %v", 100*w.Cut, turn)
	case w.Cut >= someCut:
		t.Warnings = append(t.Warnings, fmt.Sprintf("%.0f %% of the work was in operations that a switch cut: longer "+
			"turns than %v would separate the variants better", 100*w.Cut, turn))
	}
	if w.Late > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d of %d turns do not count: the client itself stalled in them",
			w.Late, w.Late+w.Turns))
	}
}

// environment is that of the round with what the strand sets.
func (r *round) environment(i int) *trial.Environment {
	if r.common.Env == nil {
		return nil
	}
	e := *r.common.Env
	e.Facts = maps.Clone(e.Facts)
	if r.sw.quota != nil {
		limits := maps.Clone(e.Facts["limit"])
		if _, how, ok := strings.Cut(limits["cpu"], " ("); ok && r.sw.cpus[i] > 0 {
			limits["cpu"] = strconv.FormatFloat(r.sw.cpus[i], 'f', -1, 64) + " (" + how
		} else {
			delete(limits, "cpu")
		}
		e.Facts["limit"] = limits
	}
	if len(r.sw.names) > 0 {
		vars := maps.Clone(e.Facts["variable"])
		for k, name := range r.sw.names {
			if _, ok := vars[name]; ok && k < len(r.sw.seen[i]) {
				vars[name] = r.sw.seen[i][k]
			}
		}
		e.Facts["variable"] = vars
	}
	return &e
}
