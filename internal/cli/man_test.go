package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	environ := func(name string) string { return map[string]string{"DYNO_HOME": t.TempDir()}[name] }
	if code := Run(t.Context(), []string{"man", dir}, Streams{Out: io.Discard, Err: io.Discard},
		environ, "1.2"); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	f := func(page string, want ...string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil {
			t.Error(err)
		}
		for _, w := range want {
			if !strings.Contains(string(b), w) {
				t.Errorf("%s has no %q in\n%s", page, w, b)
			}
		}
	}
	f("dyno.1", ".TH DYNO 1 \"\" \"dyno 1.2\"", ".BR dyno\\-digest (1)\n",
		".nf\n  mysql://user@host:3306/db?tls=verify\\-full", `\fB\-\-quiet\fR`)
	f("dyno-sandbox-up.1", `\fB\-\-server\fR`, ".SH EXAMPLES", ".BR dyno\\-sandbox (1)\n", "GLOBAL OPTIONS")
	if _, err := os.Stat(filepath.Join(dir, "dyno-man.1")); err == nil {
		t.Error("a hidden verb has a page")
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 40 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		if out, err := exec.Command(groff, append([]string{"-Kutf8", "-man", "-ww", "-z"}, pages...)...).
			CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

func TestRoff(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := roffText(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	f("a-b\n\n.c\\d\n", "a\\-b\n.PP\n\\&.c\\ed\n")
	f("a\n  b\n  c\nd", "a\n.PP\n.nf\n  b\n  c\n.fi\nd\n")
	f("  x", ".PP\n.nf\n  x\n.fi\n")
}

// TestManFollowsNoLink: the directory may be another user's.
func TestManFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	theirs := filepath.Join(t.TempDir(), "theirs")
	if err := os.WriteFile(theirs, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(theirs, filepath.Join(dir, "dyno.1")); err != nil {
		t.Fatal(err)
	}
	environ := func(name string) string { return map[string]string{"DYNO_HOME": t.TempDir()}[name] }
	if code := Run(t.Context(), []string{"man", dir}, Streams{Out: io.Discard, Err: io.Discard},
		environ, "1.2"); code == 0 {
		t.Error("it followed a link")
	}
	if b, err := os.ReadFile(theirs); err != nil || string(b) != "x" {
		t.Errorf("%q %v", b, err)
	}
}
