package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/terminal"
)

// TestALogLetsNobodyIn: what lets the first one in is printed for people at a terminal; whoever reads a log learns
// where it is.
func TestALogLetsNobodyIn(t *testing.T) {
	run := func(ctx context.Context, home string, w io.Writer, args ...string) {
		env := map[string]string{"DYNO_HOME": home}
		Run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0", "--discover=false"}, args...),
			Streams{In: strings.NewReader(""), Out: w, Err: w},
			func(k string) string { return env[k] }, "test")
	}
	if home := os.Getenv("DYNO_TEST_SERVE"); home != "" {
		run(t.Context(), home, os.Stderr)
		return
	}
	f := func(file string, args ...string) {
		t.Helper()
		home := t.TempDir()
		var secret []byte
		ctx, stop := context.WithCancel(t.Context())
		x := &said{began: func() {
			secret, _ = os.ReadFile(home + "/" + file)
			stop()
		}}
		run(ctx, home, x, args...)
		if len(secret) < 43 {
			t.Fatalf("%s has %q", file, secret)
		}
		if token := strings.TrimSpace(string(secret)); strings.Contains(x.String(), token[len(token)-43:]) ||
			!strings.Contains(x.String(), home+"/"+file) {
			t.Errorf("said:\n%s", x.String())
		}
	}
	f(linkFile)
	f(tokenFile, "--host", "dyno.example.org")
	c := exec.Command(os.Args[0], "-test.run=^TestALogLetsNobodyIn$")
	c.Env = append(os.Environ(), "DYNO_TEST_SERVE="+t.TempDir())
	terminal.Start(t, 120, 30, c).Sees("/login#")
}

// said calls began when serve says that it answers.
type said struct {
	bytes.Buffer
	began func()
}

func (x *said) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "Ctrl-C ends it") {
		x.began()
	}
	return x.Buffer.Write(p)
}
