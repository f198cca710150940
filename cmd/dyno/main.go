// Command dyno loads a database server, watches it, finds what holds it back, fixes that and proves it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"dyno/internal/cli"
)

// version is set by the build.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the process at once
	}()
	os.Exit(cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Getenv, version))
}
