package series

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// Report is the health of a store.
type Report struct {
	Dir     string    `json:"dir"`
	Exists  bool      `json:"exists"`
	Bytes   int64     `json:"bytes"`
	Blocks  int       `json:"blocks"`
	Series  int       `json:"series"`  // readable ones, of all names
	Samples int64     `json:"samples"` // readable ones
	From    time.Time `json:"from,omitzero"`
	To      time.Time `json:"to,omitzero"`
	// The level of minutes, see OpenWith.
	MinuteSamples int64     `json:"minute_samples"`
	MinutesFrom   time.Time `json:"minutes_from,omitzero"`
	// what was ahead of the clock once and was moved aside, see setAside
	Aside []Span `json:"aside,omitempty"`
	Lost  []Span `json:"lost"` // none: the store is sound
	// a record cut short by a crash, which loses at most the last append
	Warnings []string `json:"warnings"`
}

// OK reports whether nothing is lost.
func (r Report) OK() bool { return len(r.Lost) == 0 }

const forever = 100 * 365 * 24 * time.Hour

// Check reads every sample of the store in dir against its checksums and changes no sample; like any opening of the
// store it drops a last record that a crash cut short. A damaged store is an answer, not an error. Errors: ErrBusy
// while the store is open anywhere, also in this process; *VersionError.
func Check(ctx context.Context, dir string) (Report, error) {
	r := Report{Dir: dir}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return r, nil
	} else if err != nil {
		return r, failed("check", dir, err)
	}
	r.Exists = true
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err == nil && d.Name() != ballastFile {
			r.Bytes += st.Size()
		}
		return err
	})
	if err != nil {
		return r, failed("check", dir, err)
	}
	s, err := openStill(dir, Options{Retention: forever}) // nothing is dropped here
	var corrupt *CorruptError
	switch {
	case errors.As(err, &corrupt):
		r.Lost = corrupt.Spans
		if len(r.Lost) == 0 {
			r.Lost = []Span{{Where: ".", Cause: corrupt.Error()}}
		}
		return r, nil
	case err != nil:
		return r, err
	}
	defer s.Close()
	r.Warnings = s.Warnings()
	if last, now := time.UnixMilli(newest(s.db)).UTC(), s.options.now(); last.After(now.Add(aheadLimit)) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("what is stored goes up to %s UTC, %v ahead of the clock: when "+
			"dyno serve opens it, that part is "+
			"moved aside", last.Format(time.DateTime), last.Sub(now).Round(time.Second)))
	}
	if r.Aside, err = aside(dir); err != nil {
		return r, failed("check", dir, err)
	}
	r.Blocks = len(s.db.Blocks()) + len(s.minutes.Blocks())
	r.countAll(ctx, s.db, "", func(t time.Time) {
		if r.Samples++; r.Samples == 1 || t.Before(r.From) {
			r.From = t
		}
		if t.After(r.To) {
			r.To = t
		}
	})
	r.countAll(ctx, s.minutes, minutesDir, func(t time.Time) {
		if r.MinuteSamples++; r.MinuteSamples == 1 || t.Before(r.MinutesFrom) {
			r.MinutesFrom = t
		}
	})
	// A series lies in several blocks: count it once.
	names, err := s.db.Querier(math.MinInt64, math.MaxInt64)
	if err == nil {
		set := names.Select(ctx, false, &storage.SelectHints{Start: math.MinInt64, End: math.MaxInt64, Func: "series"},
			every())
		for set.Next() {
			r.Series++
		}
		err = errors.Join(set.Err(), names.Close())
	}
	if err != nil && r.OK() && ctx.Err() == nil {
		r.Lost = append(r.Lost, Span{Where: ".", Cause: err.Error()})
	}
	return r, ctx.Err()
}

// aside returns the blocks of every second that were moved aside.
func aside(dir string) (spans []Span, err error) {
	parts, err := filepath.Glob(filepath.Join(dir, asideDir, "*"))
	for _, part := range parts {
		err = errors.Join(err, eachBlock(part, func(path string) {
			m, _ := readMeta(path) // without it its times are unknown
			spans = append(spans, Span{
				Where: rel(dir, path), From: m.from(), To: m.to(),
				Cause: "ahead of the clock when it was moved",
			})
		}))
	}
	return spans, err
}

// every matches all series.
func every() *labels.Matcher {
	return labels.MustNewMatcher(labels.MatchNotEqual, nameLabel, "")
}

// countAll reads all samples of a database, which lies in dir below the store.
func (r *Report) countAll(ctx context.Context, db *tsdb.DB, dir string, each func(time.Time)) {
	count := func(b tsdb.BlockReader, lo, hi int64) error {
		q, err := tsdb.NewBlockQuerier(b, lo, hi)
		if err != nil {
			return err
		}
		return errors.Join(drain(ctx, q, []*labels.Matcher{every()}, func(t int64) { each(time.UnixMilli(t)) }),
			q.Close())
	}
	for _, b := range db.Blocks() {
		m := b.Meta()
		if err := count(b, m.MinTime, m.MaxTime-1); err != nil {
			x := blockSpan(b, err)
			x.Where = filepath.Join(dir, x.Where)
			r.Lost = append(r.Lost, x)
		}
	}
	if h := db.Head(); h.NumSeries() > 0 {
		if err := count(h, h.MinTime(), h.MaxTime()); err != nil {
			r.Lost = append(r.Lost, Span{
				Where: filepath.Join(dir, "wal"), From: time.UnixMilli(h.MinTime()),
				To: time.UnixMilli(h.MaxTime()), Cause: err.Error(),
			})
		}
	}
}

// drain reads all samples that q has for the matchers.
func drain(ctx context.Context, q storage.Querier, ms []*labels.Matcher, each func(t int64)) error {
	set := q.Select(ctx, false, nil, ms...)
	var it chunkenc.Iterator
	for set.Next() {
		it = set.At().Iterator(it)
		for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
			each(it.AtT())
		}
		if err := it.Err(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return set.Err()
}

// unreadable names the blocks that caused a failed read.
func unreadable(ctx context.Context, dir string, db *tsdb.DB, ms []*labels.Matcher, from, to int64, cause error) error {
	e := &CorruptError{Op: "read", Dir: dir, Err: cause}
	for _, b := range db.Blocks() {
		m := b.Meta()
		if m.MaxTime <= from || m.MinTime > to {
			continue
		}
		q, err := tsdb.NewBlockQuerier(b, from, to)
		if err == nil {
			err = errors.Join(drain(ctx, q, ms, func(int64) {}), q.Close())
		}
		if err != nil {
			e.Spans = append(e.Spans, blockSpan(b, err))
		}
	}
	if len(e.Spans) == 0 {
		return failed("read", dir, cause)
	}
	return e
}

func blockSpan(b *tsdb.Block, err error) Span {
	m := b.Meta()
	return Span{
		Where: m.ULID.String(), From: time.UnixMilli(m.MinTime), To: time.UnixMilli(m.MaxTime - 1),
		Cause: err.Error(),
	}
}

// scanBlocks opens every block. The database itself would pass over one without a description in silence. A block that
// a sound one replaces does not count.
func scanBlocks(dir string) (spans []Span, err error) {
	replaced := map[string]bool{}
	err = eachBlock(dir, func(path string) {
		m, err := readMeta(path)
		var b *tsdb.Block
		if err == nil {
			b, err = tsdb.OpenBlock(nil, path, nil, nil)
		}
		if err != nil {
			spans = append(spans, Span{Where: rel(dir, path), From: m.from(), To: m.to(), Cause: err.Error()})
			return
		}
		for _, p := range b.Meta().Compaction.Parents {
			replaced[p.ULID.String()] = true
		}
		_ = b.Close()
	})
	return slices.DeleteFunc(spans, func(s Span) bool { return replaced[s.Where] }), err
}

func eachBlock(dir string, f func(path string)) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, d := range files {
		if d.IsDir() && isBlock(d.Name()) {
			f(filepath.Join(dir, d.Name()))
		}
	}
	return nil
}

// meta is the part of a block's description that tells its time.
type meta struct {
	MinTime *int64 `json:"minTime"`
	MaxTime *int64 `json:"maxTime"`
	Version int    `json:"version"`
}

func readMeta(block string) (m meta, err error) {
	b, err := os.ReadFile(filepath.Join(block, "meta.json"))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return meta{}, fmt.Errorf("meta.json: %w", err)
	}
	if m.MinTime == nil || m.MaxTime == nil || m.Version != 1 {
		return m, fmt.Errorf("meta.json: version %d, or without a time", m.Version)
	}
	return m, nil
}

func (m meta) from() time.Time {
	if m.MinTime == nil {
		return time.Time{}
	}
	return time.UnixMilli(*m.MinTime)
}

func (m meta) to() time.Time {
	if m.MaxTime == nil {
		return time.Time{}
	}
	return time.UnixMilli(*m.MaxTime - 1)
}

// Text tells the report to people, in a few lines.
func (r Report) Text() string {
	if !r.Exists {
		return fmt.Sprintf("series %s: nothing stored yet\n", r.Dir)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "series %s: %d bytes, %d blocks, %d series, %d samples readable", r.Dir, r.Bytes,
		r.Blocks, r.Series, r.Samples)
	if r.Samples > 0 {
		fmt.Fprintf(&b, ", from %s to %s UTC", r.From.UTC().Format(time.DateTime), r.To.UTC().Format(time.DateTime))
	}
	b.WriteByte('\n')
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "  note: %s\n", w)
	}
	for _, s := range r.Aside {
		fmt.Fprintf(&b, "  moved aside: %s\n", s)
	}
	if r.OK() {
		b.WriteString("sound: every sample was read against its checksum\n")
		return b.String()
	}
	b.WriteString("DAMAGED, these cannot be read:\n")
	for _, s := range r.Lost {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	b.WriteString("Nothing was deleted. To start over, move the directory aside.\n")
	return b.String()
}
