package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
	"github.com/dyno-perf/dyno/internal/unit"
)

// await waits until the server that is the process pid answers on its socket. died is closed when
// its process ends.
func await(ctx context.Context, f maker.Prober, socket string, pid int, died <-chan struct{}, patience time.Duration,
	sink progress.Sink,
) error {
	p := progress.Progress{Step: "waiting for the server's answer", Unit: "s", Started: time.Now()}
	end := p.Started.Add(patience)
	for shown := (time.Time{}); ; {
		err := listens(ctx, f, socket, pid)
		if err == nil {
			return nil
		}
		p.At = time.Now()
		if p.At.After(end) {
			return fmt.Errorf("%w within %s", ErrSilent, unit.Duration(patience))
		}
		if p.At.Sub(shown) > 200*time.Millisecond {
			shown, p.Done = p.At, p.At.Sub(p.Started).Seconds()
			sink.Report(p)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-died:
			return ErrDied
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// listens returns nil when the process pid listens on the socket and serves there.
func listens(ctx context.Context, f maker.Prober, socket string, pid int) error {
	d := net.Dialer{Timeout: 2 * time.Second}
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer c.Close()
	u, ok := c.(*net.UnixConn)
	if !ok {
		return errors.ErrUnsupported
	}
	peer, _, err := host.Peer(u)
	if err != nil {
		return err
	}
	if peer != pid {
		return fmt.Errorf("process %d listens on %s", peer, socket)
	}
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	return f.Greet(c)
}

// Listens returns nil when the sandbox's own process serves on its socket, else what is there instead.
func (s Sandbox) Listens(ctx context.Context) error {
	return wrap("reach sandbox", s.Name, listens(ctx, s.Server.Maker, s.Socket, s.PID))
}
