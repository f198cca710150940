// Package collector is the schedule of watching a target: it finds the server, scrapes it for as long as a session
// lasts, and decides when to try again after a failure. What a session reads, and where that goes, is the caller's.
package collector

import (
	"context"
	"io"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/guard"
)

const (
	// OpenTime bounds finding a server and learning what it is: one that lets Dyno in and says nothing more is down.
	OpenTime = 30 * time.Second
	// RefusedEvery is how often a session is given up at most because a login was refused: servers lock accounts that
	// are refused often.
	RefusedEvery = 15 * time.Second
	// steady is how long a session lasts at least whose end says nothing of the next one's.
	steady = time.Minute
)

// Loop watches one target, an open server of which is an S.
type Loop[S io.Closer] struct {
	Every    time.Duration // between two scrapes
	OpenTime time.Duration // usually the constant
	Open     func(context.Context) (S, error)
	// Session scrapes an open target until ctx ends. Without an error the next session begins soon: the server was
	// started again, or rights have changed.
	Session func(context.Context, S) error
	// Down is called for each scrape that is due while there is no session, with the reason.
	Down func(at time.Time, why error)
	// Patience returns how long to wait after an attempt that failed, when the wait before it was pause.
	Patience func(err error, pause time.Duration) time.Duration
}

// Run ends with ctx; a server that cannot be reached is no error but a state.
func (l *Loop[S]) Run(ctx context.Context) {
	pause, soon := l.Every, time.Duration(0)
	for ctx.Err() == nil {
		t, ok := l.find(ctx)
		if !ok {
			return
		}
		began := time.Now()
		err := l.Session(ctx, t)
		t.Close()
		if time.Since(began) > steady {
			pause, soon = l.Every, 0
		}
		if err == nil {
			wait(ctx, soon)
			soon = min(max(l.Every, 2*soon), RefusedEvery)
			continue
		}
		if ctx.Err() != nil {
			continue
		}
		for again := time.Now().Add(pause); ; {
			l.Down(l.next(clock.Now()), err)
			if !wait(ctx, l.Every) || !time.Now().Before(again) {
				break
			}
		}
		pause = l.Patience(err, pause)
	}
}

// next returns when the next scrape is due.
func (l *Loop[S]) next(now time.Time) time.Time { return now.Truncate(l.Every).Add(l.Every) }

// find opens the target, as often as it takes.
func (l *Loop[S]) find(ctx context.Context) (S, bool) {
	type answer struct {
		t   S
		err error
	}
	var none S
	var last error
	for pause := l.Every; ; pause = l.Patience(last, pause) {
		found := make(chan answer, 1)
		go func() {
			octx, cancel := context.WithTimeout(ctx, l.OpenTime)
			defer cancel()
			var a answer
			a.err = guard.Run(func() (err error) { a.t, err = l.Open(octx); return err })
			found <- a
		}()
		tried, again := false, time.Now().Add(pause)
		for !tried || time.Now().Before(again) {
			now := clock.Now()
			at := l.next(now)
			timer := time.NewTimer(at.Sub(now.Round(0)))
			select {
			case a := <-found:
				timer.Stop()
				tried, last = true, a.err
				if a.err == nil {
					if ctx.Err() != nil {
						a.t.Close()
						return none, false
					}
					return a.t, true
				}
			case <-timer.C:
				if last != nil {
					l.Down(at, last)
				}
			case <-ctx.Done():
				timer.Stop()
				if !tried {
					if a := <-found; a.err == nil {
						a.t.Close()
					}
				}
				return none, false
			}
		}
	}
}

// wait waits for d or the end of ctx, and reports whether ctx goes on.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
