package digestsource

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/logdigest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/source"
)

// LogOptions tell which logs are read, and how.
type LogOptions struct {
	Paths []string  // files and pipes; - is Stdin
	Stdin io.Reader // nil = there is none
	// Workers is how many parse at the same time, each with an Aggregator of its own; 0 is one for each processor, at
	// most 8.
	Workers  int
	Config   logdigest.Config
	Progress progress.Sink // bytes as stored
	// PieceSize is how much is read at a time, bytes; 0 = 1 MiB. Figures do not depend on it.
	PieceSize int

	crowd uint64 // of tests: see apart
}

// Result is what was read besides the entries.
type Result struct {
	Files  []digest.File // in the order of their first entries; an entry's file is an index into it
	Source string        // slow_log or general_log, or both
	Notes  []string
	// Failed counts logs that could not be read at all or not to their end; why is among what the Aggregator was told
	// to Skip.
	Failed int
}

// Files digests logs: slow query logs and general logs, plain, in gzip or in zstd, in the order of their first entries.
// One that cannot be read, or only in part, is reported as skipped with the reason, and the others are read. Figures do
// not depend on Workers.
//
// The error is that of ctx, which leaves the figures of what was read so far, or that no path was given.
func Files(ctx context.Context, o LogOptions) (*logdigest.Aggregator, Result, error) {
	if len(o.Paths) == 0 {
		return logdigest.New(o.Config), Result{}, errors.New("no log to read: name files, or - for standard input")
	}
	workers := o.Workers
	if workers <= 0 {
		workers = min(runtime.GOMAXPROCS(0), 8)
	}
	if o.Config.Sample > 0 { // the first ones are meant
		workers = 1
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f, err := newFeed(ctx, o)
	defer f.close()
	if err != nil {
		return logdigest.New(o.Config), f.result, err
	}
	s := newSum(o)
	var g errgroup.Group
	for range workers {
		g.Go(func() error { return f.work(ctx, s, workers > 1) })
	}
	err = g.Wait()
	f.tellSkips(s.total)
	return s.total, f.result, err
}

// work digests pieces until there are no more.
func (f *feed) work(ctx context.Context, s *sum, others bool) error {
	a := logdigest.New(f.o.Config) // nil once all workers share one
	defer func() {
		if a != nil {
			s.add(a)
		}
	}()
	var p *parsing
	for {
		j, ok := f.next(ctx)
		if !ok {
			return ctx.Err()
		}
		if p == nil || p.kind != j.kind {
			p = newParsing(j.kind)
		}
		var told parsingState
		early := others && parallel(j.kind)
		if early {
			told = behind(j.piece.data)
		}
		var before parsingState
		select {
		case before = <-j.before:
		case <-ctx.Done():
			return ctx.Err()
		}
		if early {
			j.after <- before.then(told)
		}
		if a != nil && others && s.crowded() {
			s.add(a)
			a = nil
		}
		into := a
		if a == nil {
			into = s.take()
		}
		c, state := p.piece(j.piece, before, into, j.file)
		if !early {
			j.after <- state
		}
		f.done(j, c, into)
		if a == nil {
			s.give()
		}
	}
}

// input is a log to read.
type input struct {
	path   string
	name   string
	stream *stream // of one that cannot be opened again, with its head
	kind   slowlog.Kind
	first  int64 // time of its first entry, microseconds since 1970, 0 = not known
	size   int64 // as stored
}

// fileSkip is a skip with the number of its file.
type fileSkip struct {
	file int
	skip slowlog.Skip
}

// job is a piece and where it belongs.
type job struct {
	piece  piece
	file   int
	kind   slowlog.Kind
	before <-chan parsingState // behind the piece before
	after  chan<- parsingState
}

// feed hands out the pieces of all logs in order.
type feed struct {
	o    LogOptions
	free *buffers
	logs []input

	mu      sync.Mutex
	at      int // of logs: the next to open
	stream  *stream
	pieces  *pieces
	state   chan parsingState // behind the last piece that was handed out
	result  Result
	skips   []fileSkip // that no aggregator was told of yet
	started time.Time
	shown   time.Time
	before  int64 // bytes of logs that were read
	total   int64
}

// newFeed looks at all logs and brings them into order.
func newFeed(ctx context.Context, o LogOptions) (*feed, error) {
	if o.PieceSize <= 0 {
		o.PieceSize = pieceSize
	}
	f := &feed{o: o, free: &buffers{size: o.PieceSize}, started: time.Now()}
	type known struct {
		id   fileID
		name string
	}
	var seen []known
	var failed []slowlog.Skip
	for _, path := range o.Paths {
		in, err := look(ctx, path, o.Stdin)
		if ctx.Err() != nil {
			return f, ctx.Err()
		}
		if err != nil {
			failed = append(failed, slowlog.Skip{File: nameOf(path), Reason: err.Error()})
			continue
		}
		if st, err := os.Stat(path); err == nil && in.stream == nil {
			id := idOf(st)
			if i := slices.IndexFunc(seen, func(k known) bool { return k.id == id }); i >= 0 {
				f.result.Notes = append(f.result.Notes, fmt.Sprintf("%s is the same file as %s: it was read once", path,
					seen[i].name))
				continue
			}
			seen = append(seen, known{id, path})
		}
		f.logs = append(f.logs, in)
		f.total += in.size
	}
	// Those without a time come last: nothing tells where they belong. 0-1 is the largest number.
	slices.SortStableFunc(f.logs, func(a, b input) int { return cmp.Compare(uint64(a.first-1), uint64(b.first-1)) })
	for _, in := range f.logs {
		f.result.Files = append(f.result.Files, digest.File{Name: in.name})
		f.result.source(in.kind)
	}
	for _, s := range failed { // after those that are read, whose numbers are places in time
		f.result.Files = append(f.result.Files, digest.File{Name: s.File})
		f.result.Failed++
		f.skips = append(f.skips, fileSkip{len(f.result.Files) - 1, s})
	}
	return f, nil
}

func nameOf(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// look opens a log to tell what it is.
func look(ctx context.Context, path string, stdin io.Reader) (input, error) {
	in := input{path: path, name: nameOf(path)}
	s, err := openStream(ctx, path, stdin)
	if err != nil {
		return in, err
	}
	head, err := readHead(s)
	if in.kind = slowlog.Sniff(head); err == nil {
		err = refuse(in.kind, len(head))
	}
	if err != nil {
		s.close()
		return in, err
	}
	in.first, in.size = firstTime(in.kind, head), s.stored
	if s.again {
		s.close()
		return in, nil
	}
	s.Reader = io.MultiReader(bytes.NewReader(head), s.Reader)
	in.stream = s
	return in, nil
}

// readHead reads the beginning of a log. An error that comes after some of it shows again when the log is read.
func readHead(r io.Reader) ([]byte, error) {
	head := make([]byte, headSize)
	n, err := io.ReadFull(r, head)
	if n > 0 || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], err
}

// refuse returns why a log of this kind is not read.
func refuse(k slowlog.Kind, head int) error {
	switch k {
	case slowlog.SlowLog, slowlog.GeneralLog:
		return nil
	case slowlog.Unknown:
		if head == headSize { // a log whose beginning was cut off within a long statement looks like this, too
			return nil
		}
	case slowlog.BinaryLog:
		return fmt.Errorf("it is %v, which has no statement times: name a slow query log", k)
	case slowlog.PostgreSQL:
		return fmt.Errorf("it is %v; logs of MySQL, MariaDB and Percona Server are read", k)
	default:
	}
	return fmt.Errorf("it is %v: name a slow query log or a general log", k)
}

// next returns the next piece of the logs; not ok when there is none, or ctx ended.
func (f *feed) next(ctx context.Context) (job, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ctx.Err() == nil {
		if f.pieces == nil {
			if f.at == len(f.logs) {
				return job{}, false
			}
			f.open(ctx)
			continue
		}
		x, ok := f.pieces.next()
		f.show(!ok)
		if !ok {
			f.leave(ctx)
			continue
		}
		before := f.state
		f.state = make(chan parsingState, 1)
		return job{piece: x, file: f.at - 1, kind: f.logs[f.at-1].kind, before: before, after: f.state}, true
	}
	return job{}, false
}

// open begins the next log.
func (f *feed) open(ctx context.Context) {
	in := &f.logs[f.at]
	f.at++
	s := in.stream
	if s == nil {
		var err error
		if s, err = openStream(ctx, in.path, nil); err != nil { // it was there a moment ago
			f.fail(f.at-1, slowlog.Skip{Reason: err.Error()})
			return
		}
	}
	f.stream = s
	f.pieces = newPieces(s, linesOf(in.kind), f.o.PieceSize, maxEntry, f.free)
	f.state = make(chan parsingState, 1)
	f.state <- parsingState{}
}

// leave ends a log.
func (f *feed) leave(ctx context.Context) {
	i := f.at - 1
	for _, s := range f.pieces.skipped {
		f.skips = append(f.skips, fileSkip{i, s})
	}
	if err := f.pieces.err; err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		f.result.Failed++
	}
	f.result.Files[i].Bytes = f.stream.read.Load()
	f.before += f.result.Files[i].Bytes
	f.stream.close()
	f.stream, f.pieces = nil, nil
	f.logs[i].stream = nil
}

func (f *feed) fail(file int, s slowlog.Skip) {
	f.result.Failed++
	f.skips = append(f.skips, fileSkip{file, s})
}

// show reports how far reading is, not more often than anybody looks.
func (f *feed) show(end bool) {
	now := time.Now()
	end = end && f.at == len(f.logs)
	if f.o.Progress == nil || !end && now.Sub(f.shown) < 50*time.Millisecond {
		return
	}
	f.shown = now
	f.o.Progress.Report(progress.Progress{
		Step: "reading logs", Done: float64(f.before + f.stream.read.Load()),
		Total: float64(f.total), Unit: "bytes", Started: f.started, At: now, End: end,
	})
}

// done takes back a piece that was parsed.
func (f *feed) done(j job, c counts, a *logdigest.Aggregator) {
	from, to := j.piece.offset, j.piece.offset+int64(len(j.piece.data))
	var edges []fileSkip
	for _, s := range c.skips {
		if s.Offset == from || s.Offset+s.Length == to { // may go on in the next piece
			edges = append(edges, fileSkip{j.file, s})
		} else {
			a.Skip(j.file, s)
		}
	}
	f.free.put(j.piece.buf)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.result.Files[j.file].Entries += c.entries
	f.skips = append(f.skips, edges...)
}

// tellSkips tells an aggregator of the skips that it was not told of, those as one that pieces cut in two.
func (f *feed) tellSkips(a *logdigest.Aggregator) {
	slices.SortFunc(f.skips, func(a, b fileSkip) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.skip.Offset, b.skip.Offset))
	})
	for i := 0; i < len(f.skips); {
		s := f.skips[i]
		for i++; i < len(f.skips); i++ {
			if n := f.skips[i]; n.file != s.file || n.skip.Offset != s.skip.Offset+s.skip.Length ||
				n.skip.Reason != s.skip.Reason || n.skip.Length == 0 {
				break
			}
			s.skip.Length += f.skips[i].skip.Length
		}
		a.Skip(s.file, s.skip)
	}
}

// close gives up what is open.
func (f *feed) close() {
	if f.stream != nil {
		f.stream.close()
	}
	for _, in := range f.logs {
		if in.stream != nil && in.stream != f.stream {
			in.stream.close()
		}
	}
}

func (r *Result) source(k slowlog.Kind) {
	s := string(source.SlowLog)
	if k == slowlog.GeneralLog {
		s = string(source.GeneralLog)
	}
	switch {
	case r.Source == "":
		r.Source = s
	case r.Source != s && !strings.Contains(r.Source, ","):
		r.Source = string(source.SlowLog) + "," + string(source.GeneralLog)
		r.Notes = append(r.Notes, "slow query logs and general logs are summed up together: statements of general "+
			"logs have no times")
	}
}
