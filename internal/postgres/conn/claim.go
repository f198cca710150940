package conn

import (
	"context"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
)

const askAge = "SELECT pg_backend_pid(), extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8"

// Claim asks the server for what it is known by on its machine, see host.ServerThere.
func (t *Target) Claim(ctx context.Context) (host.Claim, error) {
	c := host.Claim{Address: t.spec.Address, Parent: true}
	s, err := t.Conn(ctx)
	if err != nil {
		return c, err
	}
	defer t.End(s)
	age := 0.0
	if err := s.QueryRow(ctx, askAge).Scan(&c.Thread, &age); err != nil {
		return c, t.Wrap("ask for the age of", err)
	}
	c.Uptime = time.Duration(age * float64(time.Second))
	return c, nil
}

// There returns the server's first process on the machine of f, see host.ServerThere.
func (t *Target) There(ctx context.Context, f host.FS) (pid int, err error) {
	c, err := t.Claim(ctx)
	if err != nil {
		return 0, err
	}
	return host.ServerThere(f, Marks, c)
}
