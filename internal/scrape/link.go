package scrape

import (
	"context"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/reading"
)

// Parts are what one scraper needs of a server: a family of servers fills them in. A source asks on the link of its
// cost. At most one entry has Totals.
type Parts struct {
	Entries []Entry // in the order in which they are read
	Light   Link    // that light sources ask on; never nil
	Heavy   Link    // that heavy ones ask on, so that these hold nobody up; nil where there are none
	Errors  Errors  // nil where errors say all themselves, as *endpoint.Error
	// Redact takes the literals of statements out of a reading before anyone gets it; nil where they stay.
	Redact func(*reading.Reading)
	// Remote is read by entries of Machine; nil for none. The scraper begins its turns, and closes it.
	Remote *host.Remote
}

// Entry is a source with how it is read.
type Entry struct {
	Traits
	Source Source
}

// Link is a connection of a scraper and what it has taken. It is used by one goroutine at a time.
type Link interface {
	// Used returns what it has taken so far.
	Used() Usage
	// Retry forgets that logins have failed: the next question tries again at once.
	Retry()
	// Ping keeps a connection that is open from being ended because it says nothing.
	Ping(ctx context.Context)
	// Hold keeps others of Dyno from the server until release, so that its totals and Dyno's part of them are of one
	// moment.
	Hold() (release func())
	// Read ends the reading of the server's totals: it calls release, and done is called when the light sources are
	// read.
	Read(ctx context.Context, release func()) (done func(ctx context.Context))
	// Work begins the reading of the heavy sources; done is called when they are read.
	Work() (done func(ctx context.Context))
	// Close ends the connection.
	Close()
}

// Usage counts what a link has taken since it was made.
type Usage struct {
	Server     time.Duration // wall-clock time of its statements but for the way there and back
	Statements uint64
	Rows       uint64
	Bytes      uint64 // of the values in these rows
}

// Minus returns what came on top of o.
func (u Usage) Minus(o Usage) Usage {
	return Usage{u.Server - o.Server, u.Statements - o.Statements, u.Rows - o.Rows, u.Bytes - o.Bytes}
}

// Plus returns the sum.
func (u Usage) Plus(o Usage) Usage {
	return Usage{u.Server + o.Server, u.Statements + o.Statements, u.Rows + o.Rows, u.Bytes + o.Bytes}
}

// Errors tells what the errors of a family's connections mean.
type Errors interface {
	Kind(err error) endpoint.Kind
	Hint(err error) string
	// Answered reports whether an error is the server's own answer.
	Answered(err error) bool
	// Refused reports whether a server that is there did not let Dyno in.
	Refused(err error) bool
}

// plainErrors is for errors that say all themselves.
type plainErrors struct{}

func (plainErrors) Kind(err error) endpoint.Kind { return endpoint.KindOf(err) }
func (plainErrors) Hint(err error) string        { return endpoint.HintOf(err) }

func (p plainErrors) Answered(err error) bool {
	k := p.Kind(err)
	return k == endpoint.Denied || k == endpoint.NoSuchDatabase || p.Refused(err)
}

func (plainErrors) Refused(err error) bool {
	k := endpoint.KindOf(err)
	return k == endpoint.AuthFailed || k == endpoint.TooManyConnections
}
