package collector

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestSilentServerIsDown: a server that is being learned about when it falls silent is down, and is looked for again.
func TestSilentServerIsDown(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	opens := 0
	l := Loop[*target.Target]{
		Patience: target.Patience,
		Every:    100 * time.Millisecond, OpenTime: 300 * time.Millisecond,
		Open: func(ctx context.Context) (*target.Target, error) {
			if opens++; opens == 3 {
				cancel()
			}
			<-ctx.Done()
			return nil, ctx.Err()
		},
		Down: func(at time.Time, why error) {
			if why == nil || !at.Equal(at.Truncate(100*time.Millisecond)) {
				t.Errorf("at %v: %v", at, why)
			}
		},
	}
	if l.Run(ctx); !errors.Is(context.Cause(ctx), context.Canceled) || opens != 3 {
		t.Errorf("tried %d times: %v", opens, context.Cause(ctx))
	}
}

// TestAfterASession: the next one begins at once when the session only ended, and after a pause, told as down, when it
// failed.
func TestAfterASession(t *testing.T) {
	spec, err := endpoint.ParseURL(servers.Start(t, "mariadb").URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var order string
	ends := []error{nil, errors.New("broken")}
	l := Loop[*target.Target]{
		Patience: target.Patience,
		Every:    20 * time.Millisecond, OpenTime: OpenTime,
		Open: func(ctx context.Context) (*target.Target, error) { return target.Open(ctx, spec) },
		Session: func(context.Context, *target.Target) error {
			order += "s"
			if len(ends) == 0 {
				cancel()
				return nil
			}
			end := ends[0]
			ends = ends[1:]
			return end
		},
		Down: func(_ time.Time, why error) {
			if len(ends) > 0 || why == nil {
				t.Errorf("down: %v", why)
			}
			order += "d"
		},
	}
	l.Run(ctx)
	if len(order) < 4 || order[:3] != "ssd" || order[len(order)-1] != 's' {
		t.Errorf("sessions and scrapes without one: %s", order)
	}
}
