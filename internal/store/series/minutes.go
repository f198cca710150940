package series

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/compression"

	"github.com/dyno-perf/dyno/internal/metric"
)

// The level of minutes is a second database, in the directory minutes, for long ranges. Of each series and minute (that
// begins behind a full minute and ends with the next one, both in Unix time) it keeps real samples at their real times:
//
//   - of a counter the first and the last, and the two around each fall;
//   - of a gauge the first, the last, the least and the greatest, and apart from them the mean (label __agg__);
//   - stale markers.
//
// When the windows of a query begin and end at full minutes, these give exactly what all samples would give for an
// instant selector, for min_, max_, first_, last_ and present_over_time, absent_over_time, resets, timestamp, and for
// rate, increase and delta of series that reach from one end of the window to the other. Where a series begins, ends or
// has a gap near an end of the window, the last three extrapolate by up to half a minute more than from all samples,
// for they take the mean distance of samples as measure. Everything else (avg_, sum_, count_, quantile_,
// stddev_over_time, changes, deriv, irate …) is answered from the seconds while they are kept; from minutes alone
// avg_over_time is the mean of the means of minutes, and what counts samples counts the kept ones.
//
// Marks are kept as the first and the last of each minute, and samples between are left out as AppendRound does it,
// within ten minutes (unit): no series is repeated from one unit into the next but those that have a sample there.
const (
	minutesDir = "minutes"
	aggLabel   = "__agg__"
	aggMean    = "mean"
	minuteMS   = int64(60_000)
	unitMS     = 10 * minuteMS
	// minutesReach is how far back the sample lies at most that a reader repeats, with the mark before it.
	minutesReach = unitMS + minuteMS
	// settled is how old samples must be before their minutes are made, against the newest of all.
	settled = int64(60_000)
	// madeLabel marks the series that tells up to where the minutes are made.
	madeLabel = "made"
	// longSpan is from which length on a query is answered from minutes when that is exact.
	longSpan = 6 * time.Hour
)

func minutesOptions() *tsdb.Options {
	o := tsdb.DefaultOptions()
	o.RetentionDuration = 0 // see expiry
	o.MaxBytes = 0          // see expiry
	o.MinBlockDuration = (2 * time.Hour).Milliseconds()
	o.MaxBlockDuration = 81 * o.MinBlockDuration
	o.StripeSize = 512
	o.HeadChunksWriteBufferSize = 64 << 10
	o.HeadChunksWriteQueueSize = 0
	o.WALSegmentSize = 16 << 20
	o.WALCompression = compression.Snappy
	o.NoLockfile = true
	return o
}

// tend makes minutes, and takes back what was moved aside, until ctx ends.
func tend(ctx context.Context, s *Store) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		if err := condense(ctx, s); err != nil && ctx.Err() == nil {
			s.log.note("make minutes: " + err.Error())
		}
		if err := bringBack(s); err != nil && ctx.Err() == nil {
			s.log.note("restore what was moved aside: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// condense makes the minutes of all units that are complete.
func condense(ctx context.Context, s *Store) error {
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = condenseUnit(ctx, s); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// condenseUnit makes the minutes of the next unit; more when there may be another one.
func condenseUnit(ctx context.Context, s *Store) (more bool, err error) {
	db, minutes, release, err := s.hold()
	if err != nil {
		return false, err
	}
	defer release()
	made, err := progress(ctx, minutes)
	if err != nil {
		return false, err
	}
	next, ok := firstAfter(db, made)
	if !ok {
		return false, nil
	}
	if made == math.MinInt64 || next > made+unitMS { // a gap
		made = floor(next-1, unitMS)
	}
	if made+unitMS > newest(db)-settled {
		return false, nil
	}
	if err := s.options.Reserve.Check(s.dir, 0); err != nil {
		return false, err
	}
	if err := makeUnit(ctx, db, minutes, made, made+unitMS); err != nil {
		if ctx.Err() == nil {
			release()
			s.mu.Lock()
			s.room.broken = true // its log may end with half a record
			s.mu.Unlock()
		}
		return false, err
	}
	return true, nil
}

func floor(t, d int64) int64 { return t - ((t%d)+d)%d }

// newest returns the time of the newest sample of a database.
func newest(db *tsdb.DB) int64 {
	t := db.Head().MaxTime()
	for _, b := range db.Blocks() {
		t = max(t, b.Meta().MaxTime-1)
	}
	return t
}

// firstAfter returns a time behind t before which, but behind t, there are no samples; not ok when there are none at
// all.
func firstAfter(db *tsdb.DB, t int64) (first int64, ok bool) {
	first = math.MaxInt64
	see := func(lo, hi int64) {
		if hi > t {
			first, ok = min(first, max(lo, t+1)), true
		}
	}
	for _, b := range db.Blocks() {
		see(b.Meta().MinTime, b.Meta().MaxTime-1)
	}
	if h := db.Head(); h.NumSeries() > 0 && h.MaxTime() >= h.MinTime() {
		see(h.MinTime(), h.MaxTime())
	}
	return first, ok
}

// oldest returns the time of the oldest sample of a database, not before it.
func oldest(db *tsdb.DB) (int64, bool) { return firstAfter(db, math.MinInt64) }

// progress returns up to where the minutes are made, math.MinInt64 when there are none.
func progress(ctx context.Context, minutes *tsdb.DB) (int64, error) {
	made, hi := int64(math.MinInt64), newest(minutes)
	if hi <= 0 {
		return made, nil
	}
	q, err := minutes.Querier(hi-24*3_600_000, math.MaxInt64)
	if err != nil {
		return 0, err
	}
	set := q.Select(ctx, false, nil, labels.MustNewMatcher(labels.MatchEqual, nameLabel, markName),
		labels.MustNewMatcher(labels.MatchEqual, madeLabel, minutesDir))
	for set.Next() {
		it := set.At().Iterator(nil)
		for it.Next() != chunkenc.ValNone {
			made = max(made, it.AtT())
		}
		if it.Err() != nil {
			return 0, errors.Join(it.Err(), q.Close())
		}
	}
	if err := errors.Join(set.Err(), q.Close()); err != nil {
		return 0, err
	}
	if made == math.MinInt64 { // a crash in the very first unit, or nothing but it
		return floor(hi-1, unitMS) - unitMS, nil
	}
	return made, nil
}

// makeUnit makes the minutes behind from up to to. Done again it writes the same again, which the database ignores.
func makeUnit(ctx context.Context, db, minutes *tsdb.DB, from, to int64) error {
	lo, hi := from+1, to
	l, err := openLevel(db, lo, hi, heartbeatMS)
	if err != nil {
		return err
	}
	w := &unitWriter{db: minutes}
	w.app = minutes.Appender(ctx)
	_, err = l.each(ctx, nil, []*labels.Matcher{every()}, func(x storage.Series, ls labels.Labels, marks runs) error {
		if ls.Get(nameLabel) == markName {
			return w.marks(ls, x, lo)
		}
		it := &iterator[int64]{expander{in: x.Iterator(nil), marks: marks, lo: lo, hi: hi, reach: heartbeatMS}}
		return w.series(ls, it, marks)
	})
	if err == nil {
		err = ctx.Err()
	}
	if err = errors.Join(err, l.in.Close()); err != nil {
		return errors.Join(err, w.app.Rollback())
	}
	if err := w.add(labels.FromStrings(nameLabel, markName, madeLabel, minutesDir), to, 1); err != nil {
		return errors.Join(err, w.app.Rollback())
	}
	if err := w.app.Commit(); err != nil {
		return fmt.Errorf("make minutes: %w", err)
	}
	return nil
}

// unitWriter writes one unit.
type unitWriter struct {
	db   *tsdb.DB
	app  storage.Appender
	n    int
	kept []metric.Point // reused
}

func (w *unitWriter) add(ls labels.Labels, t int64, v float64) error {
	_, err := w.app.Append(0, ls, t, v)
	switch {
	case errors.Is(err, storage.ErrOutOfOrderSample), errors.Is(err, storage.ErrDuplicateSampleForTimestamp),
		errors.Is(err, storage.ErrOutOfBounds), errors.Is(err, storage.ErrTooOldSample):
		return nil // written before a crash
	case err != nil:
		return err
	}
	w.n++
	return nil
}

// flush keeps what is held in memory small; the unit counts as made with its last part.
func (w *unitWriter) flush() error {
	if w.n < 20_000 {
		return nil
	}
	w.n = 0
	if err := w.app.Commit(); err != nil {
		return err
	}
	w.app = w.db.Appender(context.Background())
	return nil
}

// marks keeps the first and the last mark of each minute, and of each number within it.
func (w *unitWriter) marks(ls labels.Labels, x storage.Series, lo int64) error {
	own := ls.Copy() // the database's strings are parts of mapped files
	var last metric.Point
	put := func(p metric.Point) error { return w.add(own, p.At, p.Value) }
	it := x.Iterator(nil)
	minute, epoch, some, pending := int64(0), 0.0, false, false
	for it.Next() != chunkenc.ValNone {
		t, v := it.At()
		if t < lo {
			continue
		}
		if m := floor(t-1, minuteMS); !some || m != minute || v != epoch {
			if pending {
				if err := put(last); err != nil {
					return err
				}
			}
			if err := put(metric.Point{At: t, Value: v}); err != nil {
				return err
			}
			minute, some, pending, epoch = m, true, false, v
			continue
		}
		last, pending = metric.Point{At: t, Value: v}, true
	}
	if pending {
		if err := put(last); err != nil {
			return err
		}
	}
	return errors.Join(it.Err(), w.flush())
}

// keeper chooses the samples of one minute that are kept.
type keeper struct {
	counter                bool
	n                      int
	first, last, low, high metric.Point
	sum                    float64
	extra                  []metric.Point // around falls, and stale markers
	ended                  bool           // with a stale marker
}

func (k *keeper) add(t int64, v float64) {
	p := metric.Point{At: t, Value: v}
	if value.IsStaleNaN(v) {
		k.extra = append(k.extra, p)
		k.ended = true
		return
	}
	k.ended = false
	if k.n++; k.n == 1 {
		k.first, k.last, k.low, k.high, k.sum = p, p, p, p, v
		return
	}
	if k.counter && v < k.last.Value {
		k.extra = append(k.extra, k.last, p)
	}
	k.last = p
	k.sum += v
	if v < k.low.Value || k.low.Value != k.low.Value {
		k.low = p
	}
	if v > k.high.Value || k.high.Value != k.high.Value {
		k.high = p
	}
}

// take adds what is kept to out, in order of time, and begins the next minute.
func (k *keeper) take(out []metric.Point) []metric.Point {
	n := len(out)
	if k.n > 0 {
		out = append(out, k.first, k.last)
		if !k.counter {
			out = append(out, k.low, k.high)
		}
	}
	out = append(out, k.extra...)
	slices.SortFunc(out[n:], func(a, b metric.Point) int { return int(a.At - b.At) })
	k.n, k.extra = 0, k.extra[:0]
	return slices.CompactFunc(out, func(a, b metric.Point) bool { return a.At == b.At })
}

// series keeps what must be kept of one series.
func (w *unitWriter) series(ls labels.Labels, it chunkenc.Iterator, marks runs) error {
	k := keeper{counter: ls.Get(kindLabel) == metric.Counter.String()}
	own := ls.Copy()
	var agg labels.Labels
	if !k.counter {
		agg = labels.NewBuilder(own).Set(aggLabel, aggMean).Labels()
	}
	thin, mean := thinner{marks: marks}, thinner{marks: ends(marks)}
	minute, some := int64(0), false
	flush := func() error {
		end := minute + minuteMS
		stale := math.Float64frombits(value.StaleNaN)
		m := stale
		if k.n > 0 {
			m = k.sum / float64(k.n)
		}
		if m != m && k.n > 0 {
			m = ordinaryNaN
		}
		w.kept = k.take(w.kept[:0])
		for _, p := range w.kept {
			if thin.needs(p) {
				if err := w.add(own, p.At, p.Value); err != nil {
					return err
				}
			}
		}
		if k.counter {
			return nil
		}
		if mean.needs(metric.Point{At: end, Value: m}) {
			if err := w.add(agg, end, m); err != nil {
				return err
			}
		}
		if k.ended && m == m {
			mean.some = false
			return w.add(agg, end+1, stale)
		}
		return nil
	}
	for it.Next() != chunkenc.ValNone {
		t, v := it.At()
		if m := floor(t-1, minuteMS); !some {
			minute, some = m, true
		} else if m != minute {
			if err := flush(); err != nil {
				return err
			}
			minute = m
		}
		k.add(t, v)
	}
	if err := it.Err(); err != nil {
		return err
	}
	if some {
		if err := flush(); err != nil {
			return err
		}
	}
	return w.flush()
}

// thinner leaves out samples that a reader will repeat from the one before.
type thinner struct {
	marks runs
	some  bool
	bits  uint64
	epoch float64
}

func (x *thinner) needs(p metric.Point) bool {
	bits := math.Float64bits(p.Value)
	i := x.marks.find(p.At)
	if i < 0 || x.marks[i].last < p.At { // nobody repeats it
		x.some = false
		return true
	}
	if x.some && bits == x.bits && x.marks[i].epoch == x.epoch {
		return false
	}
	x.some, x.bits, x.epoch = true, bits, x.marks[i].epoch
	return true
}

// ends returns the ends of the minutes in which there are marks.
func ends(marks runs) (out runs) {
	last, epoch, some := int64(0), 0.0, false
	for _, r := range marks {
		for t, ok := r.from, true; ok; {
			end := floor(t-1, minuteMS) + minuteMS
			if some && end != last {
				out = out.add(last, epoch)
			}
			last, epoch, some = end, r.epoch, true // of two numbers in one minute the later one counts
			t, ok = r.next(end)
		}
	}
	if some {
		out = out.add(last, epoch)
	}
	return out
}
