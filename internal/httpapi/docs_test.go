package httpapi

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestEveryPathIsDocumented holds docs/api.md to what is answered, both ways.
func TestEveryPathIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*)$`).FindAllSubmatch(text, -1) {
		for _, m := range regexp.MustCompile("`((?:GET|POST) /[^`]*)`").FindAllSubmatch(row[1], -1) {
			documented[string(m[1])] = true
		}
	}
	paths := New(bare(), Options{Page: http.NotFoundHandler()}).Paths()
	for _, p := range paths {
		if !documented[p] {
			t.Errorf("docs/api.md has no %s", p)
		}
	}
	for p := range documented {
		if !slices.Contains(paths, p) {
			t.Errorf("docs/api.md has %s, which nobody answers", p)
		}
	}
}
