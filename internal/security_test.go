package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSecurityTable holds the table of SECURITY.md against the tree: every test that it names is in the package that it
// names.
func TestSecurityTable(t *testing.T) {
	text, err := os.ReadFile("../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := regexp.MustCompile(`Test[A-Z]\w*`)
	named := 0
	for i, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| ") || len(cells) != 4 || !tests.MatchString(cells[2]) {
			continue
		}
		for part := range strings.SplitSeq(cells[2], ";") {
			_, rest, _ := strings.Cut(part, "`")
			dir, names, _ := strings.Cut(rest, "`")
			switch {
			case dir == "":
				t.Errorf("SECURITY.md:%d: no package in %q", i+1, part)
				continue
			case !strings.HasPrefix(dir, "test/") && dir != "bench":
				dir = "internal/" + dir
			}
			files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			var sources []string
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				sources = append(sources, string(b))
			}
			for _, name := range tests.FindAllString(names, -1) {
				named++
				has := func(s string) bool { return strings.Contains(s, "func "+name+"(t *testing.T)") }
				if !slices.ContainsFunc(sources, has) {
					t.Errorf("SECURITY.md:%d: there is no %s in %s", i+1, name, dir)
				}
			}
		}
	}
	if named == 0 {
		t.Error("SECURITY.md names no test")
	}
}
