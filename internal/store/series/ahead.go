package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/dyno-perf/dyno/internal/clock"
)

// A clock that was wrong must neither stop the storing of what comes nor expire what was stored:
//
//   - A sample of the future is refused (AheadError). So none that one target's reading bears can stop the others,
//     whose samples the
//     database would refuse once they are a quarter of an hour behind the newest of all.
//   - When the clock is set back all the same, and what is stored lies ahead of it, the part that does is moved aside,
//     as blocks, into
//     a folder of the store, and writing goes on. It comes back by itself once the clock has passed it and nothing else
//     was stored
//     for its time: that is how it is when the clock was wrong now, not then.
//   - Ages are counted back from the newest sample or from now, whichever is earlier, by a clock.Horizon.
const (
	// aheadLimit is how far ahead of the clock a sample may be.
	aheadLimit = time.Minute
	// asideDir is the folder for what was moved aside, in one folder each time, named after the clock then.
	asideDir = "aside"
	// asideMargin is how far behind the clock the part that stays ends: targets are read at the same second, not at the
	// same moment.
	asideMargin = 10 * time.Second
)

// AheadError says that samples are of a time that has not come yet.
type AheadError struct {
	Samples int       // left out
	Name    string    // of the first
	At      time.Time // its time
	Now     time.Time
}

func (e *AheadError) Error() string {
	return fmt.Sprintf("write to series store: %d samples left out because they are in the future, the first %s at "+
		"%s, %v ahead: is the clock right?",
		e.Samples, e.Name, e.At.UTC().Format(time.RFC3339), e.At.Sub(e.Now).Round(time.Second))
}

func (e *AheadError) add(name string, at int64, now time.Time) {
	if e.Samples == 0 {
		e.Name, e.At, e.Now = name, time.UnixMilli(at), now
	}
	e.Samples++
}

// presentOf makes sure that nothing stored is of the future, and returns the time.
func presentOf(s *Store) (time.Time, error) {
	now := s.options.now()
	if newest(s.db) <= now.Add(aheadLimit).UnixMilli() || now.Before(clock.Earliest) {
		// a clock that says 1970 is wrong, not what is stored
		return now, nil
	}
	if s.room.broken || time.Since(s.room.tried) < reopenPause {
		return now, failed("write to", s.dir, errors.New("what is stored lies ahead of the clock"))
	}
	s.room.tried = time.Now()
	return now, setAside(s, now)
}

// setAside moves what is stored of the time after now into a folder of its own.
func setAside(s *Store, now time.Time) error {
	s.readers.Lock()
	defer s.readers.Unlock()
	cut, last := now.Add(-asideMargin).UnixMilli(), time.UnixMilli(newest(s.db)).UTC()
	to := filepath.Join(s.dir, asideDir, now.UTC().Format("20060102T150405Z"))
	err := errors.Join(flushHead(s.db), flushHead(s.minutes)) // all is in blocks now, and the logs are needed no more
	dirs := []string{".", minutesDir}
	if err == nil {
		err = s.unload()
		for _, d := range dirs {
			for _, log := range []string{"wal", "chunks_head"} {
				if err == nil {
					err = os.RemoveAll(filepath.Join(s.dir, d, log))
				}
			}
			if err == nil {
				err = moveBlocks(s.log, filepath.Join(s.dir, d), filepath.Join(to, d), cut)
			}
		}
	}
	if s.db == nil {
		if again := s.load(); again != nil {
			s.room.broken = true
			return errors.Join(err, again)
		}
	}
	s.begin()
	if err != nil {
		return failed("move what is ahead of the clock aside in", s.dir, err)
	}
	s.log.note(fmt.Sprintf("what is stored was ahead of the clock: at %s UTC the part from then up to %s UTC was "+
		"moved to %s. It comes back "+
		"when the clock has passed it and nothing else is stored for that time", now.UTC().Format(time.DateTime),
		last.Format(time.DateTime), rel(s.dir, to)))
	return nil
}

// flushHead makes a block of what is in memory and in the log only.
func flushHead(db *tsdb.DB) error {
	h := db.Head()
	if h.NumSeries() == 0 || h.MaxTime() < h.MinTime() {
		return nil
	}
	return db.CompactHead(tsdb.NewRangeHead(h, h.MinTime(), h.MaxTime()))
}

// moveBlocks moves the blocks of a closed database that lie behind cut; one across it is cut in two.
func moveBlocks(log *memo, from, to string, cut int64) error {
	var paths []string
	if err := eachBlock(from, func(path string) { paths = append(paths, path) }); err != nil {
		return err
	}
	for _, path := range paths {
		m, err := readMeta(path)
		switch {
		case err != nil:
			return err
		case *m.MaxTime <= cut:
			continue
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
		if *m.MinTime < cut {
			err = splitBlock(log, path, from, to, cut)
		} else {
			err = os.Rename(path, filepath.Join(to, filepath.Base(path)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// splitBlock writes the two parts of a block and removes it. When it is cut off in between, the parts are found as
// blocks beside it.
func splitBlock(log *memo, path, from, to string, cut int64) (err error) {
	c, err := tsdb.NewLeveledCompactor(context.Background(), nil, slog.New(log), []int64{unitMS}, nil, nil)
	if err != nil {
		return err
	}
	b, err := tsdb.OpenBlock(slog.New(log), path, nil, nil)
	if err != nil {
		return err
	}
	m := b.Meta()
	_, err = c.Write(to, b, cut, m.MaxTime, nil)
	if err == nil {
		_, err = c.Write(from, b, m.MinTime, cut, nil)
	}
	if err = errors.Join(err, b.Close()); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// bringBack takes back what was moved aside and is of the past again, where nothing else was stored meanwhile, and
// drops what has become too old.
func bringBack(s *Store) error {
	parts, err := filepath.Glob(filepath.Join(s.dir, asideDir, "*"))
	if err != nil || len(parts) == 0 {
		return err
	}
	db, minutes, release, err := s.hold()
	if err != nil {
		return err
	}
	defer release()
	now := s.options.now().UnixMilli()
	var errs []error
	for _, part := range parts {
		for _, l := range []struct {
			db   *tsdb.DB
			dir  string
			keep time.Duration
		}{{minutes, minutesDir, time.Duration(s.keepMinutes.Load())}, {db, ".", time.Duration(s.keepSeconds.Load())}} {
			dir := filepath.Join(part, l.dir)
			_ = eachBlock(dir, func(path string) { // there may be none
				m, err := readMeta(path)
				switch {
				case err != nil:
					errs = append(errs, err)
				case *m.MaxTime < now-l.keep.Milliseconds():
					errs = append(errs, os.RemoveAll(path))
				case *m.MaxTime <= now && unused(l.db, *m.MinTime, *m.MaxTime):
					// it is read within a minute
					errs = append(errs, os.Rename(path, filepath.Join(s.dir, l.dir, filepath.Base(path))))
				}
			})
			_ = os.Remove(dir) // when it is empty
		}
	}
	return errors.Join(errs...)
}

// unused reports whether a database has nothing of a time, and what it has in its log comes after it: samples before
// its newest block would be left out of that when it is opened.
func unused(db *tsdb.DB, from, to int64) bool {
	if h := db.Head(); h.NumSeries() > 0 && h.MaxTime() >= h.MinTime() && h.MinTime() < to {
		return false
	}
	return !slices.ContainsFunc(db.Blocks(), func(b *tsdb.Block) bool {
		m := b.Meta()
		return m.MinTime < to && m.MaxTime > from
	})
}

// bounds are what a level keeps: an age in nanoseconds, and bytes, 0 for no bound.
type bounds struct{ age, bytes *atomic.Int64 }

// expiry tells which blocks of a database are to go: what is too old, then the oldest of what is too large.
func expiry(options Options, b bounds, h *clock.Horizon, db *atomic.Pointer[tsdb.DB]) tsdb.BlocksToDeleteFunc {
	return func(blocks []*tsdb.Block) map[ulid.ULID]struct{} {
		gone, keep := map[ulid.ULID]struct{}{}, time.Duration(b.age.Load())
		if len(blocks) == 0 {
			return gone
		}
		slices.SortFunc(blocks, func(a, b *tsdb.Block) int { return cmp.Compare(b.Meta().MaxTime, a.Meta().MaxTime) })
		newest, oldest := time.UnixMilli(blocks[0].Meta().MaxTime), time.UnixMilli(blocks[len(blocks)-1].Meta().MaxTime)
		if now := options.now(); newest.After(now) {
			newest = now
		}
		if !options.eager {
			newest = h.Next(newest, oldest.Add(keep))
		}
		for _, b := range blocks {
			if m := b.Meta(); m.Compaction.Deletable || m.MaxTime < newest.Add(-keep).UnixMilli() {
				gone[m.ULID] = struct{}{}
			}
		}
		if db, most := db.Load(), b.bytes.Load(); db != nil && most > 0 {
			size := db.Head().Size()
			for _, x := range blocks {
				if size += x.Size(); size > most {
					gone[x.Meta().ULID] = struct{}{}
				}
			}
		}
		return gone
	}
}
