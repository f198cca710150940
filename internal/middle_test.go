package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// familyWords are words that only one family of servers knows: its metrics, its engine and catalog, its variables.
var familyWords = regexp.MustCompile(`(?i)mysql_|innodb|information_schema|performance_schema|\bpg_[a-z]` +
	`|\b(sync_binlog|binlog_\w+|log_bin|long_query_time|slow_query_log\w*|query_cache_\w+|tmp_table_size` +
	`|max_heap_table_size|\w+_buffer_size|super_read_only|character_set_\w+|sql_mode|(lock_)?wait_timeout` +
	`|table_(open|definition)_cache|thread_(cache_size|handling|pool_\w+)|optimizer_switch|tx_isolation` +
	`|transaction_isolation|max_(connections|prepared_stmt_count|user_connections)|sql_log_bin|flush_time` +
	`|shared_buffers|work_mem|max_wal_size|idle_in_transaction_session_timeout|lock_timeout|statement_timeout)\b`)

// quotesNames is a text that puts a name between the quotes of MySQL.
var quotesNames = regexp.MustCompile("^`$|``|`\\.`|`%s`|`\\.%")

// TestMiddleKnowsNoFamily reads the program text of all packages that serve every family of servers, comments and tests
// apart: none may hold a word that only one family knows. In quotesNames it looks for names in quotes of one family.
func TestMiddleKnowsNoFamily(t *testing.T) {
	found, excused, read := map[string][]string{}, map[string]bool{}, 0
	for _, p := range packages(t) {
		if free(p.ImportPath) || familyOf(p.ImportPath) != "" || p.ImportPath == "internal/app" {
			continue
		}
		for _, name := range p.GoFiles {
			read++
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			hold := func(at token.Pos, words []string) {
				file := p.ImportPath + "/" + name
				if len(words) > 0 && storedNames[file] != "" {
					excused[file] = true
					return
				}
				for _, w := range words {
					found[p.ImportPath] = append(found[p.ImportPath],
						name+":"+strconv.Itoa(fset.Position(at).Line)+" "+w)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Field: // names in JSON stay as they are stored
					n.Tag = nil
				case *ast.Ident:
					hold(n.Pos(), familyWords.FindAllString(n.Name, -1))
				case *ast.BasicLit:
					s, err := strconv.Unquote(n.Value)
					if err != nil || n.Kind == token.INT {
						return true
					}
					hold(n.Pos(), familyWords.FindAllString(s, -1))
					if name != "markdown.go" { // where they mean program text
						hold(n.Pos(), quotesNames.FindAllString(s, -1))
					}
				}
				return true
			})
		}
	}
	if read < 400 {
		t.Errorf("%d files read", read)
	}
	for _, p := range slices.Sorted(maps.Keys(found)) {
		t.Errorf("%s: words of one family of servers: %s", p, strings.Join(found[p], ", "))
	}
	for file := range storedNames {
		if !excused[file] {
			t.Errorf("%s has no such word: take it off the list", file)
		}
	}
}

// storedNames are files that hold such words for good: they are kept in files and go over the API as they are.
var storedNames = map[string]string{
	"internal/class/class.go":     "origins of classes, of all families",
	"internal/class/key.go":       "the quotes of all families, which mean nothing in a key",
	"internal/workload/engine.go": "sysbench's own default of an option; the hash of the data has it",
}
