package sysbench

import (
	"context"
	"fmt"
	"os/exec"
)

// Command returns a command that runs sysbench, which must be installed, with its arguments as one types them.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "sysbench", args...)
}

// Server returns the options that name a server by its socket, for a user without a password.
func Server(socket, user string) []string {
	return []string{"--mysql-socket=" + socket, "--mysql-user=" + user}
}

// Run runs sysbench to its end and returns everything it has printed.
func Run(ctx context.Context, args ...string) (string, error) {
	out, err := Command(ctx, args...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("run sysbench: %w", err)
	}
	return string(out), nil
}
