package digestsource

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/logdigest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// Entries gives the entries of logs one after the other, for who wants the statements themselves. It reads what Files
// reads, in the same order. Next is for one goroutine; Close may be called by another.
type Entries struct {
	ctx   context.Context
	stop  context.CancelFunc
	mu    sync.Mutex
	f     *feed
	job   job
	open  bool // job's piece is being parsed
	file  int
	slow  *slowlog.Parser
	other *slowlog.GeneralParser
	state slowlog.State         // behind the piece
	n     uint64                // entries of the piece
	sum   *logdigest.Aggregator // of what was skipped, nothing else
	o     logdigest.Config      // chooses the entries
}

// OpenEntries looks at the logs. Of Config, what chooses entries counts (Since, Until, Filter), and Workers play no
// part. Logs that cannot be read are told by Close. The error is that of ctx, that no path was given, or that none of
// the logs can be read.
func OpenEntries(ctx context.Context, o LogOptions) (*Entries, error) {
	if len(o.Paths) == 0 {
		return nil, errors.New("no log to read: name files, or - for standard input")
	}
	ctx, stop := context.WithCancel(ctx)
	f, err := newFeed(ctx, o)
	if err != nil {
		f.close()
		stop()
		return nil, err
	}
	if len(f.logs) == 0 {
		f.close()
		stop()
		s := f.skips[0].skip
		return nil, errors.New("read " + s.File + ": " + s.Reason)
	}
	return &Entries{ctx: ctx, stop: stop, f: f, file: -1, sum: logdigest.New(logdigest.Config{}), o: o.Config}, nil
}

// Next fills e with the next entry, whose slices are valid until the call after; io.EOF after the last one, and the
// error of the context soon after that has ended.
func (x *Entries) Next(e *slowlog.Entry) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		if x.open {
			if x.parse(e) {
				x.n++
				if e.Admin || x.o.Chosen(x.slow, e) { // the end of a session counts whenever it is
					return nil
				}
				continue
			}
			x.leave()
		}
		j, ok := x.f.next(x.ctx)
		if !ok {
			if err := x.ctx.Err(); err != nil {
				return err
			}
			return io.EOF
		}
		x.begin(j)
	}
}

// Close ends a Next that waits for input, gives up what is open and tells what was read, and what could not be: the
// first digest.MaxSkips parts of it, and how many there are.
func (x *Entries) Close() (r Result, skipped []digest.Skip, skips uint64) {
	x.stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open {
		x.leave()
	}
	x.f.close()
	x.f.tellSkips(x.sum)
	told := x.sum.Report(digest.Options{Files: x.f.result.Files})
	return x.f.result, told.Skipped, told.Global.Skipped
}

func (x *Entries) parse(e *slowlog.Entry) bool {
	if x.other != nil {
		return x.other.Next(e)
	}
	return x.slow.Next(e)
}

// begin begins with a piece.
func (x *Entries) begin(j job) {
	if j.file != x.file {
		x.file, x.state, x.slow, x.other = j.file, slowlog.State{}, nil, nil
		if j.kind == slowlog.GeneralLog {
			x.other = slowlog.NewGeneralParser()
		} else {
			x.slow = slowlog.NewParser()
		}
	}
	x.job, x.open, x.n = j, true, 0
	if x.other != nil {
		x.other.Reset(j.piece.data, j.piece.offset, x.state)
	} else {
		x.slow.Reset(j.piece.data, j.piece.offset, x.state)
	}
}

// leave is done with a piece.
func (x *Entries) leave() {
	c := counts{entries: x.n}
	if x.other != nil {
		x.state, c.skips = x.other.State(), x.other.Skipped()
	} else {
		x.state, c.skips = x.slow.State(), x.slow.Skipped()
	}
	x.open = false
	x.f.done(x.job, c, x.sum)
}
