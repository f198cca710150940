package fault

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/fault"
)

// texts returns the string literals of the Go files below dir that are no tests, and where they stand.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	set := token.NewFileSet()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if _, imports := n.(*ast.ImportSpec); imports {
				return false
			}
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if s, err := strconv.Unquote(l.Value); err == nil {
					all[s] = set.Position(l.Pos()).String()
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var (
	inTemplate = regexp.MustCompile(`\{([a-z0-9_]+(?:\.[a-z0-9_]+)?)\}`)
	asKey      = regexp.MustCompile(`\bn\.(?:Of|List)\(([^()]*)\)`)
	inQuotes   = regexp.MustCompile(`"([a-z0-9_.]+)"`)
)

// places are where the faults of all families are, and what they share.
var places = []string{".", "../../fault", "../../postgres/fault"}

// keys returns the keys of all names of the scenes: those in templates, and those asked for by themselves.
func keys(t *testing.T) []string {
	t.Helper()
	seen := map[string]bool{fault.SchemaKey: true}
	for _, dir := range places {
		for s := range texts(t, dir) {
			for _, m := range inTemplate.FindAllStringSubmatch(s, -1) {
				seen[m[1]] = true
			}
		}
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range asKey.FindAllStringSubmatch(string(b), -1) {
				for _, m := range inQuotes.FindAllStringSubmatch(call[1], -1) {
					seen[m[1]] = true
				}
			}
		}
	}
	delete(seen, "key")
	delete(seen, "names")
	var list []string
	for k := range seen {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// own is the name that people would choose for a key.
func own(key string) string { return fault.Names(0).Of(key) }

func TestRandomNames(t *testing.T) {
	all := keys(t)
	if len(all) < 20 || !slices.Contains(all, "clients.region_code") {
		t.Fatalf("only the keys %v were seen", all)
	}
	word := regexp.MustCompile(`^[a-z]{9}$`)
	for seed := uint64(1); seed < 200; seed++ {
		n := fault.Names(seed)
		used := map[string]string{}
		for _, k := range all {
			name := n.Of(k)
			if other, ok := used[name]; ok || !word.MatchString(name) {
				t.Fatalf("seed %d: %s is called %s as is %s", seed, k, name, other)
			}
			used[name] = k
		}
		if n.Of("clients") == fault.Names(seed+1).Of("clients") {
			t.Errorf("seeds %d and %d give the same names", seed, seed+1)
		}
	}
}

// TestNoNameShinesThrough looks for names of people in what is planted under random ones. Words of SQL stand in
// capitals.
func TestNoNameShinesThrough(t *testing.T) {
	human := map[string]bool{}
	for _, k := range keys(t) {
		human[own(k)] = true
	}
	local := regexp.MustCompile(`\b(?:IN|OUT|INOUT|DECLARE) ([a-z_]+)`) // names that nobody but a routine itself sees
	literal, word := regexp.MustCompile(`'[^']*'`), regexp.MustCompile(`\b[a-z_][a-z0-9_]*\b`)
	for _, f := range All() {
		p, err := f.Workload.Build(fault.Options(9))
		if err != nil {
			t.Fatal(err)
		}
		list := []string{p.Schema}
		for _, s := range p.Statements {
			list = append(list, s.SQL)
		}
		for _, tb := range p.Tables {
			list = append(list, tb.Name, tb.Create, strings.Join(tb.Columns, " "), tb.Key)
		}
		for _, q := range f.After {
			list = append(list, fault.Names(9).SQL(q))
		}
		for _, q := range list {
			inside := map[string]bool{}
			for _, m := range local.FindAllStringSubmatch(q, -1) {
				inside[m[1]] = true
			}
			for _, w := range word.FindAllString(literal.ReplaceAllString(q, "''"), -1) {
				if human[w] && !inside[w] {
					t.Errorf("%s under random names: %q stands in %s", f.Name, w, q)
				}
			}
		}
	}
}

// TestNoRuleKnowsAName reads the sources of judgement: none may hold a name of a table, column, index or routine that
// is planted. Names that are ordinary words are looked for as a whole text, others anywhere.
func TestNoRuleKnowsAName(t *testing.T) {
	looked, all := 0, keys(t)
	for _, dir := range []string{
		"../../advise", "../advise", "../../postgres/advise", "../../diagnose", "../symptoms", "../../shape",
		"../sqlshape", "../arith",
	} {
		for s, at := range texts(t, dir) {
			looked++
			low := strings.ToLower(s)
			for _, k := range all {
				name := own(k)
				if low == k && strings.Contains(k, ".") || strings.Contains(name, "_") && knows(low, name) {
					t.Errorf("%s: the text %q holds %q, a name that is planted", at, s, name)
				}
			}
		}
	}
	if looked < 100 {
		t.Errorf("only %d texts were looked at", looked)
	}
	// The test itself must be able to fail.
	if !knows("where region_code = 1", "region_code") || knows("my_region_codes", "region_code") {
		t.Error("names are not recognised")
	}
}

// knows reports whether a text holds a name as a word.
func knows(text, name string) bool {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] >= 'a' && text[i] <= 'z' ||
			text[i] >= '0' && text[i] <= '9')
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		if !letter(i-1) && !letter(i+len(name)) {
			return true
		}
		from = i + 1
	}
}
