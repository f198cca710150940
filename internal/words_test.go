package internal_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// phrases are those that no user should read, each with what the trade says.
var phrases = []struct{ not, but string }{
	{`told|tells`, "reported, shows, says which"},
	{`anew`, "again, from scratch"},
	{`out of order`, "abnormal, above threshold"},
	{`mends?|mended`, "fix"},
	{`stands? (on|in)`, "appears in, is in"},
	{`in the mean`, "on average"},
	{`nobody|somebody`, "no user, someone, anyone who"},
	{`in vain`, "without success"},
	{`held against`, "compared with"},
	{`goes on`, "continues"},
	{`(is|are) not to be had`, "is unavailable"},
	{`lacks`, "is missing, has no"},
	{`does not serve|do not serve`, "is not usable"},
	{`made by (itself|themselves)`, "automatic, automatically"},
	{`asked for by`, "requested by"},
	{`taken back`, "undone"},
	{`in force`, "in effect"},
	{`limits of it`, "limitations"},
	{`beside what was published`, "compared with published results"},
	{`a look`, "a diagnosis, an observation"},
	{`what is kept`, "retention, storage"},
}

// plain are uses of the words that are the trade's, or data.
var plain = regexp.MustCompile(`(?i)told (apart|from)|out of order sample|^out of order$|how to mend thing`)

// TestPlainWords holds what users read, in help, errors, findings, pages and docs, against the list of phrases that are
// none of the trade's.
func TestPlainWords(t *testing.T) {
	var list []*regexp.Regexp
	for _, p := range phrases {
		list = append(list, regexp.MustCompile(`(?i)\b(`+p.not+`)\b`))
	}
	read := 0
	check := func(path string, line int, text string) {
		read++
		for i, re := range list {
			for _, at := range re.FindAllStringIndex(text, -1) {
				around := text[max(0, at[0]-30):min(len(text), at[1]+30)]
				if !plain.MatchString(around) {
					t.Errorf("%s:%d: %q: rather %s: %q", path, line+strings.Count(text[:at[0]], "\n"),
						text[at[0]:at[1]], phrases[i].but, around)
				}
			}
		}
	}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, "../"))
		if d.IsDir() {
			switch {
			case strings.HasPrefix(d.Name(), ".") && path != "..", d.Name() == "node_modules", d.Name() == "testdata",
				d.Name() == "dist", d.Name() == "bench",
				name == "test", name == "build", name == "tools", name == "bin":
				return filepath.SkipDir
			}
			return nil
		}
		switch ext := filepath.Ext(name); {
		case strings.HasSuffix(name, "_test.go"):
		case ext == ".go":
			return literals(path, func(line int, text string) { check(name, line, text) })
		case ext == ".md":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			check(name, 1, string(blanked(text, quotation)))
		case ext == ".html", strings.HasPrefix(name, "internal/recipe/") && ext == ".yaml":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			check(name, 1, string(text))
		case strings.HasPrefix(name, "ui/src/") && !strings.Contains(name, ".test.") && (ext == ".ts" || ext == ".tsx"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = blanked(text, comment)
			for _, at := range said.FindAllIndex(text, -1) {
				check(name, 1+bytes.Count(text[:at[0]], []byte("\n")), string(text[at[0]:at[1]]))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 5000 {
		t.Errorf("only %d texts were read", read)
	}
}

// literals gives the texts of a file of Go, imports and tags of fields left out.
func literals(path string, f func(line int, text string)) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if err == nil && n.Kind == token.STRING && strings.Contains(text, " ") &&
				!strings.Contains(text, "SELECT ") {
				f(set.Position(n.Pos()).Line, text)
			}
		}
		return true
	})
	return nil
}

var (
	comment   = regexp.MustCompile(`(?s)/\*.*?\*/|(?m)(^|\s)//[^\n]*`)
	quotation = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|(?m)^(    |\t)[^\n]*$")
	// said is what a script says: texts of more than one word, and what stands between tags.
	said = regexp.MustCompile("'[^'\n]* [^'\n]*'|\"[^\"\n]* [^\"\n]*\"|`[^`]* [^`]*`|>[^<>{}=;]* [^<>{}=;]*[<{]")
)

// blanked makes what matches blanks, so that the lines stay.
func blanked(text []byte, re *regexp.Regexp) []byte {
	return re.ReplaceAllFunc(text, func(b []byte) []byte {
		return bytes.Repeat([]byte("\n"), bytes.Count(b, []byte("\n")))
	})
}
