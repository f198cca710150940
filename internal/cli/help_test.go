package cli

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/app"
)

func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	environ := func(name string) string { return map[string]string{"DYNO_HOME": t.TempDir()}[name] }
	if code := Run(t.Context(), append(args, "--help"), Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard},
		environ, "x"); code != 0 {
		t.Fatalf("%q: exit code %d", args, code)
	}
	return out.String()
}

// TestHelpIsGrouped: every verb is listed under a step of the loop, and the steps come in its order.
func TestHelpIsGrouped(t *testing.T) {
	help := helpOf(t)
	var titles []string
	for _, x := range regexp.MustCompile(`(?m)^([A-Z][A-Za-z ]+):$`).FindAllStringSubmatch(help, -1) {
		titles = append(titles, x[1])
	}
	if want := []string{"Usage", "Observe", "Find", "Fix", "Prove", "Load", "Manage", "Flags"}; !slices.Equal(titles,
		want) {
		t.Errorf("titles %q, want %q in\n%s", titles, want, help)
	}
}

// TestVerbsAreDocumented holds docs/verbs.md to the verbs of the help.
func TestVerbsAreDocumented(t *testing.T) {
	const manual = "../../docs/verbs.md"
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	help := helpOf(t)
	_, list, _ := strings.Cut(help, "\nObserve:\n")
	list, _, _ = strings.Cut(list, "\nFlags:\n")
	verbs := regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(list, -1)
	if len(verbs) < 20 {
		t.Fatalf("%d verbs in\n%s", len(verbs), help)
	}
	for _, v := range verbs {
		if !strings.Contains(string(text), "`dyno "+v[1]) {
			t.Errorf("%s has no `dyno %s`", manual, v[1])
		}
	}
}

// TestLoadHelpHasNoFaults: the loads of planted faults are workloads, but no list of dozens of them hides the others.
func TestLoadHelpHasNoFaults(t *testing.T) {
	help := helpOf(t, "load")
	for _, f := range app.Faults() {
		w := f.Workload
		if !app.Fault(w.Name()) || strings.Contains(help, "\n  "+w.Name()+" ") {
			t.Errorf("dyno load --help lists %s", w.Name())
		}
	}
	if !strings.Contains(help, "\n  oltp_read_write ") {
		t.Error(help)
	}
}
