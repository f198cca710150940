package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/demo"
)

func TestAccuracyLines(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lines")
	if l, err := accuracyLines(name); err != nil || l != nil {
		t.Errorf("no file yet: %v, %v", l, err)
	}
	f := func(text string, want int, wantErr string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := accuracyLines(name)
		if wantErr == "" && (err != nil || len(l) != want) || wantErr != "" &&
			(err == nil || !strings.Contains(err.Error(), wantErr)) {
			t.Errorf("%q: %v, %v", text, l, err)
		}
	}
	f(`{"fault":"a","seed":1}`+"\n"+`{"fault":"b"}`+"\n", 2, "")
	f(`{"fault":"a"}`+"\n"+`{"fau`, 1, "") // cut off by a crash
	f(`{"fau`+"\n"+`{"fault":"a"}`+"\n", 0, "line 1")
}

func TestAccuracyText(t *testing.T) {
	f := func(l demo.AccuracyLine, want ...string) {
		t.Helper()
		got := accuracyText(l)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%q lacks %q", got, w)
			}
		}
	}
	f(demo.AccuracyLine{
		Fault: "a", Server: "mariadb@10.11.19", Seed: 3, Found: true, Rank: 1,
		Gain: &demo.GainLine{Lo: 2, Center: 3, Hi: 4},
	}, "✓", "a ", "mariadb@10.11.19", "×3.00 (2.00 to 4.00)")
	f(demo.AccuracyLine{
		Fault: "a", Missed: "no finding of the rule a",
		Foreign: []demo.ForeignLine{{Rule: "b", Title: "bad"}}, NotLimit: []string{"cpu 1: no cgroups"},
	},
		"✗", "missed: no finding", "false: b: bad", "limit not in effect: cpu 1")
	f(demo.AccuracyLine{Fault: "a", Found: true, Gain: &demo.GainLine{Lo: 0.8, Center: 1, Hi: 1.2}}, "✗", "no gain "+
		"proven")
	f(demo.AccuracyLine{Fault: "a", Error: "no server"}, "✗", "failed: no server")
}

func TestPlantable(t *testing.T) {
	f := func(want string, names ...string) {
		t.Helper()
		err := plantable(names)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", names, err, want)
		}
	}
	f("", "missing-index")
	f("", "missing-index", "small-redo")
	f("--list", "nope")
	f("unknown fault", "missing-index", "")
	f("named twice", "missing-index", "missing-index")
}
