package sandbox

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
)

// askToEnd asks a process to end and waits until it has. It does not kill.
func askToEnd(ctx context.Context, id host.Identity, orderly syscall.Signal, within time.Duration) error {
	signal, free, err := signaller(id.PID)
	switch {
	case errors.Is(err, syscall.ESRCH):
		return nil
	case err != nil:
		return fmt.Errorf("process %d: %w", id.PID, err)
	}
	defer free()
	if !id.Alive() {
		return nil
	}
	if err := signal(orderly); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	gone, err := vanish(ctx, id, within)
	if err == nil && !gone {
		err = hint(fmt.Errorf("process %d still shuts down after %s", id.PID, within),
			"wait for it to end, then save again")
	}
	return err
}
