package digestsource

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/logdigest"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/sketch"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// maxLog bounds how much of a slow log one window reads, bytes; the newest part is read.
const maxLog = 256 << 20

// slowLog follows a slow log on this machine: it reads what was written within the window and no more.
type slowLog struct {
	path   string
	open   func() (*os.File, error)
	whole  bool     // everything is logged: long_query_time=0, no sampling, no limit on rows
	file   *os.File // as it was when the window began: after a rotation the rest of it is still there
	offset int64
	id     fileID
	readTo int64 // how far since has read the log of readID
	readID fileID
	// partial says that since did not read all that was written.
	partial bool
	// short says why it held fewer statements of late than were counted, whatever the settings say; "" while it held
	// all.
	short string
}

// mark remembers where the log ends now.
func (l *slowLog) mark() error {
	l.close()
	f, err := l.open() // also shows that it can be read
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.offset, l.id = f, st.Size(), idOf(st)
	return nil
}

// next goes on where since has read to.
func (l *slowLog) next() error {
	to, id := l.readTo, l.readID
	if err := l.mark(); err != nil {
		return err
	}
	switch {
	case l.id != id: // rotated just now: all of the new one is news
		l.offset = 0
	default:
		l.offset = min(to, l.offset)
	}
	return nil
}

func (l *slowLog) close() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// since digests what was written after mark.
func (l *slowLog) since(own ownLog) (g *grouping, note string, err error) {
	g = newGrouping(own)
	g.all, l.partial = l.whole && l.short == "", false
	f, err := l.open()
	if err != nil {
		return g, "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return g, "", err
	}
	l.readTo, l.readID = st.Size(), idOf(st)
	from := l.offset
	switch {
	case idOf(st) != l.id:
		from, note = 0, "the log was rotated during the window"
		old, err := l.file.Stat()
		if err != nil {
			return g, note, err
		}
		if err := g.read(l.file, max(min(l.offset, old.Size()), old.Size()-maxLog), old.Size()); err != nil {
			return g, note, err
		}
	case st.Size() < from:
		from, note = 0, "the log was truncated during the window: its former contents are not counted"
		l.partial = true
	}
	if st.Size()-from > maxLog {
		note = both(note, fmt.Sprintf("the log grew by %d MB: only the newest %d MB were read",
			(st.Size()-from)>>20, maxLog>>20))
		from, l.partial = st.Size()-maxLog, true
	}
	if err := g.read(f, from, st.Size()); err != nil {
		return g, note, err
	}
	if n := g.skipped(); n > 0 {
		note = both(note, fmt.Sprintf("%d parts of the log could not be read", n))
		l.partial = true
	}
	return g, note, nil
}

func both(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// before returns what an entry can depend on that stands before a place in the log: the server writes "use db;" only
// when it differs from the entry before. It is looked for in the megabyte before.
func before(f io.ReaderAt, at int64) slowlog.State {
	buf := make([]byte, min(at, 1<<20))
	n, _ := f.ReadAt(buf, at-int64(len(buf))) // what cannot be read holds nothing
	buf = buf[:n]
	if at > int64(n) {
		buf = buf[max(slowlog.CutFirst(buf), 0):]
	}
	return slowlog.State{}.After(buf)
}

// maxSchemas bounds the default databases that are told apart.
const maxSchemas = 1000

// grouping sums entries up by default database and class.
type grouping struct {
	room    int // for classes
	own     ownLog
	starts  map[[ownStart]byte]bool // of own, by which most statements are told from it at once
	schemas map[string]*logdigest.Aggregator
	// times is how the times of each class with each default database were distributed, nanoseconds; list fills it
	// where all statements are logged.
	times map[[2]string]*sketch.Bins
	all   bool
	// untold says that there was no room for the times of a class.
	untold bool
	count  uint64 // statements, counted by list
}

// ownLog tells Dyno's own entries of a log: by their session, or as statements that a session begins with, which carry
// no tag.
type ownLog struct {
	owns func(id uint64, user, host string) bool
	sent map[string]uint64 // of target.Sent
	// redact leaves out of statements what does not read the same in every sql_mode, see mytext.Certain
	redact bool
}

func newGrouping(own ownLog) *grouping {
	g := &grouping{
		room: 4 * maxClasses, own: own, starts: map[[ownStart]byte]bool{},
		schemas: map[string]*logdigest.Aggregator{}, times: map[[2]string]*sketch.Bins{},
	}
	for k := range own.sent {
		g.starts[startOf([]byte(k))] = true
	}
	return g
}

// read digests the log from one place to another.
func (g *grouping) read(f io.ReaderAt, from, to int64) error {
	free := &buffers{size: pieceSize}
	ps := newPieces(io.NewSectionReader(f, from, to-from), linesOf(slowlog.SlowLog), pieceSize, maxEntry, free)
	p, state := slowlog.NewParser(), before(f, from)
	var e slowlog.Entry
	for {
		x, ok := ps.next()
		if !ok {
			break
		}
		p.Reset(x.data, from+x.offset, state)
		for p.Next(&e) {
			if g.own.redact {
				e.SQL = mytext.Certain(e.SQL)
			}
			g.of(string(e.DB)).Add(p, &e, 0)
		}
		for _, s := range p.Skipped() {
			g.of("").Skip(0, s)
		}
		state = p.State()
		ps.done(x)
	}
	for _, s := range ps.skipped {
		g.of("").Skip(0, s)
	}
	if ps.err != nil && !errors.Is(ps.err, io.EOF) {
		return ps.err
	}
	return nil
}

// of returns the aggregator of a default database.
func (g *grouping) of(schema string) *logdigest.Aggregator {
	a := g.schemas[schema]
	if a != nil {
		return a
	}
	if len(g.schemas) >= maxSchemas {
		schema = ""
		if a = g.schemas[schema]; a != nil {
			return a
		}
	}
	c := g.config()
	c.Room = &g.room
	a = logdigest.New(c)
	g.schemas[schema] = a
	return a
}

func (g *grouping) config() logdigest.Config {
	return logdigest.Config{MaxSample: maxText, Filter: g.foreign}
}

// ownStart is how much of a key tells most statements apart.
const ownStart = 12

// startOf returns the beginning of a statement's key, or of a key.
func startOf(sql []byte) (s [ownStart]byte) {
	n := 0
	for _, c := range sql {
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '`' || c == ';' {
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		s[n] = c
		if n++; n == len(s) {
			break
		}
	}
	return s
}

// foreign reports whether a statement is not one of Dyno's own.
func (g *grouping) foreign(_ *slowlog.Parser, e *slowlog.Entry) bool {
	tagged := sqltext.Own(e.SQL)
	if !tagged && (len(e.SQL) > 1<<10 || !g.starts[startOf(e.SQL)]) {
		return true
	}
	if !tagged {
		if _, sent := g.own.sent[class.Key(mytext.Fingerprint(string(e.SQL)))]; !sent {
			return true
		}
	}
	return !g.own.owns(e.Thread, string(e.User), string(e.Host))
}

func (g *grouping) skipped() (n uint64) {
	if a := g.schemas[""]; a != nil {
		r, _ := a.Classes(digest.Options{})
		n = r.Global.Skipped
	}
	return n
}

// list returns the classes by default database, at most maxClasses, and how many more there were. Unnamed is how many
// statements came when there were too many to tell them apart.
func (g *grouping) list() (list []class.Class, more int, unnamed uint64) {
	for schema, a := range g.schemas {
		_, classes := a.Classes(digest.Options{Times: g.all})
		for c := range classes {
			if c.Times != nil {
				g.times[[2]string{schema, c.ID}] = c.Times
			}
			g.untold = g.untold || g.all && c.Times == nil
			g.count += c.Count
			if c.Fingerprint == digest.Others {
				unnamed += c.Count
				continue
			}
			list = append(list, classOf(c, schema))
		}
	}
	slices.SortFunc(list, byTime)
	n := min(len(list), maxClasses)
	return list[:n], len(list) - n, unnamed
}

// report returns the same as a report of all databases together. Nothing can be added any more.
func (g *grouping) report() digest.Report {
	all := logdigest.New(g.config())
	for _, schema := range slices.Sorted(maps.Keys(g.schemas)) {
		all.Merge(g.schemas[schema])
	}
	return all.Report(digest.Options{})
}
