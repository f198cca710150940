package digestsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/logdigest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// FollowOptions tell how a log is followed. The zero value reads a log from its beginning and keeps no state.
type FollowOptions struct {
	Config logdigest.Config
	// State is the file that keeps what was counted and up to where, so that a later Follow goes on there; "" = none.
	// Mark stands in it for what the figures depend on, such as the text of a filter: a state with another mark is
	// refused.
	State, Mark string
	// FromEnd begins at the end of the log, when there is no state yet.
	FromEnd bool
	// Poll is the time between two looks at the log, 0 = 100 ms; Every that between two calls of each, 0 = 1 s.
	Poll, Every time.Duration
	// Settle is how long the log's last entry must have stood unchanged to be taken for whole before the next one
	// begins; 0 = 1 s.
	Settle time.Duration
}

func (o FollowOptions) defaults() FollowOptions {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&o.Poll, 100*time.Millisecond)
	set(&o.Every, time.Second)
	set(&o.Settle, time.Second)
	return o
}

// Update is what each is given. Its aggregators are valid during the call.
type Update struct {
	Total  *logdigest.Aggregator // all that was counted, before a restart too
	Delta  *logdigest.Aggregator // since the last call
	Result Result                // of Total
}

// Follow reads a log while it is written, until ctx ends; that is no error. A log that does not exist yet is waited
// for.
//
// An entry counts once it is whole: when the next one begins, when its log was rotated away, or when it ends as the
// server ends entries and stayed so for Settle.
//
// A log that was renamed is read to its end once the new one holds something, since the server writes to the old one
// until it is told to open its logs anew. A log that was copied and truncated goes on in the copy, and then from its
// beginning. Files that came and went in between, or while Dyno was not running, are found beside the log by their
// first bytes and times: slow.log.1, slow.log-20261121, slow.log.2.gz. What is found no more is told in Result.Skipped.
//
// With State, all figures and the place in the log are replaced together, about once a second, or less often when they
// are many: killed at any moment, Follow goes on without a gap and counts nothing twice.
func Follow(
	ctx context.Context, path string, o FollowOptions, each func(Update) error,
) (*logdigest.Aggregator, Result, error) {
	o = o.defaults()
	f := &follower{
		path: path, find: finder{path: path}, o: o, total: logdigest.New(o.Config), delta: logdigest.New(o.Config),
		free: &buffers{size: pieceSize}, each: each, flushed: time.Now(),
	}
	defer f.close()
	if err := f.start(ctx); err != nil {
		return f.total, f.result, err
	}
	tick := time.NewTicker(o.Poll)
	defer tick.Stop()
	for {
		err := f.poll(ctx)
		if ctx.Err() != nil {
			// What is whole by now is counted, the rest by the next one.
			err = f.flush(true)
			return f.total, f.result, err
		}
		if err == nil && time.Since(f.flushed) >= o.Every {
			err = f.flush(false)
		}
		if err != nil {
			return f.total, f.result, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// follower is a Follow at work.
type follower struct {
	path string
	o    FollowOptions
	each func(Update) error
	free *buffers
	find finder

	state  *stateFile
	at     place
	total  *logdigest.Aggregator
	delta  *logdigest.Aggregator
	result Result

	file   *os.File
	name   string // of file, when it was opened
	live   *growing
	pieces *pieces // nil until the log's kind shows
	parse  *parsing
	behind parsingState // behind what was counted of this log
	index  int          // of the file in result.Files

	grown    time.Time // when the log was last seen to grow
	length   int64     // bytes it had then
	looked   time.Time // when files beside the log were last looked for
	flushed  time.Time
	saveNext time.Time
	dirty    bool // something to save
}

// saved is the head of the state file.
type saved struct {
	Path   string       `json:"path"`
	Mark   string       `json:"mark,omitzero"`
	At     place        `json:"at"`
	Parser parsingState `json:"parser"`
	Result Result       `json:"result"`
}

// start opens what is to be read first: the log, or where the state says.
func (f *follower) start(ctx context.Context) error {
	if st, err := os.Stat(f.path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("follow %s: it is not a regular file: without --follow it is read to its end", f.path)
	}
	if f.o.State != "" {
		s, err := openState(f.o.State)
		if err != nil {
			return err
		}
		f.state = s
		var h saved
		aggregate, ok, err := s.load(&h)
		if err != nil {
			return err
		}
		if ok {
			return f.resume(ctx, h, aggregate)
		}
	}
	var err error
	if f.at, err = f.find.beginning(ctx); err != nil || !f.o.FromEnd {
		return err // poll opens the log
	}
	return f.openEnd(ctx)
}

// resume goes on where a state ends.
func (f *follower) resume(ctx context.Context, h saved, aggregate []byte) error {
	abs, err := filepath.Abs(f.path)
	if err != nil {
		return err
	}
	refuse := func(what string) error {
		return fmt.Errorf("use %w %s: it was made %s; give another --state to start over", ErrState, f.o.State, what)
	}
	switch {
	case h.Path != abs:
		return refuse("of the log " + h.Path)
	case h.Mark != f.o.Mark:
		return refuse(fmt.Sprintf("with %q, not with %q", h.Mark, f.o.Mark))
	}
	if f.total, err = logdigest.ReadState(f.o.Config, aggregate); err != nil {
		return fmt.Errorf("read %w %s: %w: move it away to start over", ErrState, f.o.State, err)
	}
	f.result = h.Result
	f.at = h.At
	if h.At.First == 0 { // between two logs, or at one without an entry
		f.at = h.At.next()
		return nil
	}
	for range 10 {
		c, err := f.find.locate(ctx, h.At)
		if err != nil {
			return err
		}
		if c == nil {
			if h.At.Offset > 0 {
				f.fail(f.path, h.At.Offset, "the log that was read to here is gone: what was written to it "+
					"afterwards is not counted")
			}
			f.at = h.At.next()
			return nil
		}
		if ok, err := f.enter(ctx, c, h.At, h.Parser); ok || err != nil {
			return err
		}
	}
	return fmt.Errorf("follow %s: it is rotated all the time", f.path)
}

// advance goes over to the logs that follow a place between two logs, up to the one that is being written. That there
// is none is no error.
func (f *follower) advance(ctx context.Context) error {
	for f.file == nil {
		if _, err := os.Stat(f.path); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		c, err := f.find.successor(ctx, f.at)
		if err != nil || c == nil {
			return err
		}
		if _, err := f.enter(ctx, c, f.at, parsingState{}); err != nil {
			return err
		}
	}
	return nil
}

// enter begins to read a log that may still be written, and reads a compressed one to its end. Not ok when another file
// has its name by now.
func (f *follower) enter(ctx context.Context, c *candidate, at place, before parsingState) (ok bool, err error) {
	if c.plain || c.path == f.path {
		return f.open(c, at, before)
	}
	return f.whole(ctx, c, at, before)
}

// whole reads a log that was compressed from a place to its end. Not ok when another file has its name by now.
func (f *follower) whole(ctx context.Context, c *candidate, at place, before parsingState) (ok bool, err error) {
	s, err := openStream(ctx, c.path, nil)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil && ctx.Err() != nil {
		return false, ctx.Err()
	}
	at.File, at.Head, at.First = c.id, printOf(c.head), c.first
	var head []byte
	var kind slowlog.Kind
	if err == nil {
		defer s.close()
		if s.id != c.id {
			return false, nil
		}
		head, err = readHead(s)
		if err == nil && !bytes.HasPrefix(head, c.head) { // the number of a file that was removed
			return false, nil
		}
		kind = slowlog.Sniff(head)
	}
	f.at, f.behind = at, before
	if err == nil {
		err = refuse(kind, len(head))
	}
	if err != nil {
		f.fail(c.path, at.Offset, err.Error())
		f.ended()
		return true, nil
	}
	f.begin(c.path, kind)
	in := io.MultiReader(bytes.NewReader(head), s)
	if _, err := io.CopyN(io.Discard, in, at.Offset); err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		f.fail(c.path, at.Offset, fmt.Sprintf(unreadable, err))
		f.ended()
		return true, nil
	}
	f.pieces = newPieces(in, linesOf(kind), pieceSize, maxEntry, f.free)
	f.pieces.offset = at.Offset
	for ctx.Err() == nil {
		x, ok := f.pieces.next()
		if ctx.Err() != nil { // what was read may be cut off
			break
		}
		if !ok {
			f.ended()
			return true, nil
		}
		if err := f.count(x); err != nil {
			return false, err
		}
	}
	return false, ctx.Err()
}

// begin notes that a log of a kind is read now.
func (f *follower) begin(path string, kind slowlog.Kind) {
	f.parse = newParsing(kind)
	f.result.source(kind)
	f.index = f.fileIndex(path)
}

// fileIndex returns the number of a file, under the name that it has now.
func (f *follower) fileIndex(path string) int {
	if n := len(f.result.Files); n > 0 && f.result.Files[n-1].Name == path && f.at.Offset > 0 {
		return n - 1 // gone on with
	}
	f.result.Files = append(f.result.Files, digest.File{Name: path})
	return len(f.result.Files) - 1
}

// fail notes that a log, or what follows a place in it, is not counted.
func (f *follower) fail(path string, offset int64, reason string) {
	f.result.Failed++
	f.delta.Skip(f.fileIndex(path), slowlog.Skip{Offset: offset, Reason: reason})
	f.dirty = true
}

// ended leaves a log that was read to its end.
func (f *follower) ended() {
	f.takeSkips()
	f.dirty = true
	f.at, f.behind = f.at.next(), parsingState{}
	f.pieces, f.parse = nil, nil
	if f.file != nil {
		f.file.Close()
		f.file, f.live = nil, nil
	}
}

// open begins to read a log that may still be written. Not ok when another file has its name by now.
func (f *follower) open(c *candidate, at place, before parsingState) (ok bool, err error) {
	file, err := os.Open(c.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("follow %s: %w", f.path, reason(err))
	}
	st, err := file.Stat()
	if err == nil && idOf(st) == c.id {
		head := make([]byte, len(c.head))
		if _, err = file.ReadAt(head, 0); err == nil || errors.Is(err, io.EOF) {
			ok, err = bytes.Equal(head, c.head), nil // another file may have the number of one that was removed
		}
	}
	if !ok {
		file.Close()
		return false, reason(err)
	}
	at.File = c.id // the rest of what tells it apart comes with its first entry
	f.file, f.name, f.at, f.behind = file, c.path, at, before
	f.live = &growing{file: file, offset: at.Offset, head: c.head[:min(len(c.head), at.Head.Size)]}
	f.pieces, f.parse = nil, nil
	f.length, f.grown = -1, time.Now()
	return true, nil
}

// openEnd begins at the end of the log.
func (f *follower) openEnd(ctx context.Context) error {
	if err := f.advance(ctx); err != nil || f.file == nil {
		return err
	}
	st, err := f.file.Stat()
	if err != nil {
		return err
	}
	head, err := readHead(io.NewSectionReader(f.file, 0, st.Size()))
	if err != nil {
		return fmt.Errorf("follow %s: %w", f.path, reason(err))
	}
	f.at.Offset, f.live.offset = st.Size(), st.Size()
	f.at.First, f.live.head = firstTime(slowlog.Sniff(head), head), head[:min(len(head), printSize)]
	f.at.Head = printOf(f.live.head)
	return nil
}

// poll reads what was written, and goes over to the next log when there is one.
func (f *follower) poll(ctx context.Context) error {
	for ctx.Err() == nil {
		if f.file == nil {
			if err := f.advance(ctx); err != nil || f.file == nil {
				return err
			}
		}
		if err := f.read(ctx); err != nil {
			return err
		}
		if f.file == nil {
			continue
		}
		if f.live.truncated {
			if err := f.truncated(ctx); err != nil {
				return err
			}
			continue
		}
		if over, err := f.over(ctx); err != nil {
			return err
		} else if !over {
			return f.settle()
		}
		if err := f.read(ctx); err != nil { // what came between the last look and the rotation
			return err
		}
		if f.file == nil || f.live.truncated {
			continue
		}
		if err := f.last(); err != nil {
			return err
		}
		f.ended()
	}
	return nil
}

// over reports whether another log has taken the place of the one that is read.
func (f *follower) over(ctx context.Context) (bool, error) {
	st, err := os.Stat(f.path)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return false, fmt.Errorf("follow %s: %w", f.path, reason(err))
	case err == nil && idOf(st) == f.at.File:
		return false, nil
	case err == nil && st.Size() > 0:
		return true, nil
	}
	// Renamed, but not yet replaced by a log that holds something: the server still writes to the old one, if that is
	// not an older one.
	if time.Since(f.looked) < f.o.Settle {
		return false, nil
	}
	f.looked = time.Now()
	c, err := f.find.successor(ctx, f.at.next())
	// This log itself is none of them: it may have got its first entry only now, and gets more.
	return c != nil && c.first > 0 && c.id != f.at.File, err
}

// read counts the whole entries that the log has now.
func (f *follower) read(ctx context.Context) error {
	if f.pieces == nil {
		if ok, err := f.identify(ctx); !ok || err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		x, ok := f.pieces.next()
		if !ok {
			break
		}
		if err := f.count(x); err != nil {
			return err
		}
	}
	return nil
}

// identify finds out what kind of log it is; not ok while there is too little of it.
func (f *follower) identify(ctx context.Context) (ok bool, err error) {
	if f.live.truncated {
		return false, nil
	}
	head, err := readHead(io.NewSectionReader(f.file, 0, headSize))
	if err != nil {
		return false, fmt.Errorf("follow %s: %w", f.path, reason(err))
	}
	kind := slowlog.Sniff(head)
	if kind == slowlog.Empty || kind == slowlog.Unknown && len(head) < headSize {
		return false, nil
	}
	if err := refuse(kind, len(head)); err != nil {
		return false, fmt.Errorf("follow %s: %w", f.path, err)
	}
	if f.at.First == 0 {
		first := firstTime(kind, head)
		if first == 0 && len(head) < headSize {
			return false, nil
		}
		// Since it was opened it may have been copied and truncated: then the copy comes first.
		if c, err := f.find.successor(ctx, f.at); err != nil {
			return false, err
		} else if c == nil || c.id != f.at.File || c.first != first {
			f.ended()
			return false, nil
		}
		f.at.First = first
		f.live.head = head[:min(len(head), printSize)]
		f.at.Head = printOf(f.live.head)
	}
	f.begin(f.name, kind)
	f.pieces = newPieces(f.live, linesOf(kind), pieceSize, maxEntry, f.free)
	f.pieces.offset, f.pieces.open = f.at.Offset, true
	return true, nil
}

// settle counts the last entry once it has stood unchanged for long enough.
func (f *follower) settle() error {
	if f.pieces == nil {
		return nil
	}
	if f.live.offset != f.length {
		f.length, f.grown = f.live.offset, time.Now()
	}
	if time.Since(f.grown) < f.o.Settle || !looksWhole(f.parse.kind, f.pieces.buf) {
		return nil
	}
	return f.last()
}

// last counts what follows the last boundary.
func (f *follower) last() error {
	if f.pieces == nil {
		return nil
	}
	x, ok := f.pieces.rest()
	if !ok {
		return nil
	}
	return f.count(x)
}

// truncated goes on in the copy of a log that was copied and truncated.
func (f *follower) truncated(ctx context.Context) error {
	at, before := f.at, f.behind
	if at.First == 0 { // nothing was counted: the copy is as good as any log that was not read
		f.ended()
		return nil
	}
	for range 10 {
		c, err := f.find.locate(ctx, at)
		if err != nil {
			return err
		}
		if c == nil {
			break
		}
		f.ended()
		if ok, err := f.enter(ctx, c, at, before); ok || err != nil {
			return err
		}
	}
	if f.pieces != nil && looksWhole(f.parse.kind, f.pieces.buf) {
		if err := f.last(); err != nil {
			return err
		}
	}
	f.result.Notes = append(f.result.Notes, fmt.Sprintf("%s was truncated after byte %d was read, and there is no "+
		"rotated copy of it: what was written to it just before is not counted", f.path, f.at.Offset))
	f.ended()
	return nil
}

// count counts the entries of a piece, and takes note of how far that is.
func (f *follower) count(x piece) error {
	c, behind := f.parse.piece(x, f.behind, f.delta, f.index)
	for _, s := range c.skips {
		f.delta.Skip(f.index, s)
	}
	f.takeSkips()
	f.behind = behind
	f.at.Offset = x.offset + int64(len(x.data))
	f.pieces.done(x)
	file := &f.result.Files[f.index]
	file.Entries += c.entries
	file.Bytes = f.at.Offset
	f.dirty = true
	if err := f.print(); err != nil {
		return err
	}
	if time.Since(f.flushed) >= f.o.Every {
		return f.flush(false)
	}
	return nil
}

// takeSkips notes what was passed over between pieces.
func (f *follower) takeSkips() {
	if f.pieces == nil {
		return
	}
	for _, s := range f.pieces.skipped {
		f.delta.Skip(f.index, s)
	}
	f.pieces.skipped = nil
}

// print remembers the log's first bytes, up to as many as tell it from any other.
func (f *follower) print() error {
	n := min(f.at.Offset, printSize)
	if f.live == nil || int64(len(f.live.head)) >= n {
		return nil
	}
	head := make([]byte, n)
	if _, err := f.file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("follow %s: %w", f.path, reason(err))
	} else if err != nil {
		return nil //nolint:nilerr // truncated: the next read finds that out
	}
	if string(head[:len(f.live.head)]) != string(f.live.head) {
		return nil
	}
	f.live.head = head
	f.at.Head = printOf(head)
	return nil
}

// flush adds what was counted since the last time to the total, saves it and tells it.
func (f *follower) flush(end bool) error {
	u := Update{Total: f.total, Delta: f.delta, Result: f.result}
	if f.dirty {
		f.total.Merge(f.delta)
	}
	if f.state != nil && f.dirty && (end || !time.Now().Before(f.saveNext)) {
		if err := f.save(); err != nil {
			return err
		}
	}
	f.delta = logdigest.New(f.o.Config)
	var err error
	if f.each != nil {
		err = f.each(u)
	}
	f.flushed = time.Now()
	return err
}

// save writes the state. It takes no more than a twentieth of the time.
func (f *follower) save() error {
	abs, err := filepath.Abs(f.path)
	if err != nil {
		return err
	}
	h := saved{Path: abs, Mark: f.o.Mark, At: f.at, Parser: f.behind, Result: f.result}
	began := time.Now()
	if err := f.state.save(h, f.total.AppendState); err != nil {
		return err
	}
	f.dirty = false
	f.saveNext = time.Now().Add(20 * time.Since(began))
	return nil
}

func (f *follower) close() {
	if f.file != nil {
		f.file.Close()
	}
	if f.state != nil {
		f.state.close()
	}
}

// growing reads a log that is being written, up to its present end.
type growing struct {
	file      *os.File
	offset    int64
	head      []byte // its first bytes, as far as they are known
	truncated bool   // it does not go on where it was read to
}

func (l *growing) Read(p []byte) (int, error) {
	if l.truncated {
		return 0, io.EOF
	}
	n, err := l.file.ReadAt(p, l.offset)
	// Looked at after reading, so that what was read is of the log that begins like this.
	if !l.same() {
		l.truncated = true
		return 0, io.EOF
	}
	l.offset += int64(n)
	if n > 0 {
		return n, nil
	}
	return 0, err
}

// same reports whether the log is as long and begins as it did.
func (l *growing) same() bool {
	st, err := l.file.Stat()
	if err != nil || st.Size() < l.offset {
		return err != nil // an error shows when reading
	}
	head := make([]byte, len(l.head))
	_, err = l.file.ReadAt(head, 0)
	return err == nil && string(head) == string(l.head)
}
