//go:build bench

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

const (
	mostTime = 20 * time.Second // of a trial, by the goal
	pilot    = 20 * time.Second
	// The standard deviations of the log-ratio of a pair at which ten of them see 3 % in 97 of 100 cases, and call the
	// same the same in 99; see the table of package stat.
	powerNoise, selfNoise = 0.017, 0.013
	// reserve is how much longer trials are than the noise from second to second asks for: rounds differ by more than
	// that.
	reserve = 2.0
)

// bed is where one experiment after the other is run: data are made once for each seed, servers anew for each
// experiment.
type bed struct {
	home string
}

// run carries out one plan, with other values where set says so.
func (b bed) run(ctx context.Context, file string, seed int, set map[string]string,
	o experiment.Observer,
) (trial.Result, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return trial.Result{}, err
	}
	a := &app.App{Home: b.home, Version: "bench", Environ: os.Getenv}
	defer a.Close()
	all := map[string]string{"trials.seed": strconv.Itoa(seed)}
	maps.Copy(all, set)
	c, err := lab.Prepare(ctx, a, lab.CompareOptions{
		Text: text, File: file, Set: all,
		Observer: o, DropData: true,
	})
	if err != nil {
		return trial.Result{}, err
	}
	r, _, err := lab.Compare(ctx, a, c)
	return r, err
}

// clear takes away what is left.
func (b bed) clear(ctx context.Context) error {
	a := &app.App{Home: b.home, Environ: os.Getenv}
	defer a.Close()
	y, err := a.Yard()
	if err == nil {
		err = y.RemoveAll(ctx)
	}
	return err
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func interval(x stat.Interval) string {
	return fmt.Sprintf("×%.4f (%.4f to %.4f)", x.Center, x.Lo, x.Hi)
}

// benchLab is one run of bench/lab.sh.
type benchLab struct {
	bed   bed
	turns string
	first int
	begun time.Time
	term  bool
}

// say prints a line, in place of the progress where that is shown.
func (l *benchLab) say(format string, args ...any) {
	if l.term {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
	fmt.Printf("%s  %s\n", clock(time.Since(l.begun)), fmt.Sprintf(format, args...))
}

func clock(d time.Duration) string {
	return fmt.Sprintf("%3d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// watch shows how far a repetition is, on a terminal.
func (l *benchLab) watch(what string) experiment.Observer {
	if !l.term {
		return experiment.Observer{}
	}
	return experiment.Observer{Judged: func(j experiment.Judged) {
		so := ""
		for _, c := range j.Outcome.Cells {
			if c.Verdict != nil {
				so = fmt.Sprintf(", ×%.4f so far", c.Verdict.Ratio.Center)
			}
		}
		if so == "" && j.Outcome.Control != nil {
			so = fmt.Sprintf(", ×%.4f so far", j.Outcome.Control.Ratio.Center)
		}
		fmt.Fprintf(os.Stderr, "\r\x1b[K%s: round %d%s", what, j.Round, so)
	}}
}

func (l *benchLab) set(trial time.Duration) map[string]string {
	return map[string]string{"trials.turns": l.turns, "trials.time": trial.String()}
}

// TestLab is started by lab.sh.
func TestLab(t *testing.T) {
	// The server's account must be able to enter.
	home, err := os.MkdirTemp("/var/tmp", "dyno-lab-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM) // else its server would stay
	defer stop()
	fi, err := os.Stderr.Stat()
	l := &benchLab{
		bed: bed{filepath.Join(home, "dyno")}, turns: os.Getenv("TURNS"), first: number("FIRST", 1), begun: time.Now(),
		term: err == nil && fi.Mode()&os.ModeCharDevice != 0,
	}
	defer func() {
		if err := l.bed.clear(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	power, self := number("POWER", 10), number("AA", 40)
	powerTime, selfTime, err := l.times(ctx, power, self)
	if err != nil {
		if ctx.Err() == nil {
			t.Error(err)
		}
		return
	}
	if err := errors.Join(l.power(ctx, power, powerTime), l.self(ctx, self, selfTime),
		l.restore(ctx, number("RESTORE", 1))); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}

// times settles how long trials are: as long as the noise of this machine asks for, within the time there is.
func (l *benchLab) times(ctx context.Context, power, self int) (forPower, forSelf time.Duration, err error) {
	given := func(name string) (time.Duration, error) {
		v := os.Getenv(name)
		if v == "" {
			return 0, nil
		}
		d, err := time.ParseDuration(v)
		if err == nil && (d < time.Second || d > mostTime) {
			err = fmt.Errorf("from 1s to %v", mostTime)
		}
		if err != nil {
			return 0, fmt.Errorf("%s=%s: %w", name, v, err)
		}
		return d, nil
	}
	forPower, err1 := given("POWER_TIME")
	forSelf, err2 := given("AA_TIME")
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, err
	}
	if (forPower > 0 || power == 0) && (forSelf > 0 || self == 0) {
		l.turns = cmp.Or(l.turns, "200ms")
		return forPower, forSelf, nil
	}
	sd, err := l.look(ctx)
	if err != nil {
		return 0, 0, err
	}
	needs := func(wanted float64) time.Duration {
		return time.Duration(reserve * sd * sd / wanted / wanted * float64(time.Second))
	}
	needPower, needSelf := needs(powerNoise), needs(selfNoise)
	// All of it: rounds of three or two trials, what is left out of turns, and some seconds for each server and round.
	// Most experiments end before their last round.
	whole := func(p, s time.Duration) time.Duration {
		rounds := func(n, trials int, d time.Duration) time.Duration {
			return time.Duration(n) * (6*time.Second + 8*(500*time.Millisecond+
				time.Duration(1.2*float64(trials)*float64(d))))
		}
		return time.Since(l.begun) + rounds(power, 3, p) + rounds(self, 2, s)
	}
	fit := func(d time.Duration) time.Duration {
		return max(time.Second, min(d, mostTime)).Round(100 * time.Millisecond)
	}
	forPower, forSelf = cmp.Or(forPower, fit(needPower)), cmp.Or(forSelf, fit(needSelf))
	l.say("to see 3 %% takes trials of %.1f s, to call the same the same of %.1f s",
		needPower.Seconds(), needSelf.Seconds())
	minutes := time.Duration(number("MINUTES", 120)) * time.Minute
	if all := whole(forPower, forSelf); all > minutes {
		short := func(d time.Duration, name string) time.Duration {
			if os.Getenv(name) != "" {
				return d
			}
			return fit(time.Duration(float64(d) * float64(minutes) / float64(all)))
		}
		forPower, forSelf = short(forPower, "POWER_TIME"), short(forSelf, "AA_TIME")
		l.say("that would take %.0f minutes: trials are shorter, and less will be seen; MINUTES=%.0f gives the time",
			all.Minutes(), math.Ceil(1.1*all.Minutes()))
	}
	return forPower, forSelf, nil
}

// look measures how much a server differs from itself from one second of its turns to the same one of the other's: the
// standard deviation of the log-ratio. Unless turns are given it settles these, too: shorter ones where the noise is
// much slower than they are.
func (l *benchLab) look(ctx context.Context) (best float64, err error) {
	turns := []string{l.turns}
	if l.turns == "" {
		turns = []string{"200ms", "100ms"}
	}
	l.say("first a look at the noise: one round of a server and itself, %v each", pilot)
	for _, one := range turns {
		sd, err := l.noise(ctx, one)
		if err != nil {
			return 0, err
		}
		l.say("in turns of %s a server differs from itself, second by second, by %.1f %% (standard deviation)", one,
			100*sd)
		if l.turns == "" || sd*sd < 0.7*best*best { // a clear gain, for short turns lose more to their guards
			l.turns, best = one, sd
		}
	}
	return best, nil
}

func (l *benchLab) noise(ctx context.Context, turns string) (float64, error) {
	var seconds []float64
	var round []trial.Trial
	ctx1, enough := context.WithCancel(ctx)
	defer enough()
	o := experiment.Observer{End: func(x trial.Trial) {
		if round = append(round, x); len(round) == 2 {
			seconds = differences(round)
			enough() // one round will do
		}
	}}
	_, err := l.bed.run(ctx1, "lab-self.yaml", l.first, map[string]string{
		"trials.turns": turns,
		"trials.time":  pilot.String(), "trials.rounds": "3",
	}, o)
	if err != nil && (ctx.Err() != nil || ctx1.Err() == nil) {
		return 0, err
	}
	if len(seconds) < 5 {
		return 0, errors.New("the look at the noise brought nothing: give POWER_TIME, AA_TIME and TURNS")
	}
	return math.Max(stat.MAD(seconds), 1e-6), nil
}

// differences returns the log-ratios of the seconds of two trials that took turns.
func differences(ts []trial.Trial) (out []float64) {
	a, b := ts[0].Seconds, ts[1].Seconds
	for i := range min(len(a), len(b)) {
		if x, y := float64(a[i].Ops)/a[i].Length, float64(b[i].Ops)/b[i].Length; x > 0 && y > 0 {
			out = append(out, math.Log(x/y))
		}
	}
	return out
}

// about tells of the trials of a result: how many count, and what they had to do without.
func about(r trial.Result) string {
	bad, steal, cut, used := 0, 0.0, 0.0, map[string][]float64{}
	var setups []float64
	for _, t := range r.Trials {
		if t.Invalid != "" {
			bad++
			continue
		}
		setups = append(setups, t.Setup)
		steal = max(steal, t.Values["steal_share"])
		if t.Woven != nil {
			cut = max(cut, t.Woven.Cut)
		}
		if v, ok := t.Values["server_cpu_cores"]; ok && !t.Control {
			used[t.Variant] = append(used[t.Variant], v)
		}
	}
	var parts []string
	var cores []string
	for _, v := range r.Variants {
		cores = append(cores, fmt.Sprintf("%.4f", stat.Median(used[v.Key])))
	}
	parts = append(parts, "CPUs used "+strings.Join(cores, " and "),
		fmt.Sprintf("steal ≤%.0f %%, %.2f s between rounds", 100*steal, stat.Median(setups)))
	if cut > 0.05 {
		parts = append(parts, fmt.Sprintf("%.0f %% cut", 100*cut))
	}
	if bad > 0 {
		parts = append(parts, fmt.Sprintf("%d invalid trials", bad))
	}
	return strings.Join(parts, ", ")
}

// power tells how often a true difference of 3 % is called right within ten rounds.
func (l *benchLab) power(ctx context.Context, n int, each time.Duration) (err error) {
	if n == 0 {
		return nil
	}
	l.say("power: %d repetitions of 97 %% of a quota against 100 %%, at most 10 rounds of trials of %v, in turns of "+
		"%s, on %d CPUs", n, each, l.turns, runtime.NumCPU())
	count, done, same := map[stat.Result]int{}, 0, 0
	for i := range n {
		begin := time.Now()
		r, e := l.bed.run(ctx, "lab-quota.yaml", l.first+i, l.set(each), l.watch(fmt.Sprintf("power %d of %d", i+1, n)))
		if ctx.Err() != nil || e != nil {
			err = e
			break
		}
		done++
		v := r.Cells[1].Verdict
		count[v.Result]++
		if r.Control.Result == stat.Same {
			same++
		}
		l.say("power %2d of %d: %-8s %s, %2d rounds; control %-8s %s; %s; %v; right so far %d of %d", done, n, v.Result,
			interval(v.Ratio), v.Ratio.N,
			r.Control.Result, interval(r.Control.Ratio), about(r), time.Since(begin).Round(time.Second),
			count[stat.Worse], done)
		if v.Result != stat.Worse && len(v.Reasons) > 0 {
			l.say("         %s", strings.Join(v.Reasons, "; "))
		}
	}
	l.say("power: a loss of 3 %% is called worse in %d of %d repetitions of at most 10 pairs of %v trials (unstable "+
		"%d, same %d, better %d, invalid %d); their controls say same in %d. Goal: worse in 9 of 10 with trials of "+
		"at most %v",
		count[stat.Worse], done, each, count[stat.Unstable], count[stat.Same], count[stat.Better],
		count[stat.Invalid], same, mostTime)
	return err
}

// self tells how often a server is the same as itself.
func (l *benchLab) self(ctx context.Context, n int, each time.Duration) (err error) {
	if n == 0 || ctx.Err() != nil {
		return nil //nolint:nilerr // whoever stopped it knows
	}
	l.say("A/A: %d comparisons of a server with itself, at most 10 rounds of trials of %v, in turns of %s", n, each,
		l.turns)
	count, done := map[stat.Result]int{}, 0
	for i := range n {
		begin := time.Now()
		r, e := l.bed.run(ctx, "lab-self.yaml", l.first+i, l.set(each), l.watch(fmt.Sprintf("A/A %d of %d", i+1, n)))
		if ctx.Err() != nil || e != nil {
			err = e
			break
		}
		done++
		v := r.Control
		count[v.Result]++
		l.say("A/A %2d of %d: %-8s %s, %2d rounds; %s; %v; same so far %d of %d", done, n, v.Result, interval(v.Ratio),
			v.Ratio.N, about(r), time.Since(begin).Round(time.Second),
			count[stat.Same], done)
	}
	l.say("A/A: a server is the same as itself in %d of %d comparisons of at most 10 pairs of %v trials (unstable "+
		"%d, better %d, worse %d, invalid %d). Goal: same in 38 of 40",
		count[stat.Same], done, each, count[stat.Unstable], count[stat.Better], count[stat.Worse], count[stat.Invalid])
	return err
}

// restore tells what the lab itself takes between two trials that begin with the same data: from the end of the one
// until the other's load runs.
func (l *benchLab) restore(ctx context.Context, n int) error {
	for i := range n {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // whoever stopped it knows
		}
		l.say("restored data: trials of 5s with 1 GB put back before each")
		r, err := l.bed.run(ctx, "lab-restore.yaml", l.first+i, nil, l.watch("restored data"))
		if err != nil {
			return err
		}
		var between []float64
		size := 0.0
		for k, t := range r.Trials {
			if t.Invalid != "" {
				return fmt.Errorf("trial %d: %s", t.Seq, t.Invalid)
			}
			size = max(size, t.Values["data_bytes"])
			if k > 0 {
				between = append(between, t.From.Sub(r.Trials[k-1].To).Seconds()-t.Warm)
			}
		}
		if len(between) == 0 {
			return errors.New("restored data: there are no two trials")
		}
		l.say("restored data: %.2f GB take %.2f s between trials (%.2f to %.2f, n %d). Goal: at most 3 s",
			size/1e9, stat.Median(between),
			slices.Min(between), slices.Max(between), len(between))
	}
	return nil
}
