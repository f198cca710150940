// Package series stores time series in an embedded Prometheus TSDB
// (https://prometheus.io/docs/prometheus/latest/storage/) and answers PromQL queries. It does not
// scrape.
//
// A series is a name, its labels and its kind. The kind is stored as the label __type__, as
// Prometheus does when it stores metric types, because a label survives wherever the samples go:
// the write-ahead log, blocks, and any reader of the files. A label with an empty value is the same
// as no label.
//
// Durability: each Append is one write to the write-ahead log and survives kill -9. It is not
// synced, because an fsync per second on the measured disk would disturb the measurement. A power
// cut loses what the system had not yet written, usually the last half minute. Damage is found when
// the store is opened or read, and never repaired silently.
//
// Only one process at a time has a store open. Samples older than Retention are dropped.
package series

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/compression"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/metric"
)

const (
	nameLabel   = "__name__"
	kindLabel   = "__type__"
	sourceLabel = "__source__" // of what AppendRound wrote; readers do not see it
	targetLabel = "target"

	// What queries see besides, see shown.
	instanceLabel = "instance"
	jobLabel      = "job"
	jobName       = "dyno"
)

// samplesPerChunk is four times what Prometheus has, whose series have a sample in 15 or 30 seconds: what a chunk costs
// beside its samples, some 30 bytes, is shared by more.
const samplesPerChunk = 480

// maxCached bounds the series that an open store remembers, for those that come and go (one per table, per user) would
// otherwise add up. It is far above what one server has.
const maxCached = 100_000

// newPerHour bounds the series that one target may begin in an hour: a server that invents names could otherwise fill
// the store and the memory of all. It is far above what the objects of one server begin. Series that the head of the
// database has are not new.
const newPerHour = 50_000

// mostAlive and mostAliveText bound the series of one target that the head of the database holds, and the bytes of
// their names and labels: series that are written again and again stay there, however slowly they become more. Of what
// ended, the head forgets what is older than an hour.
const (
	mostAlive     = 100_000
	mostAliveText = 32 << 20
)

// After mostRefused series of a call that are left out, the others that are not known have their turn in one call of
// refusedTurns.
const (
	mostRefused  = 1000
	refusedTurns = 16
)

// errTooLong says that a sample is left out for a text of it. It is not an error for the caller of Append.
var errTooLong = errors.New("its name or a label is too long")

// errTooManyNew says that a sample's series is left out by newPerHour. It is not an error for the caller of Append.
var errTooManyNew = errors.New("its target created too many series")

// begun counts the new series of a target.
type begun struct {
	from  int64 // when the hour began, by the time of the samples
	n     int
	noted bool
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	dir     string
	options Options
	lock    *os.File
	log     *memo
	seed    maphash.Seed
	readers sync.RWMutex // read-locked by every querier: the database is closed when all have ended
	// keepSeconds and keepMinutes are how long the levels are kept, nanoseconds: as in options until Keep changes them.
	keepSeconds, keepMinutes atomic.Int64
	mostSeconds, mostMinutes atomic.Int64 // bytes, 0 for no bound: as in options until Keep changes them
	// Ages are counted back from these, see expiry.
	secondsEnd, minutesEnd clock.Horizon

	mu         sync.Mutex // guards what follows; Append holds it, so appends take turns. Taken before readers
	db         *tsdb.DB   // of every second; nil after Close
	minutes    *tsdb.DB
	stop       func() // ends tend and waits for it
	closed     bool
	room       room
	cache      map[uint64][]*cached
	cachedN    int
	begun      map[string]*begun // by target
	alive      *alive
	refused    int // new series that the call under way has left out
	duplicates uint64
	disordered uint64
	groups     map[groupKey]*group
	round      uint64 // counts the calls of AppendRound
	epoch      float64
	touched    []rollback // reused
}

// cached is a series that was appended to before: what identifies it, and how the database knows it.
type cached struct {
	name   string
	labels metric.Labels
	extra  metric.Labels
	kind   metric.Kind
	source string // see AppendRound
	full   labels.Labels
	ref    storage.SeriesRef
	wrote
}

// wrote is what was last written of a series.
type wrote struct {
	last    int64  // time of its newest sample, in the store or read back as if it were
	at      int64  // time of the newest that is in the store
	changed int64  // since when it has had its value
	bits    uint64 // the value
	live    bool   // it was there in the last reading of its source
	round   uint64 // the round that saw it last
}

// Open opens the store in dir with the default Options, creating it (mode 0700) when there is none. Errors: ErrBusy
// when another process has it open, ErrCorrupt when a part cannot be read, *VersionError when a newer Dyno wrote it. A
// last record that a crash cut short is dropped and told by Warnings.
func Open(dir string) (*Store, error) { return OpenWith(dir, Options{}) }

// OpenWith is Open with other Options.
func OpenWith(dir string, o Options) (*Store, error) {
	s, err := openStill(dir, o)
	if err != nil {
		return nil, err
	}
	tidyBorrowed(filepath.Dir(s.dir))
	s.mu.Lock()
	_, err = presentOf(s)
	s.mu.Unlock()
	if err != nil {
		s.log.note(err.Error()) // the next write tries again
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.stop = func() { stop(); <-done }
	go func() {
		defer close(done)
		tend(ctx, s)
	}()
	return s, nil
}

// openStill opens a store that makes no minutes.
func openStill(dir string, o Options) (_ *Store, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open series store: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, failed("open", dir, err)
	}
	s := &Store{
		dir: dir, options: o.filled(), log: &memo{}, seed: maphash.MakeSeed(), cache: map[uint64][]*cached{},
		groups: map[groupKey]*group{}, begun: map[string]*begun{}, epoch: float64(time.Now().UnixMilli()),
		stop: func() {},
	}
	s.Keep(s.options)
	if s.lock, err = acquire(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, release(s.lock))
		}
	}()
	if err := checkVersion(dir); err != nil {
		return nil, err
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	takeBallast(s.dir)
	return s, nil
}

// load opens the database.
func (s *Store) load() error {
	dir := filepath.Join(s.dir, minutesDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failed("open", s.dir, err)
	}
	s.alive = &alive{of: map[string]weight{}}
	seconds, err := s.database(s.dir, secondsOptions(s.alive), bounds{&s.keepSeconds, &s.mostSeconds}, &s.secondsEnd)
	if err != nil {
		return err
	}
	minutes, err := s.database(dir, minutesOptions(), bounds{&s.keepMinutes, &s.mostMinutes}, &s.minutesEnd)
	if err != nil {
		return errors.Join(err, seconds.Close())
	}
	s.db, s.minutes = seconds, minutes
	return nil
}

// unload closes the databases.
func (s *Store) unload() (err error) {
	if s.db != nil {
		err = errors.Join(s.db.Close(), s.minutes.Close())
	}
	s.db, s.minutes = nil, nil
	return err
}

// database opens the database in dir, which is the store's or below it, which keeps to keep.
func (s *Store) database(dir string, o *tsdb.Options, keep bounds, end *clock.Horizon) (*tsdb.DB, error) {
	// tsdb drops everything behind a damaged record of its log, and passes over a block it cannot read. Look first.
	spans, torn, err := scan(dir)
	if err != nil {
		return nil, failed("open", s.dir, err)
	}
	if len(spans) > 0 {
		for i := range spans {
			spans[i].Where = rel(s.dir, filepath.Join(dir, spans[i].Where))
		}
		return nil, &CorruptError{Op: "open", Dir: s.dir, Spans: spans}
	}
	if torn != nil {
		if err := os.Truncate(torn.path, torn.good); err != nil {
			return nil, failed("open", s.dir, err)
		}
		s.log.note(fmt.Sprintf("%s: the last record was cut short by a crash and is dropped", rel(s.dir, torn.path)))
	}
	var opened atomic.Pointer[tsdb.DB]
	o.BlocksToDelete = expiry(s.options, keep, end, &opened)
	db, err := tsdb.Open(dir, slog.New(s.log), nil, o, nil)
	if err != nil {
		return nil, failed("open", s.dir, err)
	}
	opened.Store(db)
	return db, nil
}

// secondsOptions are for one to some dozens of servers, not for a thousand: what is allocated ahead is small, and a
// head of half an hour keeps both memory and the time to open low.
func secondsOptions(alive *alive) *tsdb.Options {
	o := tsdb.DefaultOptions()
	o.RetentionDuration = 0 // see expiry
	o.MaxBytes = 0
	o.MinBlockDuration = (30 * time.Minute).Milliseconds()
	o.MaxBlockDuration = 27 * o.MinBlockDuration // 13.5 h
	o.StripeSize = 512
	o.HeadChunksWriteBufferSize = 64 << 10
	o.HeadChunksWriteQueueSize = 0
	o.SamplesPerChunk = samplesPerChunk
	o.WALSegmentSize = 16 << 20
	o.WALCompression = compression.Snappy
	o.NoLockfile = true // acquire holds the same file, and tells who has it
	o.SeriesLifecycleCallback = alive
	return o
}

// Keep changes how long and how many bytes of seconds and minutes are kept, from now on: Retention, MinuteRetention,
// SecondBytes and MinuteBytes of o. Minutes are never kept shorter than seconds; 0 bytes is no bound. What is too old
// or too much goes within minutes, except the last half hour.
func (s *Store) Keep(o Options) {
	s.keepSeconds.Store(int64(o.Retention))
	s.keepMinutes.Store(int64(max(o.Retention, o.MinuteRetention)))
	s.mostSeconds.Store(o.SecondBytes)
	s.mostMinutes.Store(o.MinuteBytes)
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }

// Warnings returns what went wrong inside without stopping the store, the oldest first: a record cut short by a crash,
// a compaction that failed.
func (s *Store) Warnings() []string { return s.log.list() }

// Ignored returns how many samples Append did not store since Open: those with the time of a sample that the series
// already has, and those older than that or of the future.
func (s *Store) Ignored() (duplicates, disordered uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.duplicates, s.disordered
}

// Append stores samples, each with the labels extra (such as the target) added. A sample with the time of one that its
// series already has is ignored and counted. Older samples than the newest of their series are left out, counted and
// told by an *OutOfOrderError after all others were stored, and those of the future by an *AheadError; they mean that a
// clock was set. Series beyond what a target may begin in an hour are left out and told by Warnings. With any other
// error nothing of the call was stored.
func (s *Store) Append(samples []metric.Sample, extra metric.Labels) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return failed("write to", s.dir, errClosed)
	}
	if len(samples) == 0 {
		return nil
	}
	if err := s.prepare(samples[0].At); err != nil {
		return err
	}
	now, err := presentOf(s)
	if err != nil {
		return err
	}
	s.forget()
	app := s.db.Appender(context.Background())
	var late OutOfOrderError
	var ahead AheadError
	var touched []rollback
	fail := func(err error) error {
		for _, t := range touched {
			t.series.wrote = t.wrote
		}
		return failed("write to", s.dir, errors.Join(err, app.Rollback()))
	}
	duplicates, disordered := s.duplicates, s.disordered
	for i := range samples {
		m := &samples[i]
		c, err := s.series(app, m, m.At, extra, "")
		switch {
		case errors.Is(err, errTooManyNew):
			continue // Warnings say so
		case errors.Is(err, errTooLong):
			s.log.note("a sample is left out: " + err.Error())
			continue
		case err != nil:
			return fail(err)
		}
		switch {
		case m.At > now.Add(aheadLimit).UnixMilli():
			disordered++
			ahead.add(m.Name, m.At, now)
			continue
		case m.At == c.last:
			duplicates++
			continue
		case m.At < c.last:
			disordered++
			late.add(m, c.last)
			continue
		}
		ref, err := app.Append(c.ref, c.full, m.At, m.Value)
		if err != nil {
			switch {
			case errors.Is(err, storage.ErrDuplicateSampleForTimestamp):
				duplicates++
			case errors.Is(err, storage.ErrOutOfOrderSample), errors.Is(err, storage.ErrOutOfBounds),
				errors.Is(err, storage.ErrTooOldSample):
				disordered++
				late.add(m, s.db.Head().MaxTime())
			default:
				return fail(fmt.Errorf("%s: %w", m.Name, err))
			}
			continue
		}
		touched = append(touched, rollback{c, c.wrote})
		c.ref, c.last = ref, m.At
	}
	if err := app.Commit(); err != nil {
		for _, t := range touched {
			t.series.wrote = t.wrote
		}
		return s.room.stuck(samples[0].At, failed("write to", s.dir, err))
	}
	s.duplicates, s.disordered = duplicates, disordered
	switch {
	case ahead.Samples > 0:
		return &ahead
	case late.Samples > 0:
		return &late
	}
	return nil
}

// forget drops what is known of series when it has become too much, before a call writes.
func (s *Store) forget() {
	s.refused = 0
	if s.cachedN > maxCached && uint64(s.cachedN) > 2*s.db.Head().NumSeries() { // most have ended
		s.begin()
	}
}

// begin forgets what is known of series: all of them are written again.
func (s *Store) begin() {
	clear(s.cache)
	clear(s.groups)
	s.cachedN = 0
	s.epoch++
}

type rollback struct {
	series *cached
	wrote  wrote
}

// series returns what is known of the series of a sample of the time at. On the hot path it allocates nothing.
func (s *Store) series(app storage.Appender, m *metric.Sample, at int64, extra metric.Labels,
	source string,
) (*cached, error) {
	var h maphash.Hash
	h.SetSeed(s.seed)
	h.WriteString(source)
	h.WriteByte(0)
	h.WriteString(m.Name)
	h.WriteByte(byte(m.Kind))
	for _, ls := range [...]metric.Labels{m.Labels, extra} {
		for i := range ls {
			h.WriteString(ls[i].Name)
			h.WriteByte(0)
			h.WriteString(ls[i].Value)
			h.WriteByte(0)
		}
		h.WriteByte(1)
	}
	key := h.Sum64()
	for _, c := range s.cache[key] {
		if c.name == m.Name && c.kind == m.Kind && c.source == source && slices.Equal(c.labels, m.Labels) &&
			slices.Equal(c.extra, extra) {
			return c, nil
		}
	}
	if s.refused >= mostRefused && (key+s.round)%refusedTurns != 0 { // to find out costs as much as to write
		return nil, errTooManyNew
	}
	if m.Overlong() || (&metric.Sample{Labels: extra}).Overlong() {
		return nil, errTooLong
	}
	full, err := join(m, extra, source)
	if err != nil {
		return nil, err
	}
	if !mayBegin(s, app, full, at) {
		s.refused++
		return nil, errTooManyNew
	}
	// The caller's labels may share memory with others of his; keep our own.
	c := &cached{
		name: m.Name, labels: slices.Clone(m.Labels), extra: slices.Clone(extra), kind: m.Kind, source: source,
		full: full, wrote: wrote{last: math.MinInt64},
	}
	s.cache[key] = append(s.cache[key], c)
	s.cachedN++
	return c, nil
}

// mayBegin reports whether a series that is not cached may be written: the database has it, or its target may have one
// more.
func mayBegin(s *Store, app storage.Appender, full labels.Labels, at int64) bool {
	if x, ok := app.(storage.GetRef); ok {
		if ref, _ := x.GetRef(full, full.Hash()); ref != 0 {
			return true // forget, or a restart, made it unknown
		}
	}
	target := full.Get(targetLabel)
	b := s.begun[target]
	if b == nil {
		b = &begun{from: at}
		s.begun[strings.Clone(target)] = b
	}
	if at < b.from || at-b.from >= time.Hour.Milliseconds() {
		b.from, b.n = at, 0
	}
	if b.n < newPerHour && s.alive.room(target, full) {
		b.n++
		return true
	}
	if !b.noted {
		b.noted = true
		s.log.note(fmt.Sprintf("target %q has too many series (%d new ones in an hour, %d in all, with %d MiB of "+
			"text, are the maximum): further ones are left out",
			target, newPerHour, mostAlive, mostAliveText>>20))
	}
	return false
}

// join makes the labels that identify a series in the database.
func join(m *metric.Sample, extra metric.Labels, source string) (labels.Labels, error) {
	if m.Name == "" {
		return labels.EmptyLabels(), errors.New("a sample has no name")
	}
	seen := map[string]bool{}
	b := labels.NewScratchBuilder(len(m.Labels) + len(extra) + 3)
	b.Add(nameLabel, m.Name)
	if source != "" {
		b.Add(sourceLabel, source)
	}
	b.Add(kindLabel, m.Kind.String())
	for _, ls := range [...]metric.Labels{m.Labels, extra} {
		for _, l := range ls {
			if strings.HasPrefix(l.Name, "__") || l.Name == "" {
				return labels.EmptyLabels(), fmt.Errorf("%s: label name %q is not allowed", m.Name, l.Name)
			}
			if seen[l.Name] {
				return labels.EmptyLabels(), fmt.Errorf("%s: label %s is given twice", m.Name, l.Name)
			}
			seen[l.Name] = true
			if l.Value != "" {
				b.Add(l.Name, l.Value)
			}
		}
	}
	b.Sort()
	return b.Labels(), nil
}

// Select returns the series of that name that have all labels of match, in order of their labels, with their points
// from from to to (Unix milliseconds, both included). With name "" it returns series of every name, in order of name
// first. A series without a point in that time is left out. Errors: ErrCorrupt, with the span that cannot be read.
func (s *Store) Select(ctx context.Context, name string, match metric.Labels, from, to int64) ([]metric.Series, error) {
	var out []metric.Series
	err := s.SelectEach(ctx, name, match, from, to, func(r metric.Series) {
		r.Points = slices.Clone(r.Points)
		out = append(out, r)
	})
	if err != nil {
		return nil, err
	}
	sortSeries(out)
	return out, nil
}

// SelectEach calls f for each series that Select returns, in any order, and so holds one at a time. The points are
// valid during the call only.
func (s *Store) SelectEach(ctx context.Context, name string, match metric.Labels, from, to int64,
	f func(metric.Series),
) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	ms, err := matchers(name, match)
	if err != nil {
		return failed("read", s.dir, err)
	}
	q, err := s.queryable().Querier(from, to)
	if err != nil {
		return unreadable(ctx, s.dir, db, ms, from, to, err)
	}
	if err = errors.Join(walk(ctx, q, ms, f), q.Close()); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return unreadable(ctx, s.dir, db, ms, from, to, err)
	}
	return nil
}

func matchers(name string, match metric.Labels) ([]*labels.Matcher, error) {
	typ := labels.MatchEqual
	if name == "" {
		typ = labels.MatchNotEqual
	}
	m, err := labels.NewMatcher(typ, nameLabel, name)
	ms := []*labels.Matcher{m}
	for _, l := range match {
		if err == nil {
			m, err = labels.NewMatcher(labels.MatchEqual, l.Name, l.Value)
			ms = append(ms, m)
		}
	}
	return ms, err
}

// walk calls f for each series that a querier has.
func walk(ctx context.Context, q storage.Querier, ms []*labels.Matcher, f func(metric.Series)) error {
	var points []metric.Point
	set := q.Select(ctx, false, nil, ms...)
	var it chunkenc.Iterator
	for set.Next() {
		x := set.At()
		it = x.Iterator(it)
		points = points[:0]
		for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
			if typ != chunkenc.ValFloat {
				continue // a histogram: not written by us
			}
			t, v := it.At()
			if value.IsStaleNaN(v) {
				continue
			}
			points = append(points, metric.Point{At: t, Value: v})
		}
		if err := errors.Join(it.Err(), ctx.Err()); err != nil {
			return err
		}
		if len(points) > 0 {
			r := named(x.Labels())
			r.Points = points
			f(r)
		}
	}
	return set.Err()
}

// named returns a series without points.
func named(ls labels.Labels) (r metric.Series) {
	ls.Range(func(l labels.Label) {
		switch l.Name {
		case nameLabel:
			r.Name = strings.Clone(l.Value) // the database's strings are parts of mapped files
		case kindLabel:
			if l.Value == metric.Counter.String() {
				r.Kind = metric.Counter
			}
		default:
			r.Labels = append(r.Labels, metric.Label{Name: strings.Clone(l.Name), Value: strings.Clone(l.Value)})
		}
	})
	return r
}

func sortSeries(ss []metric.Series) {
	slices.SortStableFunc(ss, func(a, b metric.Series) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		if c := a.Labels.Compare(b.Labels); c != 0 {
			return c
		}
		return int(a.Kind) - int(b.Kind)
	})
}

// Names returns the names of all series in order.
func (s *Store) Names(ctx context.Context) ([]string, error) {
	if _, err := s.open(); err != nil {
		return nil, err
	}
	q, err := s.queryable().Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		return nil, failed("read", s.dir, err)
	}
	names, _, err := q.LabelValues(ctx, nameLabel, nil)
	names = slices.Clone(names)
	for i := range names {
		names[i] = strings.Clone(names[i])
	}
	if err := errors.Join(err, q.Close()); err != nil {
		return nil, failed("read", s.dir, err)
	}
	slices.Sort(names)
	return names, nil
}

// open returns the database, or an error after Close.
func (s *Store) open() (*tsdb.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil, failed("read", s.dir, errClosed)
	}
	return s.db, nil
}

// Close waits for readers, syncs and closes the store. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers.Lock()
	defer s.readers.Unlock()
	if err := errors.Join(s.unload(), release(s.lock)); err != nil {
		return failed("close", s.dir, err)
	}
	return nil
}
