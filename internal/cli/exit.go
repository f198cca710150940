package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/report"
)

// Exit codes. They are part of the interface: scripts depend on them.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitFindings  = 3 // findings at or above --fail-on
	exitWorse     = 5 // verdict "worse" under --fail-on worse
	exitUndecided = 6 // verdict unstable or invalid
	exitSkipped   = 7 // done, but part of the input was skipped
)

// exitError carries an exit code. A nil Err prints nothing.
type exitError struct {
	code int
	err  error
}

func (x *exitError) Error() string {
	if x.err == nil {
		return ""
	}
	return x.err.Error()
}

func (x *exitError) Unwrap() error { return x.err }

func usagef(format string, a ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, a...)}
}

// fail prints an error as one paragraph with what to do and returns its exit code.
func (c *console) fail(err error) int {
	if err == nil {
		return exitDone
	}
	code := exitFailed
	var x *exitError
	if errors.As(err, &x) {
		code = x.code
		if x.err == nil {
			return code
		}
	}
	var pipe *fs.PathError
	if errors.As(err, &pipe) && errors.Is(pipe.Err, syscall.EPIPE) { // whoever read has seen enough
		return code
	}
	text := strings.TrimRight(err.Error(), ".\n")
	if errors.Is(err, context.Canceled) {
		text = strings.TrimSuffix(strings.TrimSuffix(text, context.Canceled.Error()), ": ")
		if text == "" {
			text = "stopped"
		}
	}
	hint := ""
	var file *fs.PathError
	var server *endpoint.Error
	switch told := interface{ Hint() string }(nil); {
	case errors.As(err, &server):
		hint = app.HintOf(err)
	case errors.As(err, &told):
		hint = told.Hint()
	case !errors.As(err, &file): // trouble with a file of ours is none of a server's
		hint = app.HintOf(err)
	}
	if hint != "" && !strings.Contains(text, hint) {
		text += "; " + hint
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clearLine()
	text = oneParagraph(text)
	if !strings.HasSuffix(text, "?") {
		text += "."
	}
	fmt.Fprintf(c.Err, "dyno: %s\n", text)
	return code
}

// oneParagraph keeps an error on one line, whatever servers and files put into it.
func oneParagraph(s string) string { return report.Visible(s, false) }
