package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTests runs the real go command on a small module of its own: what it prints is what this program must understand.
func TestTests(t *testing.T) {
	build, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	f := func(files map[string]string, o options, want count, words ...string) {
		t.Helper()
		dir := t.TempDir()
		t.Chdir(dir)
		files["go.mod"] = "module m\n\ngo 1.26\n"
		for name, text := range files {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(build, "build"); err != nil {
			t.Fatal(err)
		}
		o.Packages = []string{"."}
		var out strings.Builder
		if got := tests(t.Context(), o, &out); got != want {
			t.Errorf("%s, want %s\n%s", got, want, out.String())
		}
		for _, w := range words {
			if !strings.Contains(out.String(), w) {
				t.Errorf("the output lacks %q:\n%s", w, out.String())
			}
		}
	}
	head := "package m\n\nimport \"testing\"\n\n"
	good := head + "func TestA(t *testing.T) {}\n"
	skip := head + "func TestA(t *testing.T) { t.Skip(\"no moon\") }\n"

	f(map[string]string{"a_test.go": good}, options{Procs: 1}, count{passed: 1}, "ok   m ")
	f(map[string]string{"a_test.go": head + "func TestA(t *testing.T) { t.Error(\"wrong\") }\n"}, options{Procs: 1},
		count{failed: 1}, "FAIL m ", "wrong")
	f(map[string]string{"a_test.go": skip}, options{Procs: 1}, count{}, "1 skipped", "no moon")
	f(map[string]string{"a_test.go": skip}, options{Procs: 1, CI: true}, count{failed: 1}, "no moon")
	f(map[string]string{"a_test.go": head + "func TestA(t *testing.T) { undefined() }\n"}, options{Procs: 1},
		count{failed: 1}, "undefined: undefined")
	f(map[string]string{"a.go": "package m\n\nimport \"example.invalid/gone\"\n\nvar X = gone.X\n", "a_test.go": good},
		options{Procs: 1}, count{failed: 1}, "example.invalid/gone")
	// What passes when it is repeated alone has passed, and is told; what fails alone has failed, and so has what
	// panics or races at first.
	first := "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc isFirst() bool { _, err := " +
		"os.Stat(\"seen\"); os.WriteFile(\"seen\", nil, 0o600); return err != nil }\n\n"
	f(map[string]string{"a_test.go": first + "func TestA(t *testing.T) { t.Run(\"x\", func(t *testing.T) { if " +
		"isFirst() { t.Error(\"busy\") } }) }\n\nfunc TestB(t *testing.T) {}\n"},
		options{Procs: 1}, count{passed: 2}, "FAIL m ", "busy", "retrying alone: m TestA\n",
		"1 failed in parallel and passed twice alone", "  m TestA\n")
	f(map[string]string{"a_test.go": first + "func TestA(t *testing.T) { isFirst(); t.Error(\"wrong\") }\n"},
		options{Procs: 1}, count{failed: 1}, "FAIL m alone: exit status 1\n", "wrong")
	f(map[string]string{"a_test.go": first + "func TestA(t *testing.T) { if isFirst() { panic(\"oh\") } }\n"},
		options{Procs: 1}, count{failed: 1}, "panic: oh")
	f(map[string]string{"a_test.go": first + "func TestA(t *testing.T) { if isFirst() { os.Exit(3) } }\n"},
		options{Procs: 1}, count{failed: 1}, "(did not finish)")
	f(map[string]string{"a_test.go": first + "func TestA(t *testing.T) { if !isFirst() { t.Skip(\"no moon\") }; " +
		"t.Error(\"wrong\") }\n"}, options{Procs: 1}, count{failed: 1}, "some tests did not run", "no moon")
	many := first
	for i := range mostAgain + 1 {
		many += fmt.Sprintf("func TestA%d(t *testing.T) { if _, err := os.Stat(\"seen%[1]d\"); err != nil { "+
			"os.WriteFile(\"seen%[1]d\", nil, 0o600); t.Error(\"busy\") } }\n\n", i)
	}
	f(map[string]string{"a_test.go": many}, options{Procs: 1}, count{failed: mostAgain + 1}, "busy")

	race := "func TestA(t *testing.T) { n, done := 0, make(chan bool); go func() { n++; close(done) }(); n++; <-done " +
		"}\n"
	f(map[string]string{"a_test.go": head + race}, options{Procs: 1}, count{failed: 1}, "DATA RACE")
	f(map[string]string{"a_test.go": first + strings.Replace(race, "{ n, done", "{ if !isFirst() { return }; n, done",
		1)}, options{Procs: 1}, count{failed: 1}, "DATA RACE")
}

func TestReason(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := reason(in); got != want {
			t.Errorf("reason(%q) = %q, want %q", in, got, want)
		}
	}
	f("=== RUN   TestA\n    a_test.go:3: needs root\n--- SKIP: TestA (0.00s)\n", "a_test.go:3: needs root")
	f("", "no reason given")
}
