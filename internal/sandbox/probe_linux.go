package sandbox

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxOutput bounds what is kept of a program's output: a server's list of its options is a fifth of
// it.
const maxOutput = 1 << 20

// output keeps the beginning of what is written to it.
type output struct{ kept bytes.Buffer }

func (o *output) Write(b []byte) (int, error) {
	o.kept.Write(b[:min(len(b), maxOutput-o.kept.Len())])
	return len(b), nil
}

// run runs a program of a build as the account, in a directory, until it or ctx ends, and returns
// what it said. Nobody vouches for the program: it gains no privileges, sees nothing of our
// environment, and it and its children end with us.
func (a account) run(ctx context.Context, argv []string, dir, home string, stdin io.Reader) (said string, err error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, environment(home), stdin
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = a.attributes()
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	kill := func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.Cancel = kill
	cmd.WaitDelay = time.Second // for children that keep its output open
	ended := make(chan error, 1)
	go func() {
		// The thread ends with this goroutine, for it is not unlocked: the kernel sends Pdeathsig
		// when the thread that started the process ends, and nothing else must run with what the
		// next line takes away.
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			ended <- err
			return
		}
		if err := cmd.Start(); err != nil {
			ended <- err
			return
		}
		// Until it is waited for nobody else can have its number, and so its group is its own.
		for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
		_ = kill() // what is left of its group
		ended <- cmd.Wait()
	}()
	err = <-ended
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.kept.String(), err
}
