package main

import (
	"strings"
	"testing"
)

func TestStep(t *testing.T) {
	f := func(s step, want count, words string) {
		t.Helper()
		var out strings.Builder
		if got := s.do(t.Context(), &out); got != want || !strings.Contains(out.String(), words) {
			t.Errorf("%s: %s, want %s and %q\n%s", s.name, got, want, words, out.String())
		}
	}
	kept := ""
	f(step{name: "good", argv: []string{"sh", "-c", "echo /a/tree; echo progress >&2"}, keep: func(s string) error {
		kept = s
		return nil
	}}, count{passed: 1}, "ok ")
	if kept != "/a/tree" {
		t.Errorf("kept %q", kept)
	}
	f(step{
		name: "bad", argv: []string{"sh", "-c", "echo go: downloading m v1 >&2; echo reason >&2; exit 3"},
		hint: "make fmt",
	}, count{failed: 1}, "exit status 3\nreason\n     try: make fmt")
	f(step{name: "talks", argv: []string{"echo", "difference"}, quiet: true}, count{failed: 1}, "difference")
	f(step{name: "whispers", argv: []string{"sh", "-c", "echo note >&2"}, quiet: true}, count{passed: 1}, "ok ")
	f(step{name: "gone", argv: []string{"/nonexistent/program"}}, count{failed: 1}, "/nonexistent/program")
}

func TestFirst(t *testing.T) {
	f := func(n int, in, want string) {
		t.Helper()
		if got := first(n, in); got != want {
			t.Errorf("first(%d, %q) = %q, want %q", n, in, got, want)
		}
	}
	f(0, "a\nb\n", "a\nb\n")
	f(2, "a\nb\n", "a\nb\n")
	f(1, "a\nb\nc\n", "a\n… 2 more lines\n")
	f(1, "", "")
}
