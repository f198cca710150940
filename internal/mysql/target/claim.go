package target

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/host"
)

// claimOf asks the server for what it is known by on its machine, see host.ServerThere.
func claimOf(ctx context.Context, t *Target) (host.Claim, error) {
	c := host.Claim{Hostname: t.facts.Hostname, Address: t.spec.Address}
	s, err := t.Session(ctx, SessionOptions{Purpose: ForReading})
	if err != nil {
		return c, err
	}
	defer s.Close()
	_, err = s.Query(ctx, own(askUptime), func(row []driver.Value) {
		c.Uptime = time.Duration(number(row[1])) * time.Second
	})
	c.Thread = s.threadOSID(ctx, t.facts.Flavor)
	return c, err
}

// Claim returns a function that asks t's server for what it is known by on its machine.
func Claim(t *Target) func(ctx context.Context) (host.Claim, error) {
	return func(ctx context.Context) (host.Claim, error) { return claimOf(ctx, t) }
}

// There returns a function that finds the server's process on the machine of f, see host.ServerThere.
func There(t *Target) func(ctx context.Context, f host.FS) (pid int, err error) {
	return func(ctx context.Context, f host.FS) (int, error) {
		c, err := claimOf(ctx, t)
		if err != nil {
			return 0, err
		}
		return host.ServerThere(f, Marks, c)
	}
}

// threadOSID returns the thread that the kernel runs the session's statements in, 0 when the server does not tell.
func (s *Session) threadOSID(ctx context.Context, flavor dbms.Flavor) (tid int) {
	q := askThread
	if flavor.IsMariaDB() {
		q = askThreadMariaDB
	}
	// An error leaves 0: the table may be switched off or denied.
	_, _ = s.Query(ctx, own(q), func(row []driver.Value) { tid = int(number(row[0])) })
	return tid
}
