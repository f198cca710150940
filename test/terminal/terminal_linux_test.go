package terminal

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestTerminalShowsWhatAnXtermWould(t *testing.T) {
	f := func(out, want string) {
		t.Helper()
		v := Start(t, 10, 4, exec.Command("printf", "%b", strings.ReplaceAll(out, "\x1b", `\033`)))
		if err := v.Ended(); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimRight(v.Text(), "\n"); got != want {
			t.Errorf("%q: got %q, want %q", out, got, want)
		}
	}
	f("ab\ncd", "ab\ncd") // the kernel makes \r\n of \n
	f("0123456789ab", "0123456789\nab")
	f("\x1b[2;3Hx\x1b[Ay\x1b[3Dz", " z y\n  x")
	f("abcdef\x1b[4D\x1b[2Pg", "abgf")
	f("abc\x1b[2D\x1b[2@x", "ax bc")
	f("abcdef\x1b[3D\x1b[K", "abc")
	f("abcdef\x1b[3D\x1b[1K", "    ef")
	f("abcdef\x1b[6D\x1b[2X", "  cdef")
	f("a\x1b[3bX", "aaaaX")
	f("1\n2\n3\n4\n5", "2\n3\n4\n5")
	f("1\n2\n3\n4\x1b[2;3r\x1b[S", "1\n3\n\n4")
	f("1\n2\n3\n4\x1b[1;1H\x1b[L", "\n1\n2\n3")
	f("1\n2\n3\n4\x1b[1;1H\x1b[M", "2\n3\n4")
	f("1\n2\x1b[1;1H\x1bM0", "0\n1\n2")
	f("東京x", "東京x")
	f("\x1b]0;title\x07\x1b[?2026$p\x1b[38;5;1mred\x1b[m", "red")
	f("gone\x1b[2J\x1b[1;1Hnew", "new")
}

func TestTerminalKnowsItsModes(t *testing.T) {
	v := Start(t, 20, 4, exec.Command("sh", "-c",
		`stty raw -echo; printf '\033[?1049h\033[?25l\033[31mready'; head -c 1 >/dev/null; stty sane; printf '\033[?25h\033[?1049l'; exit 3`))
	v.Sees("ready")
	if got, want := v.Modes(), (Modes{Alternate: true, Hidden: true, Coloured: true, Raw: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	v.Resize(40, 6)
	if n := strings.Count(v.Text(), "\n"); n != 6 {
		t.Errorf("%d lines", n)
	}
	v.Type("x")
	var exit *exec.ExitError
	if err := v.Ended(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("got %v", err)
	}
	if got := v.Modes(); got.Alternate || got.Hidden || got.Raw {
		t.Errorf("got %+v", got)
	}
}

func TestTerminalKeepsRecordings(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DYNO_TEST_RECORDINGS", dir)
	t.Run("once", func(t *testing.T) {
		for range 2 {
			if err := Start(t, 20, 4, exec.Command("echo", "hello")).Ended(); err != nil {
				t.Fatal(err)
			}
		}
	})
	for _, name := range []string{"TestTerminalKeepsRecordings-once", "TestTerminalKeepsRecordings-once-2"} {
		script, err := os.ReadFile(dir + "/" + name + ".typescript")
		if err != nil || !strings.Contains(string(script), "\nhello") {
			t.Errorf("%q (%v)", script, err)
		}
		if timing, err := os.ReadFile(dir + "/" + name + ".timing"); err != nil || len(timing) == 0 {
			t.Errorf("%q (%v)", timing, err)
		}
	}
}
