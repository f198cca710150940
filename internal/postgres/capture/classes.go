package capture

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/source"
)

// Classes reads the classes of one window after the other by pg_stat_statements, on a connection of its own. Its
// methods are called from one goroutine at a time; Run runs beside them.
type Classes struct {
	t Server
	c *pgx.Conn // nil before the first window and after it broke
	x statements
}

// OpenClasses returns a reader that connects when its first window begins.
func OpenClasses(t Server) *Classes {
	return &Classes{t: t, x: statements{facts: t.Facts().Statements, user: t.Facts().User}}
}

// Begin begins a window.
func (r *Classes) Begin(ctx context.Context) (err error) {
	if r.c == nil {
		if r.c, err = r.t.Conn(ctx); err != nil {
			return err
		}
	}
	if err = r.x.begin(ctx, r.c); err != nil {
		r.Close()
	}
	return err
}

// Run waits for the end of ctx: the server counts all that runs.
func (r *Classes) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// End returns the classes of the window, most time first.
func (r *Classes) End(ctx context.Context) ([]class.Class, []source.Source, error) {
	if r.c == nil {
		return nil, nil, r.Begin(ctx)
	}
	began := time.Now()
	list, _, src, err := r.x.end(ctx, r.c)
	if err != nil {
		r.Close()
	}
	src.Reads, src.Took = 1, float64(time.Since(began))/1e6
	return list, []source.Source{src}, err
}

// Turn is End and begins the next window with what was read. After a window that broke it begins with what is read now.
func (r *Classes) Turn(ctx context.Context) ([]class.Class, []source.Source, error) {
	began := r.c != nil
	list, sources, err := r.End(ctx)
	if began && err == nil {
		r.x.turn()
	}
	return list, sources, err
}

// Lost is nothing: what a restart or a reset takes is counted from zero.
func (r *Classes) Lost() time.Duration { return 0 }

// Distributions are unknown.
func (r *Classes) Distributions() class.Distributions {
	return class.Distributions{Reason: "PostgreSQL keeps no distribution: pg_stat_statements has the count, mean, " +
		"standard deviation, min and max of a statement's times"}
}

// Close ends the connection.
func (r *Classes) Close() error {
	if r.c != nil {
		r.t.End(r.c)
		r.c = nil
	}
	return nil
}
