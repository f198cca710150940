package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// TestErrorsSayWhatToDo: trouble with a server ends with the advice for its kind, whether or not the error itself has
// one, and trouble with a file of ours with none of a server's.
func TestErrorsSayWhatToDo(t *testing.T) {
	f := func(err error, want, not string) {
		t.Helper()
		var said bytes.Buffer
		c := console{Streams: Streams{In: strings.NewReader(""), Out: &said, Err: &said}}
		if code := c.fail(err); code != exitFailed || !strings.Contains(said.String(), want) ||
			not != "" && strings.Contains(said.String(), not) {
			t.Errorf("%v: exit code %d, it says %q, want %q", err, code, said.String(), want)
		}
	}
	gone := &endpoint.Error{Op: "query", Kind: endpoint.Gone, Target: "h:1", Err: errors.New("EOF")}
	f(gone, "its error log says which", "")
	f(fmt.Errorf("load: %w", gone), "its error log says which", "")
	f(&endpoint.Error{Op: "x", Kind: endpoint.Gone, Fix: "do that", Err: errors.New("y")}, "do that", "error log")
	f(syscall.ECONNREFUSED, "is the server running", "")
	f(&fs.PathError{Op: "open", Path: "/f", Err: syscall.ECONNREFUSED}, "open /f", "is the server running")
}

// TestThePastOfNoTarget: where nothing is stored of a name, it is said whether there is such a target.
func TestThePastOfNoTarget(t *testing.T) {
	home := t.TempDir()
	f := func(command string, code int, want string) {
		t.Helper()
		var said bytes.Buffer
		got := Run(t.Context(), strings.Fields(command), Streams{In: strings.NewReader(""), Out: &said, Err: &said},
			func(k string) string { return map[string]string{"DYNO_HOME": home, "HOME": home}[k] }, "test")
		if got != code || !strings.Contains(said.String(), want) {
			t.Errorf("%s: exit code %d, it says %q, want %q", command, got, said.String(), want)
		}
	}
	f("target add shop unix:///nowhere.sock?user=root", 0, "")
	for _, c := range []string{"diagnose % --at 2m", "watch % --deltas 10s", "locks %", "incidents %"} {
		f(strings.Replace(c, "%", "nosuch", 1), exitFailed, "unknown target")
	}
	f("diagnose shop --at 2m", exitFailed, "stored")
	f("watch shop --deltas 10s", exitFailed, "nothing is stored of shop")
	f("locks shop", 0, "No deadlocks")
	f("incidents shop", 0, "No incidents")
}
