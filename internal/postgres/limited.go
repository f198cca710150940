package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/source"
)

var _ family.Limited = Server{}

// rights is the session for questions about the account: they come every few seconds, and a login is work.
type rights struct {
	sync.Mutex
	*conn.Asker
}

// Privileges implements family.Limited: what the account is a member of, and in which schemas it may read.
func (s Server) Privileges(ctx context.Context) ([]string, error) {
	s.rights.Lock()
	defer s.rights.Unlock()
	return s.rights.Privileges(ctx)
}

// Unseen implements family.Limited: the server's catalog shows the names of all tables to every account.
func (Server) Unseen(context.Context, []metric.Sample) (x source.Source, ok bool) { return x, false }

// TooMighty implements family.Limited, see conn.Mighty.
func (s Server) TooMighty(ctx context.Context) (reason, fix string) {
	c, err := s.Conn(ctx)
	if err != nil { // what cannot be asked now is refused when a plan is wanted
		return "", ""
	}
	defer s.End(c)
	why, err := conn.Mighty(ctx, s.Spec(), c)
	if why == "" || err != nil {
		return "", ""
	}
	return fmt.Sprintf("Dyno is logged in as %s: %s. It watches with it, but does not run EXPLAIN", s.Facts().User,
		why), conn.SeparateAccount
}

// Close implements family.Server.
func (s Server) Close() error {
	s.rights.Lock()
	defer s.rights.Unlock()
	s.rights.Asker.Close()
	return s.Target.Close()
}
