package screen

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
)

func TestLineFits(t *testing.T) {
	f := func(l line, n int, fit, filled string) {
		t.Helper()
		if got := l.fit(n); got.cells() > n || got.String() != fit {
			t.Errorf("fit %d: %q, want %q", n, got.String(), fit)
		}
		got := ""
		for _, s := range l.fill(n) {
			got += s.text
		}
		if got != filled || cells(got) != n {
			t.Errorf("fill %d: %q, want %q", n, got, filled)
		}
	}
	l := line{{"ab", strong}, {"cd東", dim}}
	f(l, 8, "abcd東", "abcd東  ")
	f(l, 6, "abcd東", "abcd東")
	f(l, 5, "abcd…", "abcd…")
	f(l, 2, "ab", "ab")
	f(l, 1, "…", "…")
	f(nil, 2, "", "  ")

	if got := ends(text("a long left side"), text("right"), 14).String(); got != "a long … right" {
		t.Errorf("got %q", got)
	}
	if got := ends(text("l"), text("right"), 3).String(); got != "ri…" {
		t.Errorf("got %q", got)
	}
}

func TestThemeWithoutColourKeepsWeight(t *testing.T) {
	l := line{{"a", strong}, {"b", bad}, {"c", warn}, {"d", plain}}
	draw := func(th *theme, over role) string {
		var b strings.Builder
		th.render(&b, l, over)
		return b.String()
	}
	for _, dark := range []bool{false, true} {
		got := draw(newTheme(dark, false), plain)
		if strings.Contains(got, "38;") || !strings.Contains(got, "\x1b[1m") || lipgloss.Width(got) != 4 {
			t.Errorf("got %q", got)
		}
		if got := draw(newTheme(dark, true), plain); !strings.Contains(got, "38;5;") {
			t.Errorf("no colour in %q", got)
		}
		if got := draw(newTheme(dark, false), marked); strings.Count(got, "\x1b[7m") != 4 {
			t.Errorf("not marked: %q", got)
		}
	}
	if draw(newTheme(true, true), plain) == draw(newTheme(false, true), plain) {
		t.Error("dark and light look alike")
	}
}
