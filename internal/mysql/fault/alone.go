package fault

import (
	"context"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// server is what actors need of a server of the family.
type server interface {
	Session(ctx context.Context, o target.SessionOptions) (*target.Session, error)
	Kill(ctx context.Context, id uint64) (found bool, err error)
}

// serverOf returns the server that actors play on.
func serverOf(s fault.Stage) (server, error) {
	x, ok := s.Server.(server)
	if !ok {
		return nil, fmt.Errorf("%s is no server that faults of MySQL can be planted on", s.Server.Spec())
	}
	return x, nil
}

// alone hands an actor a session of its own, with the workload's schema as its default. When play returns, the session
// is gone from the server and with it its transaction and its locks, also when it was in the midst of a statement.
func alone(ctx context.Context, s fault.Stage, play func(*target.Session) error) error {
	on, err := serverOf(s)
	if err != nil {
		return err
	}
	x, err := on.Session(ctx, target.SessionOptions{Database: s.Schema})
	if err != nil {
		return err
	}
	defer func() {
		x.Close()
		gone(context.WithoutCancel(ctx), on, x.ID())
	}()
	if err := play(x); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// goneTime bounds the waiting for a killed session; a large transaction takes its time to be undone.
const goneTime = 20 * time.Second

// gone kills a session and waits until the server has done with it.
func gone(ctx context.Context, s server, id uint64) {
	ctx, cancel := context.WithTimeout(ctx, goneTime)
	defer cancel()
	for {
		if found, err := s.Kill(ctx, id); err != nil || !found {
			return
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// insist executes statements one after the other, all of them again when one became the victim of a deadlock or waited
// too long for a lock.
func insist(ctx context.Context, x *target.Session, statements ...string) error {
	for {
		err := func() error {
			for _, q := range statements {
				if _, err := x.Exec(ctx, q); err != nil {
					return fmt.Errorf("%s: %w", q, err)
				}
			}
			return nil
		}()
		if n, ok := target.ServerErrorNumber(err); !ok || n != 1205 && n != 1213 { // lock wait timeout, deadlock
			return err
		}
		if _, err := x.Exec(ctx, "ROLLBACK"); err != nil {
			return err
		}
	}
}

// pause waits; it reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
