// Command dyno loads a database server, watches it, finds what holds it back, fixes that and proves it.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/cli"
)

// version is set by the build.
var version = "devel"

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	ctx, leave := context.WithCancel(ctx)
	// A second Ctrl-C ends the process at once, but not a second signal of the same: sudo, timeout and the like send
	// theirs to the process and to its group.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	// A reader that leaves, such as head, must not end the process where it stands: private servers would stay behind.
	// With this a write fails in place of that, see outlet.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: out(os.Stdout, leave), Err: out(os.Stderr, leave)},
		os.Getenv, version))
}

// out returns the file itself when it is a terminal, whose width and colours are asked for, and else an outlet to it.
func out(f *os.File, leave func()) io.Writer {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
		return f
	}
	return outlet{f, leave}
}

// outlet stops the program in order when nobody reads any more.
type outlet struct {
	to    io.Writer
	leave func()
}

func (o outlet) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		o.leave()
	}
	return n, err
}
