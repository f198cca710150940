package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

// TestSandboxShLooksWhoListens: no client is offered for a socket's path that leads to another account's server.
func TestSandboxShLooksWhoListens(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the server runs as another account for root alone")
	}
	home, err := os.MkdirTemp("", "dyno-sh-") // that the server's account may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (code int, out, said string) {
		var o, e bytes.Buffer
		code = Run(t.Context(), args, Streams{In: strings.NewReader(""), Out: &o, Err: &e}, func(k string) string {
			return map[string]string{"DYNO_HOME": home, "HOME": home}[k]
		}, "test")
		return code, o.String(), e.String()
	}
	if code, _, said := run("sandbox", "up", "box", "--server", "mariadb"); code != 0 {
		t.Fatal(said)
	}
	t.Cleanup(func() { run("sandbox", "rm", "box") })
	socket := filepath.Join(home, "sandboxes", "box", "run", "socket")
	if code, out, said := run("sandbox", "sh", "box"); code != 0 || !strings.Contains(out, "--socket="+socket) {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
	other := servers.Start(t, "mariadb")
	if err := errors.Join(os.Rename(socket, socket+".kept"), os.Symlink(other.Socket, socket)); err != nil {
		t.Fatal(err)
	}
	if code, out, said := run("sandbox", "sh", "box"); code == 0 || out != "" ||
		!strings.Contains(said, "listens there, and the server runs as user") {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
	if err := os.Rename(socket+".kept", socket); err != nil {
		t.Fatal(err)
	}
}
