package demo_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAllGoesOnWhereItWas plants a control by --all: one line, and none when it is asked to go on after that line.
func TestAllGoesOnWhereItWas(t *testing.T) {
	p := newPlace(t)
	args := []string{"demo", "--all", "--only", "healthy-idle", "--no-cure", "--output", "json"}
	out := p.dyno(args...)
	var l struct {
		Fault, Kind, Server, Asked string
		Seed                       int
		Found                      bool
		Foreign                    []json.RawMessage
		Gain                       *json.RawMessage
		Seconds                    float64
		Error                      string
	}
	if err := json.Unmarshal([]byte(out), &l); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if l.Fault != "healthy-idle" || l.Kind != "control" || !strings.HasPrefix(l.Server, "mariadb@") ||
		l.Asked != "mariadb" || l.Seed != 1 || !l.Found ||
		l.Foreign == nil || len(l.Foreign) != 0 || l.Gain != nil || l.Seconds <= 0 || l.Error != "" {
		t.Errorf("got %s", out)
	}
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := p.dyno(append(args, "--resume", file)...); again != "" {
		t.Errorf("done once more: %s", again)
	}
	p.nothingRuns()
}

// TestTwoTogether plants two faults on one server and keeps what the diagnosis saw: judged again from the file it comes
// out the same.
func TestTwoTogether(t *testing.T) {
	p := newPlace(t)
	file := filepath.Join(t.TempDir(), "seen.json")
	o := p.last(p.dyno("demo", "index-order+idle-transaction", "--no-cure", "--seed", "1", "--save-snapshot",
		file, "--output", "json"))
	if !o.Found || len(o.Foreign) != 0 || len(o.Findings) < 2 {
		t.Fatalf("found %v, findings %+v, foreign %+v", o.Found, o.Findings, o.Foreign)
	}
	out := p.dyno("diagnose", "--from", file, "--output", "json")
	for _, f := range o.Findings {
		if !strings.Contains(out, f.ID) {
			t.Errorf("%s is not found again in %s", f.ID, out)
		}
	}
	p.nothingRuns()
}
