package series

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
)

// What AppendRound writes is sparse, for nine of ten series of a server stand still at any time:
//
//   - A sample is written when its value differs from the one before, and for a while after that (runOff), because a
//     series that
//     moves often is cheaper to store without holes. A series that stands still is written every heartbeat.
//   - For each source that was read a mark is written, every time. Reading repeats the last value of a series at each
//     mark of its
//     source (the label __source__ says which it is), so that what comes out is what was put in.
//   - A series that was there in the reading before and is not in this one gets a stale marker, as Prometheus does it:
//     https://prometheus.io/docs/prometheus/latest/querying/basics/#staleness. So it is not repeated any more.
//   - The value of a mark is the same as long as the memory of what was written is unbroken. After a crash nobody knows
//     which
//     series ended with it: values are not repeated from marks of one number to marks of another.
const (
	markName = "dyno_scrape_mark" // readers do not see it
	// roundSource is the source of what a round tells of itself.
	roundSource = "round"
	heartbeat   = 5 * time.Minute
	// runOff is how long an unchanged value is still written. A hole costs about 36 bits for the two irregular times at
	// its ends, a repeated value 2 bits.
	runOff = 16 * time.Second
)

const (
	heartbeatMS = int64(heartbeat / time.Millisecond)
	runOffMS    = int64(runOff / time.Millisecond)
)

// ordinaryNaN stands for any value that is no number: the one with another bit pattern is the stale marker.
var ordinaryNaN = math.Float64frombits(value.NormalNaN)

// groupKey names what is read together: the series of one source of one target.
type groupKey struct{ target, source string }

type group struct {
	key     groupKey
	extra   metric.Labels
	mark    labels.Labels
	ref     storage.SeriesRef
	last    int64     // time of the newest mark
	members []*cached // those that were there in the last reading
	next    []*cached // those of the one that is being written
	round   uint64    // the round that next belongs to
}

// AppendRound stores what one scrape of the target r.Target gave, with the label target: the samples, all with the time
// r.At, and which sources were read (r.Parts; without parts all samples are of one source). A series that its source
// gave the last time and does not give now ends here with a stale marker. What is unchanged costs next to nothing and
// is read back as if it had been written every time. A round that is not younger than the last one of its target is
// ignored, counted, and told by an *OutOfOrderError when it is older; so is one of the future, told by an *AheadError.
// With any other error nothing of the round was stored; when the disk is full (ErrFull) the store goes on by itself
// with the first round that finds room. A sample that cannot be stored (without a name, with a label twice), or whose
// series is beyond what a target may begin in an hour, is left out and told by Warnings.
func (s *Store) AppendRound(r reading.Reading) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := r.At.UnixMilli()
	switch {
	case s.closed:
		return failed("write to", s.dir, errClosed)
	case r.Target == "":
		return failed("write to", s.dir, errors.New("a reading names no target"))
	}
	if err := s.prepare(t); err != nil {
		return err
	}
	now, err := presentOf(s)
	if err != nil {
		return err
	}
	n := uint64(len(r.Samples))
	if r.At.After(now.Add(aheadLimit)) {
		s.disordered += n
		return &AheadError{Samples: int(n), Name: markName, At: r.At, Now: now}
	}
	s.forget()
	s.round++
	s.touched = s.touched[:0]
	app := s.db.Appender(context.Background())
	var used []*group
	defer func() {
		if err == nil {
			return
		}
		for _, x := range slices.Backward(s.touched) {
			x.series.wrote = x.wrote
		}
	}()
	whole := groupOf(s.groups, s.round, r.Target, roundSource)
	switch newest, err := writeMark(s.db, s.epoch, app, whole, t); {
	case err == nil:
	case errors.Is(err, storage.ErrDuplicateSampleForTimestamp):
		s.duplicates += n
		return abandon(s.dir, app, nil)
	case errors.Is(err, storage.ErrOutOfOrderSample), errors.Is(err, storage.ErrOutOfBounds),
		errors.Is(err, storage.ErrTooOldSample):
		s.disordered += n
		return abandon(s.dir, app, &OutOfOrderError{Samples: int(n), Name: markName, At: t, Newest: newest})
	default:
		return abandon(s.dir, app, err)
	}
	used = append(used, whole)
	rest, duplicates := r.Samples, uint64(0)
	for _, p := range r.Parts {
		if p.Samples < 0 || p.Samples > len(rest) {
			return abandon(s.dir, app, errors.New("the parts of a reading are more than its samples"))
		}
		g := groupOf(s.groups, s.round, r.Target, string(p.Source))
		if !slices.Contains(used, g) {
			if _, err := writeMark(s.db, s.epoch, app, g, t); err != nil {
				return abandon(s.dir, app, err)
			}
			used = append(used, g)
		}
		dup, err := s.put(app, g, t, rest[:p.Samples])
		if err != nil {
			return abandon(s.dir, app, err)
		}
		duplicates += dup
		rest = rest[p.Samples:]
	}
	dup, err := s.put(app, whole, t, rest)
	if err != nil {
		return abandon(s.dir, app, err)
	}
	duplicates += dup
	for _, g := range used {
		for _, c := range g.members {
			if c.round == s.round {
				continue
			}
			if err := s.write(app, c, t, math.Float64frombits(value.StaleNaN)); err != nil {
				return abandon(s.dir, app, err)
			}
			c.live = false
		}
	}
	if err := app.Commit(); err != nil {
		return s.room.stuck(t, failed("write to", s.dir, err))
	}
	for _, g := range used {
		g.last = t
		g.members, g.next = g.next, g.members[:0]
	}
	s.duplicates += duplicates
	return nil
}

// abandon gives up a round.
func abandon(dir string, app storage.Appender, err error) error {
	if back := app.Rollback(); back != nil {
		err = errors.Join(err, back)
	}
	var late *OutOfOrderError
	if err == nil || errors.As(err, &late) {
		return err
	}
	return failed("write to", dir, err)
}

// groupOf returns the group of a source, with no members of the round to come.
func groupOf(groups map[groupKey]*group, round uint64, target, source string) *group {
	key := groupKey{target, source}
	g := groups[key]
	if g == nil {
		g = &group{
			key: key, extra: metric.Labels{{Name: targetLabel, Value: target}}, last: math.MinInt64,
			mark: labels.FromStrings(nameLabel, markName, sourceLabel, source, targetLabel, target),
		}
		groups[key] = g
	}
	if g.round != round {
		g.round, g.next = round, g.next[:0]
	}
	return g
}

// writeMark writes that the source was read at t.
func writeMark(db *tsdb.DB, epoch float64, app storage.Appender, g *group, t int64) (newest int64, err error) {
	switch {
	case t == g.last:
		return t, storage.ErrDuplicateSampleForTimestamp
	case t < g.last:
		return g.last, storage.ErrOutOfOrderSample
	}
	ref, err := app.Append(g.ref, g.mark, t, epoch)
	if err != nil {
		return db.Head().MaxTime(), err
	}
	g.ref = ref
	return t, nil
}

// put writes the samples of a source that must be written.
func (s *Store) put(app storage.Appender, g *group, t int64, samples []metric.Sample) (duplicates uint64, err error) {
	for i := range samples {
		m := &samples[i]
		c, err := s.series(app, m, t, g.extra, g.key.source)
		if err != nil {
			if !errors.Is(err, errTooManyNew) { // noted once for its target
				s.log.note("a sample is left out: " + err.Error())
			}
			continue
		}
		if c.round == s.round {
			duplicates++
			continue
		}
		v := m.Value
		if v != v {
			v = ordinaryNaN
		}
		bits := math.Float64bits(v)
		switch {
		case !c.live || bits != c.bits || t-c.at >= heartbeatMS || t-c.changed <= runOffMS:
			if err := s.write(app, c, t, v); err != nil {
				return 0, err
			}
		default:
			s.touched = append(s.touched, rollback{c, c.wrote})
		}
		c.last, c.live, c.round = t, true, s.round
		g.next = append(g.next, c)
	}
	return duplicates, nil
}

// write writes one sample.
func (s *Store) write(app storage.Appender, c *cached, t int64, v float64) error {
	s.touched = append(s.touched, rollback{c, c.wrote})
	ref, err := app.Append(c.ref, c.full, t, v)
	if err != nil {
		return err
	}
	c.ref = ref
	if bits := math.Float64bits(v); !c.live || bits != c.bits {
		c.changed, c.bits = t, bits
	}
	c.at, c.last = t, t
	return nil
}
