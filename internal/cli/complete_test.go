package cli

import (
	"context"
	"io"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	home := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		environ := func(name string) string { return map[string]string{"DYNO_HOME": home}[name] }
		if code := Run(t.Context(), args, Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard},
			environ, "x"); code != 0 {
			t.Fatalf("%q: exit code %d", args, code)
		}
		return out.String()
	}
	run("target", "add", "shop", "mysql://dyno@127.0.0.1:1")
	f := func(want string, args ...string) {
		t.Helper()
		// a line with what else to offer
		got, _, _ := strings.Cut("\n"+run(append([]string{"__complete"}, args...)...), "\n:")
		if got = strings.TrimPrefix(got, "\n"); got != want {
			t.Errorf("%q: offers %q, want %q", args, got, want)
		}
	}
	f("shop", "watch", "")
	f("", "watch", "shop", "")
	f("shop", "target", "rm", "")
	f("", "target", "add", "")
	f("shop", "serve", "shop", "")
	f("shop", "advise", "index", "")
	f("shop", "digest", "--target", "")
	f("", "sandbox", "rm", "")
	if got := faultNames(context.Background()); len(got) == 0 {
		t.Error("no faults")
	} else {
		f(strings.Join(got, "\n"), "demo", "")
	}
}
