package remotewrite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/prompb"

	"github.com/dyno-perf/dyno/internal/metric"
)

const (
	// lookBack is how late a sample may reach the store and still be sent.
	lookBack = 2 * time.Minute
	// lookEvery is the time between two searches for such samples.
	lookEvery = 15 * time.Second
	// holds bounds the samples in memory.
	holds = 100_000
	// speed is how many times faster than they came samples may be sent whatever the rate is.
	speed = 20
	// goodbye is how long the request that is under way may take when Run is to end.
	goodbye = 5 * time.Second
	// trouble is how many parts of one batch may be refused before the rest is given up when it is refused as well.
	trouble = 32

	waitLeast, waitMost = 500 * time.Millisecond, 30 * time.Second
)

// Writer sends the samples of one store to one receiver.
type Writer struct {
	o   Options
	to  string
	src Source
	c   *client

	cur    cursor
	doubt  bool             // a request may have been under way when the writer before this one ended
	replay int64            // what was acknowledged when the receiver went away; 0 when it is there
	last   map[uint64]int64 // by hash of the series' key: the newest sample that was sent
	seed   maphash.Seed
	span   time.Duration // how much of the store is read at once
	pace   float64       // seconds that sending one sample takes at least

	mu    sync.Mutex
	stats Status
}

// New prepares a writer and reads its cursor. Errors: ErrOptions, a cursor that cannot be read or that is another
// receiver's, files of TLS that cannot be read.
func New(o Options, src Source) (*Writer, error) {
	u, err := o.check()
	if err != nil {
		return nil, err
	}
	w := &Writer{
		o: o, to: u.Host + u.Path, src: src, last: map[uint64]int64{},
		seed: maphash.MakeSeed(), span: time.Minute,
	}
	if w.c, err = newClient(&w.o, u); err != nil {
		return nil, err
	}
	cur, found, err := load(o.Cursor, w.to)
	if err != nil {
		return nil, err
	}
	w.stats.To = w.to
	switch {
	case found:
		w.cur, w.doubt, w.replay = cur, cur.Window != 0, cur.Acked
		w.stats.Acked = time.UnixMilli(cur.Acked)
	case o.Backfill:
		w.cur.Acked = 1
	default:
		w.cur.Acked = time.Now().UnixMilli()
	}
	w.cur.To = w.to
	return w, nil
}

// Run sends until ctx ends, and then waits for the request that is under way, 5 s at most. It returns nil, for nothing
// stops it before: what fails is tried again and told by Status.
func (w *Writer) Run(ctx context.Context) error {
	w.save()
	if err := w.remember(ctx); err != nil {
		return nil
	}
	looked := time.Now()
	tick := time.NewTicker(w.o.Every)
	defer tick.Stop()
	for {
		caughtUp, err := w.forward(ctx)
		if err == nil && time.Since(looked) >= lookEvery {
			err = w.late(ctx)
			looked = time.Now()
		}
		if ctx.Err() != nil {
			return nil
		}
		w.read(err)
		if err == nil && !caughtUp {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// remember learns which samples were sent before, from what the store holds and the cursor.
func (w *Writer) remember(ctx context.Context) error {
	for {
		clear(w.last)
		err := w.src.Each(ctx, w.cur.Acked-lookBack.Milliseconds(), w.cur.Acked, func(s metric.Series) error {
			w.sent(w.o.makeRow(s).key, s.Points[len(s.Points)-1].At)
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.read(err)
		if err == nil {
			return nil
		}
		if err := sleep(ctx, w.o.Every); err != nil {
			return err
		}
	}
}

// forward sends the stretch behind the cursor, or the rest of the one that was begun. It reports whether it is near the
// present.
func (w *Writer) forward(ctx context.Context) (caughtUp bool, err error) {
	if w.cur.Window == 0 {
		end := time.Now().Add(-w.o.Settle).UnixMilli()
		if end <= w.cur.Acked {
			return true, w.again(ctx)
		}
		w.cur.Window = end
		if span := w.cur.Acked + w.span.Milliseconds(); span < end {
			w.cur.Window = span
		}
	}
	rows, err := w.collect(ctx, w.cur.Acked+1, w.cur.Window, w.span > time.Second && w.cur.Done == "" && !w.doubt)
	if errors.Is(err, errTooMany) {
		w.span = max(time.Second, time.Duration(w.cur.Window-w.cur.Acked)*time.Millisecond/2)
		w.cur.Window = 0
		return false, nil
	}
	if err != nil {
		return false, err
	}
	whole := count(rows)
	w.pace = 0
	if span := float64(w.cur.Window-w.cur.Acked) / 1000; whole > 0 {
		w.pace = min(1/float64(w.o.Rate), span/speed/float64(whole))
	}
	defer func() { w.pace = 0 }()
	if w.cur.Done != "" {
		i, found := slices.BinarySearchFunc(rows, w.cur.Done, func(r row, key string) int {
			return strings.Compare(r.key, key)
		})
		if found {
			i++
		}
		for _, r := range rows[:i] {
			w.sent(r.key, r.lastAt)
		}
		rows = rows[i:]
	}
	if len(rows) > 0 {
		w.save()
	}
	for len(rows) > 0 {
		batch, rest := first(rows, w.o.Batch)
		if err := w.deliver(ctx, batch, w.doubt); err != nil {
			return false, err
		}
		w.doubt = false
		w.cur.Done = batch[len(batch)-1].key
		if rows = rest; len(rows) > 0 {
			w.save()
		}
	}
	w.doubt = false
	w.cur.Acked, w.cur.Window, w.cur.Done = w.cur.Window, 0, ""
	w.save()
	if whole < holds/4 {
		w.span = min(2*w.span, 100*365*24*time.Hour)
	}
	if err := w.again(ctx); err != nil {
		return false, err
	}
	w.note(func(s *Status) { s.Acked = time.UnixMilli(w.cur.Acked) })
	return time.Since(time.UnixMilli(w.cur.Acked)) < w.o.Settle+w.o.Every, nil
}

// again sends once more what was acknowledged shortly before the receiver went away, and since.
func (w *Writer) again(ctx context.Context) error {
	from := w.replay
	if from == 0 || w.o.Replay <= 0 {
		w.replay = 0
		return nil
	}
	old := w.last
	w.last = map[uint64]int64{}
	rows, err := w.collect(ctx, from-w.o.Replay.Milliseconds(), w.cur.Acked, false)
	w.last = old
	if err != nil {
		return err
	}
	w.replay = 0 // it may go away once more
	return w.all(ctx, rows, true)
}

// late sends samples that reached the store after their time had been sent.
func (w *Writer) late(ctx context.Context) error {
	rows, err := w.collect(ctx, w.cur.Acked-lookBack.Milliseconds(), w.cur.Acked, false)
	if err != nil {
		return err
	}
	if err := w.all(ctx, rows, false); err != nil {
		return err
	}
	for k, at := range w.last { // what is older need not be known
		if at < w.cur.Acked-2*lookBack.Milliseconds() {
			delete(w.last, k)
		}
	}
	return nil
}

// all sends rows that the cursor does not stand for.
func (w *Writer) all(ctx context.Context, rows []row, doubt bool) error {
	for len(rows) > 0 {
		batch, rest := first(rows, w.o.Batch)
		if err := w.deliver(ctx, batch, doubt); err != nil {
			return err
		}
		rows = rest
	}
	return nil
}

var errTooMany = errors.New("too many samples at once")

// collect reads the samples from from to to that were not sent, in order of their series.
func (w *Writer) collect(ctx context.Context, from, to int64, bounded bool) (rows []row, err error) {
	n := 0
	err = w.src.Each(ctx, from, to, func(s metric.Series) error {
		if n += len(s.Points); bounded && n > holds {
			return errTooMany
		}
		r := w.o.makeRow(s)
		last, known := w.last[maphash.String(w.seed, r.key)]
		for _, p := range s.Points {
			if !known || p.At > last {
				r.series.Samples = append(r.series.Samples, prompb.Sample{Timestamp: p.At, Value: p.Value})
			}
		}
		if k := len(r.series.Samples); k > 0 {
			r.lastAt = r.series.Samples[k-1].Timestamp
			rows = append(rows, r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.key, b.key) })
	return merge(rows), nil
}

// merge makes one row of those with the same key: a series whose kind has changed, or two that Rename has made one.
func merge(rows []row) []row {
	out := rows[:0]
	for _, r := range rows {
		if n := len(out); n > 0 && out[n-1].key == r.key {
			o := &out[n-1]
			o.series.Samples = append(slices.Clone(o.series.Samples), r.series.Samples...)
			slices.SortStableFunc(o.series.Samples, func(a, b prompb.Sample) int {
				return cmp.Compare(a.Timestamp, b.Timestamp)
			})
			o.series.Samples = slices.CompactFunc(o.series.Samples, func(a, b prompb.Sample) bool {
				return a.Timestamp == b.Timestamp
			})
			o.lastAt = max(o.lastAt, r.lastAt)
			continue
		}
		out = append(out, r)
	}
	return out
}

// sent remembers that a series was sent up to a moment.
func (w *Writer) sent(key string, at int64) {
	h := maphash.String(w.seed, key)
	if w.last[h] < at {
		w.last[h] = at
	}
}

// deliver sends rows, however long it takes, no faster than the pace. The only error is that ctx has ended. doubt means
// that the receiver may have them.
func (w *Writer) deliver(ctx context.Context, rows []row, doubt bool) error {
	began := time.Now()
	budget := trouble
	if err := w.send(ctx, rows, doubt, &budget); err != nil {
		return err
	}
	for _, r := range rows {
		w.sent(r.key, r.lastAt)
	}
	least := time.Duration(float64(count(rows)) * w.pace * float64(time.Second))
	return sleep(ctx, least-time.Since(began))
}

func (w *Writer) send(ctx context.Context, rows []row, doubt bool, budget *int) error {
	n := count(rows)
	wait := waitLeast
	for {
		// A receiver that takes requests whole refuses a repeated one for its older samples, and would take the newest
		// alone: moment by moment there is no such mixture.
		if doubt {
			if parts := moments(rows); len(parts) > 1 {
				for _, p := range parts {
					if err := w.send(ctx, p, true, budget); err != nil {
						return err
					}
				}
				return nil
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		a := w.post(ctx, rows)
		switch a.outcome {
		case stored:
			w.delivered(n, doubt)
			return nil
		case refused, tooBig:
			if doubt && a.known {
				w.delivered(n, true)
				return nil
			}
			x, y, ok := halves(rows)
			if !ok || *budget <= 0 && a.outcome == refused {
				*budget--
				w.refuse(rows, n, a.err)
				return nil
			}
			if err := w.send(ctx, x, doubt, budget); err != nil {
				return err
			}
			return w.send(ctx, y, doubt, budget)
		case silent:
			doubt = true
			fallthrough
		case failed:
			w.fail(a.err)
			if w.replay == 0 {
				w.replay = w.cur.Acked
			}
			if err := sleep(ctx, max(a.wait, wait/2+rand.N(wait/2))); err != nil {
				return err
			}
			wait = min(2*wait, waitMost)
		}
	}
}

// post makes and sends one request.
func (w *Writer) post(ctx context.Context, rows []row) answer {
	body, err := encode(rows)
	if err != nil {
		return answer{outcome: refused, err: fmt.Errorf("make the message: %w", err)}
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-own.Done():
		case <-time.After(goodbye):
			cancel()
		}
	})()
	a := w.c.post(own, body)
	w.note(func(s *Status) {
		s.Requests++
		s.Bytes += uint64(len(body))
		if a.outcome == failed || a.outcome == silent {
			s.Failures++
		}
	})
	return a
}

// save writes the cursor. That it fails, as on a full disk, does not stop the sending: after a crash more would be
// repeated.
func (w *Writer) save() {
	err := w.cur.save(w.o.Cursor)
	told := false
	w.note(func(s *Status) {
		told = s.cursorErr == nil && err != nil
		s.cursorErr = err
	})
	if told {
		w.o.Log.Warn("remote write continues, but cannot save its position", "to", w.to, "err", err)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
