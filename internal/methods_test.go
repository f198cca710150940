package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// mostMethods is how many methods a type may have: more are read by nobody in one go.
const mostMethods = 25

func TestMethodsOfAType(t *testing.T) {
	methods, files := map[string]map[string]bool{}, 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "test") {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil {
				at := filepath.ToSlash(filepath.Dir(path))[len("../"):] + " " + receiver(m.Recv.List[0].Type)
				if methods[at] == nil {
					methods[at] = map[string]bool{}
				}
				methods[at][m.Name.Name] = true // once for all operating systems
			}
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files: %v", files, err)
	}
	for at, have := range methods {
		if n := len(have); n > mostMethods {
			t.Errorf("%s: %d methods, more than %d", at, n, mostMethods)
		}
	}
}

// receiver names the type of a method.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}
