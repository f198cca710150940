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
	`|max_heap_table_size|\w+_buffer_size|(super_)?read_only|character_set_\w+|sql_mode|(lock_)?wait_timeout` +
	`|table_(open|definition)_cache|thread_(cache_size|handling|pool_\w+)|optimizer_switch|tx_isolation` +
	`|transaction_isolation|max_(connections|prepared_stmt_count|user_connections)|sql_log_bin|flush_time` +
	`|shared_buffers|work_mem|max_wal_size|idle_in_transaction_session_timeout|lock_timeout|statement_timeout)\b`)

// quotesNames is a text that puts a name between the quotes of MySQL.
var quotesNames = regexp.MustCompile("^`$|``|`\\.`|`%s`|`\\.%")

// TestMiddleKnowsNoFamily reads the program text of all packages that serve every family of servers, comments and tests
// apart: none may hold a word that only one family knows. In quotesNames it looks for names in quotes of one family.
func TestMiddleKnowsNoFamily(t *testing.T) {
	found, read := map[string][]string{}, 0
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
				for _, w := range words {
					found[p.ImportPath] = append(found[p.ImportPath],
						name+":"+strconv.Itoa(fset.Position(at).Line)+" "+w)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
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
		if len(found[p]) != familyWordsLeft[p] {
			t.Errorf("%s: %d words of one family of servers, %d are counted on: %s", p, len(found[p]),
				familyWordsLeft[p], strings.Join(found[p], ", "))
		}
	}
	for p := range familyWordsLeft {
		if len(found[p]) == 0 {
			t.Errorf("%s has no such word left: take it off the list", p)
		}
	}
}

// familyWordsLeft counts the words that packages of the middle have still; it only ever falls.
var familyWordsLeft = map[string]int{
	"internal/advise":          9,
	"internal/advise/host":     23,
	"internal/advise/index":    8,
	"internal/advise/session":  46,
	"internal/class":           3,
	"internal/cli":             8,
	"internal/demo":            2,
	"internal/diagnose":        44,
	"internal/discovery":       1,
	"internal/exposition":      30,
	"internal/httpapi":         2,
	"internal/incident":        1,
	"internal/load":            125,
	"internal/metric":          12,
	"internal/plan":            12,
	"internal/proof":           2,
	"internal/report":          28,
	"internal/sandbox":         27,
	"internal/schema":          9,
	"internal/screen":          3,
	"internal/service":         8,
	"internal/snapshot":        8,
	"internal/source":          4,
	"internal/state":           42,
	"internal/store/history":   2,
	"internal/testbed":         60,
	"internal/trial":           97,
	"internal/workload":        4,
	"internal/workload/script": 3,
	"internal/workload/tpcc":   1,
}
