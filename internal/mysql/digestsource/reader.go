package digestsource

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// Options change how classes are read. The zero value is the usual way.
type Options struct {
	// Interval is the time between two looks at the processlist; 0 is 100 ms, less than 10 ms is refused.
	Interval time.Duration
	// Timeout bounds one question to the server; 0 is 5 s. A look at the processlist has at most one second.
	Timeout time.Duration
	// NoExamples leaves out statements with their literals.
	NoExamples bool
	// NoSlowLog leaves the slow log alone.
	NoSlowLog bool
	// Detail also reads what only a Report shows: more columns, the distribution of times, and what was killed.
	Detail bool
	// Distributions is how long the stretches are of which Distributions tells how times were distributed; 0: none.
	// They end with windows that Turn ends.
	Distributions time.Duration
}

// Reader reads the classes of one target. Begin, End and Close are called from one goroutine at a time; Run runs
// beside.
type Reader struct {
	t       *target.Target
	o       Options
	ask     *asker
	digests *digests
	times   *times
	dist    distributions
	killed  *killed
	samples *samples
	log     *slowLog
	// logVars are the settings that log was found by; nil before they were read
	logVars map[string]string
	sent    map[string]uint64 // of target.Sent, when the window began

	begun time.Time
	state states
	mu    chan struct{} // held by Run while it looks, so that End sees whole looks only
	done  func()        // ends what mu was taken for

	spelled spellings

	// Of the window that was closed last, for Turn.
	after picture
	reset bool
	lost  time.Duration
}

// Open finds out what the target offers. It fails only when the server cannot be asked at all: what is missing or
// denied is reported by End.
func Open(ctx context.Context, t *target.Target, o Options) (*Reader, error) {
	if o.Interval == 0 {
		o.Interval = 100 * time.Millisecond
	}
	if o.Interval < 10*time.Millisecond {
		return nil, fmt.Errorf("read query classes every %v: the shortest interval is 10ms", o.Interval)
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	a := &asker{Asker: t.Asker(target.SessionOptions{Limit: 2 * o.Timeout}, nil)}
	r := &Reader{
		t: t, o: o, ask: a, times: &times{ask: a}, killed: &killed{ask: a},
		digests: &digests{ask: a, detail: o.Detail}, samples: newSamples(a, t.Spec().Redact),
		state: states{},
		mu:    make(chan struct{}, 1), dist: distributions{every: o.Distributions},
	}
	for _, n := range Sources() {
		r.state[n] = &source.Source{Name: n, State: source.OK}
	}
	if err := r.prepare(ctx); err != nil {
		a.close()
		return nil, err
	}
	return r, nil
}

func (r *Reader) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 4*r.o.Timeout)
	defer cancel()
	if a := r.t.Answer(target.HasStatementDigests); !a.Has {
		r.lacks(source.Digests, a)
	} else if err := r.digests.prepare(ctx, r.t.Facts()); err != nil {
		if fatal(err) {
			return r.t.Wrap("read statement digests of", err)
		}
		r.state.fail(source.Digests, err)
	} else if r.o.Detail || r.o.Distributions > 0 {
		r.times.prepare(ctx)
	}
	if reason, ok := sees(r.t); !ok {
		r.state.set(source.Samples, source.Denied, reason, grant(r.t, "PROCESS ON *.*"))
	} else if err := r.samples.prepare(ctx, r.t.Has(target.HasPerformanceSchema)); err != nil {
		if fatal(err) {
			return r.t.Wrap("read the processlist of", err)
		}
		r.state.fail(source.Samples, err)
	}
	return r.findLog(ctx)
}

func fatal(err error) bool {
	_, answered := target.ServerErrorNumber(err)
	return !answered
}

// findLog looks for a slow log that can be read here.
func (r *Reader) findLog(ctx context.Context) error {
	if r.o.NoSlowLog {
		r.state.set(source.SlowLog, source.Missing, "not requested", "")
		return nil
	}
	v, err := r.logSettings(ctx)
	switch {
	case err != nil && fatal(err):
		return r.t.Wrap("read the settings of the slow log of", err)
	case err != nil:
		r.state.fail(source.SlowLog, err)
	default:
		r.useLog(ctx, v)
	}
	return nil
}

// logSettings reads what says where the slow log is and what it holds.
func (r *Reader) logSettings(ctx context.Context) (v map[string]string, err error) {
	v = map[string]string{}
	err = r.ask.query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN "+
		"('slow_query_log','slow_query_log_file','log_output','long_query_time','min_examined_row_limit',"+
		"'log_slow_rate_limit','datadir')", func(row []driver.Value) {
		v[strings.ToLower(text(row[0]))] = text(row[1])
	})
	return v, err
}

// logChanged reports whether the settings of the slow log are others than when it was found. It is then looked for
// again, and what was written before is not read.
func (r *Reader) logChanged(ctx context.Context) bool {
	if r.o.NoSlowLog {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	v, err := r.logSettings(ctx)
	if err != nil || maps.Equal(v, r.logVars) { // what cannot be read now is the next time
		return false
	}
	if r.log != nil {
		r.log.close()
		r.log = nil
	}
	r.state.set(source.SlowLog, source.OK, "", "")
	r.useLog(ctx, v)
	return true
}

// useLog opens the slow log that the settings name.
func (r *Reader) useLog(ctx context.Context, v map[string]string) {
	r.logVars = v
	missing := func(reason, fix string) { r.state.set(source.SlowLog, source.Missing, reason, fix) }
	switch {
	case v["slow_query_log"] != "ON" && v["slow_query_log"] != "1":
		missing("slow_query_log is off", "SET GLOBAL slow_query_log=ON")
		return
	case !strings.Contains(strings.ToUpper(v["log_output"]), "FILE"):
		missing("the slow log is not written to a file: log_output="+state.Clip(v["log_output"], 100),
			"SET GLOBAL log_output='FILE'")
		return
	}
	path := v["slow_query_log_file"]
	if !filepath.IsAbs(path) {
		path = filepath.Join(v["datadir"], path)
	}
	limit, _ := strconv.ParseFloat(v["long_query_time"], 64)
	open := func() (*os.File, error) {
		// a server that was started again is looked for
		octx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.Timeout)
		defer cancel()
		return r.t.OpenFile(octx, path)
	}
	l := &slowLog{path: path, open: open, whole: limit == 0 && (v["min_examined_row_limit"] == "0" ||
		v["min_examined_row_limit"] == "") && (v["log_slow_rate_limit"] == "" || v["log_slow_rate_limit"] == "1")}
	switch err := l.mark(); {
	case errors.Is(err, target.ErrElsewhere):
		missing("the slow log is a file on another machine", "run dyno on the server's machine to read it")
	case err != nil:
		r.logFailed(path, err)
	default:
		l.readTo, l.readID = l.offset, l.id
		r.log = l
	}
}

func (r *Reader) logFailed(path string, err error) {
	if errors.Is(err, os.ErrPermission) {
		r.state.set(source.SlowLog, source.Denied, "the slow log "+path+" may not be read by this user",
			"run dyno as root or as the server's user, or let its group read the file")
		return
	}
	r.state.set(source.SlowLog, source.Failed, err.Error(), "")
}

func (r *Reader) lacks(name source.Name, a target.Answer) {
	if a.Denied {
		r.state.set(name, source.Denied, a.Reason, grant(r.t, "SELECT ON `performance_schema`.*"))
		return
	}
	r.state.set(name, source.Missing, a.Reason, a.Fix)
}

// grant words the statement that gives the account in use a privilege.
func grant(t *target.Target, privilege string) string {
	f := t.Facts()
	to := f.User
	if g, err := target.Grants(f.Flavor, "watch", f.User, nil); err == nil && len(g) > 0 {
		if i := strings.LastIndex(g[0], " TO "); i >= 0 {
			to = g[0][i+4:]
		}
	}
	return "GRANT " + privilege + " TO " + to
}

// Begin starts the window. The reader may be used for one window after the other.
func (r *Reader) Begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*r.o.Timeout)
	defer cancel()
	for _, s := range r.state {
		s.Reads, s.Took = 0, 0
		if s.State == source.OK {
			s.Reason, s.Fix = "", ""
		}
	}
	r.digests.before, r.sent = picture{}, r.t.Sent()
	if r.state.usable(source.Digests) {
		began := time.Now()
		at := r.digests.now(ctx)
		p, err := r.digests.look(ctx, at, false, "")
		if err != nil {
			r.state.fail(source.Digests, err)
		} else {
			r.digests.before = p
			r.state.ok(source.Digests, time.Since(began))
			if r.o.Detail {
				r.times.begin(ctx, p)
				r.killed.begin(ctx)
			}
		}
	}
	if r.log != nil && r.state.usable(source.SlowLog) {
		if err := r.log.mark(); err != nil {
			r.logFailed(r.log.path, err)
		} else {
			r.state.set(source.SlowLog, source.OK, "", "")
		}
	}
	r.dist.begin(ctx, r, r.digests.before)
	r.begun = time.Now()
	r.lock()
	r.samples.begin(r.begun)
	r.unlock()
	return ctx.Err()
}

func (r *Reader) lock() {
	r.mu <- struct{}{}
	r.done = r.ask.work()
}

func (r *Reader) unlock() {
	r.done()
	<-r.mu
}

// Run looks at the processlist each interval until ctx ends, which is no error. A server that goes away is looked for
// again. What it sees counts between Begin and End. It runs in a goroutine of the caller's.
func (r *Reader) Run(ctx context.Context) error {
	r.lock() // a window may be turned meanwhile
	idle := !r.state.usable(source.Samples) || r.samples.full == ""
	r.unlock()
	if idle {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(r.o.Interval)
	defer tick.Stop()
	fails := 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if fails > 3 && fails%10 != 0 { // once a second is enough for a server that is away
			fails++
			continue
		}
		switch looked, err := r.look(ctx); {
		case err != nil && ctx.Err() == nil:
			fails++
		case looked && err == nil:
			fails = 0
		}
	}
}

// look looks at the processlist once, if a window has begun: a slow server takes its time with that.
func (r *Reader) look(ctx context.Context) (looked bool, err error) {
	r.lock()
	defer r.unlock()
	if r.samples.running == nil {
		return false, nil
	}
	lctx, cancel := context.WithTimeout(ctx, min(time.Second, r.o.Timeout))
	defer cancel()
	if err = r.samples.look(lctx); err != nil && ctx.Err() == nil {
		r.samples.err = err
		r.samples.last = time.Now() // nobody looked: what is seen next did not run for sure since the look before
	}
	return true, err
}

// windowed is what the sources say about one window.
type windowed struct {
	from, to  time.Time
	counted   gathered
	digestsOK bool
	log       *grouping     // nil when there is none that can be read
	logged    []class.Class // the classes of log
	seen      []*sampled
}

// end closes the window.
func (r *Reader) end(ctx context.Context) (windowed, error) {
	if r.begun.IsZero() {
		return windowed{}, errors.New("end window of query classes: it was not started")
	}
	// a last look, for what is running now; a short window has no other
	if r.state.usable(source.Samples) && r.samples.full != "" {
		lctx, stop := context.WithTimeout(ctx, min(time.Second, r.o.Timeout))
		if err := r.samples.look(lctx); err != nil {
			r.samples.err = err
		}
		stop()
	}
	w := windowed{from: r.begun, to: time.Now()}
	r.begun = time.Time{}
	w.seen = r.endSamples()
	w.log, w.logged = r.endLog()
	w.counted, w.digestsOK = r.endDigests(ctx)
	r.spelled.learn(w.counted.rows, w.logged, w.seen)
	r.spelled.spell(w.counted.rows)
	if w.digestsOK {
		w.from, w.to = w.counted.from.here, w.counted.to.here
	}
	return w, nil
}

// End closes the window and returns its classes, most time first, and how each source fared.
func (r *Reader) End(ctx context.Context) ([]class.Class, []source.Source, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*r.o.Timeout)
	defer cancel()
	r.lock()
	defer r.unlock()
	return r.close(ctx)
}

// Turn closes the window as End does and begins the next one at the same moment, so that no statement falls between two
// windows and the digests are read once for both. After an error there is no window: Begin starts one. It is not for
// readers with Detail.
func (r *Reader) Turn(ctx context.Context) ([]class.Class, []source.Source, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*r.o.Timeout)
	defer cancel()
	r.lock()
	defer r.unlock()
	r.after = picture{}
	classes, sources, err := r.close(ctx)
	if err != nil {
		return classes, sources, err
	}
	now := time.Now()
	for _, s := range r.state {
		s.Reads, s.Took = 0, 0
		if s.State == source.OK {
			s.Reason, s.Fix = "", ""
		}
	}
	switch {
	case !r.state.usable(source.Digests):
	// What the table was emptied of must not stand as if it were there; nor are more kept than a server can have.
	case r.after.rows == nil || r.reset || !r.digests.before.grow(r.after):
		at := r.digests.now(ctx)
		p, err := r.digests.look(ctx, at, false, "")
		if err != nil {
			r.state.fail(source.Digests, err)
			p = picture{}
		}
		r.digests.before = p
	}
	r.after = picture{}
	if r.log != nil && r.state.usable(source.SlowLog) {
		if err := r.log.next(); err != nil {
			r.logFailed(r.log.path, err)
		}
	}
	r.samples.begin(now)
	r.begun = now
	return classes, sources, nil
}

// Lost returns how much of the window that was closed last is missing from its beginning: what the server had counted
// when it restarted, or when its table of digests was emptied, is gone. It is for whoever closed the window.
func (r *Reader) Lost() time.Duration { return r.lost }

// close is End without its lock.
func (r *Reader) close(ctx context.Context) ([]class.Class, []source.Source, error) {
	w, err := r.end(ctx)
	if err != nil {
		return nil, nil, err
	}
	var classes []class.Class
	switch {
	case w.digestsOK:
		classes = r.digests.classes(w.counted.rows)
		classes = append(classes, beside(classes, w.counted.missed, w.seen)...)
		r.noteRunning(source.Digests)
	case w.log != nil && r.log.whole:
		classes = w.logged
		classes = append(classes, beside(w.logged, 0, w.seen)...)
		r.noteRunning(source.SlowLog)
	default:
		for _, s := range w.seen {
			classes = append(classes, s.Class)
		}
	}
	r.dist.add(ctx, r, w)
	adorn(classes, w.seen, w.logged)
	if r.o.NoExamples {
		for i := range classes {
			classes[i].Example = ""
		}
	}
	slices.SortFunc(classes, byTime)
	return classes, sourcesOf(r.state), nil
}

// Sources names what classes come from.
func Sources() []source.Name { return []source.Name{source.Digests, source.SlowLog, source.Samples} }

// sourcesOf tells how each source fared in the window.
func sourcesOf(state map[source.Name]*source.Source) (list []source.Source) {
	for _, n := range Sources() {
		x := *state[n]
		if x.Reads > 0 {
			x.Took /= float64(x.Reads)
		}
		list = append(list, x)
	}
	return list
}

func (r *Reader) endSamples() []*sampled {
	s := r.samples
	x := r.state[source.Samples]
	if !r.state.usable(source.Samples) {
		return nil
	}
	switch {
	case s.looks > 0:
		r.state.set(source.Samples, source.OK, "", "")
		x.Reads, x.Took = s.looks, float64(s.took)/1e6
		if s.dropped > 0 {
			x.Reason = fmt.Sprintf("%d statements beyond %d classes, beyond %d that run at a time, or beyond %d MiB "+
				"of texts, were left out", s.dropped, maxClasses, mostRunning, mostTexts>>20)
		}
	case s.err != nil:
		r.state.fail(source.Samples, s.err)
	default:
		r.state.set(source.Samples, source.Failed, "the window was too short for a sample", "")
	}
	return s.end()
}

func (r *Reader) endLog() (log *grouping, classes []class.Class) {
	if r.log == nil || r.state[source.SlowLog].State != source.OK {
		return nil, nil
	}
	began := time.Now()
	log, note, err := r.log.since(ownLog{r.t.Owns, r.t.Sent(), r.t.Spec().Redact})
	if err != nil {
		r.logFailed(r.log.path, err)
		return nil, nil
	}
	classes, more, unnamed := log.list()
	if unnamed > 0 {
		note = both(note, fmt.Sprintf("%d statements of still more classes are in none", unnamed))
	}
	if more > 0 {
		note = both(note, fmt.Sprintf("%d classes beyond %d were left out", more, maxClasses))
	}
	r.state.ok(source.SlowLog, time.Since(began))
	r.state[source.SlowLog].Reason = note
	return log, classes
}

func (r *Reader) endDigests(ctx context.Context) (gathered, bool) {
	r.lost = 0
	if r.digests.before.rows == nil {
		return gathered{}, false
	}
	began := time.Now()
	at := r.digests.now(ctx)
	after, err := r.digests.look(ctx, at, true, since(r.digests.before.at, at))
	if err != nil {
		r.state.fail(source.Digests, err)
		return gathered{}, false
	}
	now := r.t.Sent()
	own := newOwn(r.sent, now, 1+r.t.Companions(), r.samples.own)
	g := r.digests.between(r.digests.before, after, own)
	g.kills = own.times("KILL 1")
	r.sent = now
	r.after, r.reset, r.lost = after, g.reset, g.lost
	r.state.ok(source.Digests, time.Since(began))
	r.state[source.Digests].Reason, r.state[source.Digests].Fix = strings.Join(g.notes, "; "), g.fix
	return g, true
}

// beside returns the sampled classes that an exact source cannot have: statements that never completed within the
// window, and prepared ones where the digests leave them out.
func beside(exact []class.Class, missed uint64, seen []*sampled) (out []class.Class) {
	have := map[string]bool{}
	for _, c := range exact {
		have[class.Key(c.Fingerprint)] = true
	}
	for _, s := range seen {
		if c, ok := s.missing(have[class.Key(s.Fingerprint)], missed); ok {
			out = append(out, c)
		}
	}
	return out
}

// missing returns the part of a sampled class that an exact source, which may have the class, does not count.
func (s *sampled) missing(have bool, missed uint64) (class.Class, bool) {
	c := s.Class
	switch {
	case missed > 0 && s.executions > 0:
		if s.executeSec < c.TimeSec { // some of it came as text and is counted already
			c.TimeSec, c.Count = s.executeSec, s.executions
		}
		return c, true
	case !have && s.runningLast:
		return c, true
	}
	return c, false
}

// noteRunning says how much an exact source does not hold because it was still running.
func (r *Reader) noteRunning(name source.Name) {
	n := 0
	for _, e := range r.samples.running {
		if e.c != nil && e.age >= 1 {
			n++
		}
	}
	if n == 0 {
		return
	}
	x := r.state[name]
	note := fmt.Sprintf("%d statements had run for a second or more when the window ended: they count when they "+
		"complete", n)
	x.Reason = strings.TrimPrefix(x.Reason+"; "+note, "; ")
}

// adorn adds what only the other sources know: examples, users and hosts.
func adorn(classes []class.Class, seen []*sampled, logged []class.Class) {
	type extra struct {
		example      string
		users, hosts []string
	}
	exact, loose := map[[2]string]extra{}, map[string]extra{}
	with := func(e extra, c class.Class) extra {
		if e.example == "" {
			e.example = c.Example
		}
		for _, u := range c.Users {
			e.users = include(slices.Clone(e.users), u)
		}
		for _, h := range c.Hosts {
			e.hosts = include(slices.Clone(e.hosts), h)
		}
		return e
	}
	put := func(c class.Class) {
		k := [2]string{c.Schema, class.Key(c.Fingerprint)}
		exact[k] = with(exact[k], c)
		loose[k[1]] = with(loose[k[1]], c)
	}
	for _, c := range logged {
		put(c)
	}
	for _, s := range seen {
		put(s.Class)
	}
	for i := range classes {
		c := &classes[i]
		e, ok := exact[[2]string{c.Schema, class.Key(c.Fingerprint)}]
		if !ok && c.Schema == "" { // an example of another schema would be of other tables
			e = loose[class.Key(c.Fingerprint)]
		}
		if c.Example == "" {
			c.Example = e.example
		}
		if len(c.Users) == 0 {
			c.Users = e.users
		}
		if len(c.Hosts) == 0 {
			c.Hosts = e.hosts
		}
	}
}

// Close ends the reader's connection.
func (r *Reader) Close() error {
	if r.log != nil {
		r.log.close()
	}
	r.ask.close()
	return nil
}

func itoa(n int) string { return strconv.Itoa(n) }
