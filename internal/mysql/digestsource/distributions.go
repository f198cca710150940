package digestsource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sketch"
	"github.com/dyno-perf/dyno/internal/source"
)

// distributions reads how the times of statements are distributed in one stretch of time after the other, each of
// several windows: from a slow log that holds every statement, else from the server's histograms.
type distributions struct {
	every time.Duration // length of a stretch; 0: none is read

	from   time.Time // when the stretch began; zero before the first window
	sent   uint64    // statements of Dyno up to then
	broken string    // why the stretch gives no distribution; "" while it does
	logged map[[2]string]*sketch.Bins
	grown  map[digestKey]*grownDigest
	// statements by the slow log and by the digests, without Dyno's
	inLog, counted uint64

	last class.Distributions // of the stretch that ended with the window closed last
}

// grownDigest is what a digest did within a stretch.
type grownDigest struct {
	id          string
	count, time uint64
	fresh       bool // its row began within the stretch
}

// mostRemembered bounds the histograms that are held for the next stretch, 3.6 kB each.
const mostRemembered = 2 * class.MostDistributions

// tolerated is how far a histogram may stay behind the count of its digest, which is read some milliseconds earlier or
// later: with less it was emptied within the stretch.
const tolerated = 0.9

// begin begins a stretch of which nothing is known yet. p is what the digests counted so far.
func (d *distributions) begin(ctx context.Context, r *Reader, p picture) {
	*d = distributions{every: d.every}
	if d.every <= 0 {
		return
	}
	if !logWhole(r) && p.rows != nil {
		r.times.begin(ctx, p)
	}
	d.next(r)
}

// next begins the stretch that follows.
func (d *distributions) next(r *Reader) {
	d.from, d.sent, d.broken = time.Now(), total(r.t.Sent()), ""
	d.logged, d.grown = map[[2]string]*sketch.Bins{}, map[digestKey]*grownDigest{}
	d.inLog, d.counted = 0, 0
}

func total(sent map[string]uint64) (n uint64) {
	for _, x := range sent {
		n += x
	}
	return n
}

// logWhole reports whether a slow log can be read that holds every statement.
func logWhole(r *Reader) bool {
	return r.log != nil && r.log.whole && r.log.short == "" && r.state.usable(source.SlowLog)
}

// lookAgain asks for the settings of the slow log again when a stretch ends: they may be others by now. A setting that
// is global says nothing of the sessions that were open before, so what was logged is compared with what was counted.
func (d *distributions) lookAgain(ctx context.Context, r *Reader) {
	byLog := logWhole(r)
	changed := r.logChanged(ctx)
	short := ""
	if float64(d.inLog) < tolerated*float64(d.counted)-10 {
		short = fmt.Sprintf("the slow log held %d of the %d statements that the digests counted: sessions that were "+
			"open before long_query_time was set keep their own, and statements of stored programs may be left out",
			d.inLog, d.counted)
	}
	if byLog && changed {
		short = "the settings of the slow log were changed"
	}
	if byLog {
		d.broken = cmp.Or(d.broken, short)
	}
	if r.log != nil && !changed {
		r.log.short = short
	}
}

// add counts what a window said, and ends the stretch when it is over.
func (d *distributions) add(ctx context.Context, r *Reader, w windowed) {
	d.last = class.Distributions{}
	if d.every <= 0 || d.from.IsZero() {
		return
	}
	d.gather(r, w)
	now := time.Now()
	if !now.Truncate(d.every).After(d.from) {
		return
	}
	d.last = class.Distributions{From: d.from, To: now}
	byLog := logWhole(r)
	d.lookAgain(ctx, r)
	switch {
	case byLog:
		d.fromLog()
	case r.times.ok():
		d.last.Own = total(r.t.Sent()) - d.sent
		d.fromHistograms(ctx, r)
	default:
		d.last.Reason = lackOfDistribution(r)
	}
	if d.broken != "" {
		d.last = class.Distributions{From: d.from, To: now, Reason: d.broken}
	}
	if byLog && !logWhole(r) { // the histograms follow
		r.times.begin(ctx, r.after)
	}
	d.next(r)
}

// gather adds up what each class did.
func (d *distributions) gather(r *Reader, w windowed) {
	if w.log != nil {
		d.inLog += w.log.count
	}
	if w.digestsOK {
		for _, x := range w.counted.rows {
			d.counted += x.row.v[cCount]
		}
	}
	switch {
	case logWhole(r):
		if w.log == nil || r.log.partial || w.log.untold {
			d.broken = "part of the slow log could not be read"
			return
		}
		for k, b := range w.log.times {
			if have := d.logged[k]; have != nil {
				have.Merge(b)
			} else if len(d.logged) < maxClasses {
				d.logged[k] = b
			}
		}
	case w.digestsOK:
		if w.counted.reset {
			d.broken = "the server restarted, or its statement digests were emptied (TRUNCATE)"
		}
		for _, x := range w.counted.rows {
			g := d.grown[x.digestKey]
			if g == nil {
				g = &grownDigest{fresh: x.fresh}
				d.grown[x.digestKey] = g
			}
			g.id, g.count, g.time = x.id, g.count+x.row.v[cCount], g.time+x.row.v[cTime]
		}
	case r.times.ok():
		d.broken = "the statement digests could not be read"
	}
}

// fromLog takes the times of all statements that were logged.
func (d *distributions) fromLog() {
	d.last.Origin, d.last.Server = class.SlowLog, new(sketch.Bins)
	type busy struct {
		class.Distribution
		time float64
	}
	list := make([]busy, 0, len(d.logged))
	for k, b := range d.logged {
		d.last.Server.Merge(b)
		x := busy{Distribution: class.Distribution{Schema: k[0], ID: k[1], Times: b}}
		b.Each(func(v float64, n uint64) { x.time += v * float64(n) })
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b busy) int {
		return cmp.Or(cmp.Compare(b.time, a.time), strings.Compare(a.ID, b.ID), strings.Compare(a.Schema, b.Schema))
	})
	for _, x := range list[:min(len(list), class.MostDistributions)] {
		d.last.Classes = append(d.last.Classes, x.Distribution)
	}
}

// emptied is why counters that shrank say nothing of a stretch.
const emptied = "the server's histograms of statement times were emptied (TRUNCATE or restart)"

// fromHistograms takes what the server's histograms grew by. Those of the digests with the most time are read; a
// digest that was not read when the stretch began has none, unless it began within it.
func (d *distributions) fromHistograms(ctx context.Context, r *Reader) {
	h, began := r.times, time.Now()
	d.last.Origin = class.PerformanceSchema
	all := h.global(ctx)
	switch {
	case all == nil || h.all == nil:
		d.last.Reason = "the server's histogram of statement times could not be read"
	default:
		if x, ok := all.less(h.all); ok {
			d.last.Server = x.bins()
		} else {
			d.last.Reason = emptied
		}
	}
	h.all = all
	keys := make([]digestKey, 0, len(d.grown))
	for k := range d.grown {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b digestKey) int {
		return cmp.Or(cmp.Compare(d.grown[b].time, d.grown[a].time), strings.Compare(a.digest, b.digest),
			strings.Compare(a.schema, b.schema))
	})
	h.most = h.bound(len(r.digests.before.rows))
	now := h.read(ctx, keys[:min(len(keys), h.most, class.MostDistributions)])
	merged := map[[2]string]*sketch.Bins{}
	for k, s := range now {
		g, old := d.grown[k], h.before[k]
		x, ok := s, true
		switch {
		case g.fresh:
		case old != nil:
			x, ok = s.less(old)
		default:
			continue // it counts from now on
		}
		if !ok || float64(x.count()) < tolerated*float64(g.count)-10 {
			d.last.Reason = emptied
			continue
		}
		key := [2]string{k.schema, g.id}
		if merged[key] == nil {
			merged[key] = new(sketch.Bins)
		}
		merged[key].Merge(x.bins())
	}
	for k, b := range merged {
		d.last.Classes = append(d.last.Classes, class.Distribution{Schema: k[0], ID: k[1], Times: b})
	}
	// The histogram of a digest that did nothing is what it was.
	for k, s := range h.before {
		if d.broken == "" && d.grown[k] == nil && len(now) < mostRemembered {
			now[k] = s
		}
	}
	h.before = now
	r.state.ok(source.Digests, time.Since(began))
}

// lackOfDistribution says why a server offers no distribution, and what would.
func lackOfDistribution(r *Reader) string {
	why := "this server has no histograms of statement times; MySQL has them since 8.0, MariaDB does not"
	if f := r.t.Facts(); !f.Flavor.IsMariaDB() && f.Version.AtLeast(8, 0, 0) {
		why = "the server's histograms of statement times are not readable"
		if a := r.t.Answer(target.HasStatementDigests); !a.Has {
			why += ": " + a.Reason
		}
	}
	if logWhole(r) {
		return "until now the slow log did not hold every statement"
	}
	if r.log != nil && !r.log.whole {
		return why + ", and its slow log holds only part of the statements. Fix: SET GLOBAL long_query_time=0 with " +
			"no rate limit, where the disk has room for every statement"
	}
	if r.log != nil && r.log.short != "" {
		return why + ", and " + r.log.short
	}
	if s := r.state[source.SlowLog]; s.State != source.OK && s.Reason != "" {
		return fmt.Sprintf("%s. A slow log of all statements (long_query_time=0) would give one; now: %s", why,
			s.Reason)
	}
	return why
}

// Distributions returns how times were distributed in the minute that ended with the window closed last; nothing is
// read of it while the minute goes on. It is for whoever closed the window.
func (r *Reader) Distributions() class.Distributions { return r.dist.last }

// less returns what s counted since old; it reports false when that is negative somewhere, so that counting began
// anew. Neither is changed.
func (s *steps) less(old *steps) (*steps, bool) {
	x := &steps{limits: s.limits, n: slices.Clone(s.n)}
	return x, x.take(old)
}

// bins returns the statements by time, nanoseconds, each at the middle of its step.
func (s *steps) bins() *sketch.Bins {
	b := new(sketch.Bins)
	for i, n := range s.n {
		b.Add(max(s.mid(i)*1e9, 1), n)
	}
	return b
}
