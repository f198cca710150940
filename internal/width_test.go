package internal_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// widest is how many columns a line of Go may have, a tab counting four. Text in back quotes has its own form, and a
// word to a linter stands where the linter looks for it.
const widest = 120

func TestLineWidth(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && (d.Name() == "node_modules" || d.Name() == ".git") {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		files++
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, n := range wide(b) {
			t.Errorf("%s:%d: wider than %d columns", path, n, widest)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files: %v", files, err)
	}
	if got := wide([]byte("package a\n\nvar x = `" + strings.Repeat("x", 200) + "`\n// " +
		strings.Repeat("y", 200))); len(got) != 1 ||
		got[0] != 4 {
		t.Errorf("wide lines are %v", got)
	}
}

// wide returns the numbers of the lines of a Go file that are too wide and hold no part of a text in back quotes.
func wide(src []byte) (lines []int) {
	quoted := map[int]bool{}
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.STRING && lit[0] == '`' {
			for n, i := file.Line(pos), 0; i <= strings.Count(lit, "\n"); i++ {
				quoted[n+i] = true
			}
		}
	}
	for i, l := range strings.Split(string(src), "\n") {
		if !quoted[i+1] && !strings.Contains(l, "//nolint:") &&
			utf8.RuneCountInString(strings.ReplaceAll(l, "\t", "    ")) > widest {
			lines = append(lines, i+1)
		}
	}
	return lines
}
