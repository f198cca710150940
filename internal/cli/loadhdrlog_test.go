package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestHDRLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := openHDRLog(path)
	if err != nil {
		t.Fatal(err)
	}
	x := sampleTick()
	x.At, x.Length = time.Unix(1000, 0), time.Second
	warm := x
	warm.Warm = true
	l.tick(warm, "")
	l.tick(x, "")
	x.At = time.Unix(1001, 0)
	x.Ops[0].Response = x.Ops[0].Latency
	l.tick(x, "-8-threads")
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, want := range []string{
		"#[StartTime: 1000.000 ", "\nTag=oltp_read_write,0.000,1.000,547.610,HISTF",
		"\nTag=oltp_read_write-8-threads,1.000,1.000,", "\nTag=oltp_read_write-response-8-threads,1.000,1.000,",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("no %q in\n%s", want, text)
		}
	}

	var none *hdrLog
	none.tick(x, "")
	if err := none.close(); err != nil {
		t.Error(err)
	}
	if _, err := openHDRLog(t.TempDir()); err == nil {
		t.Error("a directory was opened as a log")
	}
}

// TestHDRLogKeeps: a run that fails before its first second costs nobody the log of an earlier one.
func TestHDRLogKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	was := strings.Repeat("of an earlier run\n", 1000)
	if err := os.WriteFile(path, []byte(was), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(ticks int, kept bool) {
		t.Helper()
		l, err := openHDRLog(path)
		if err != nil {
			t.Fatal(err)
		}
		for range ticks {
			l.tick(sampleTick(), "")
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil || (string(b) == was) != kept || strings.Contains(string(b), "earlier") != kept ||
			strings.HasPrefix(string(b), "#[Logged by") == kept {
			t.Errorf("after %d ticks: %v: %.100q", ticks, err, b)
		}
	}
	f(0, true)
	f(2, false)
}

func TestHDRLogTellsWhatIsMissing(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no full device")
	}
	l, err := openHDRLog("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	l.tick(sampleTick(), "")
	if err := l.close(); err == nil || !strings.Contains(err.Error(), "incomplete") {
		t.Errorf("got %v", err)
	}
}
