package report

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/schema"
)

// TestChangesHoldNothingElse: what is printed for a shell or a file holds the statements and settings of the findings,
// and no line that somebody has put into the name of a table.
func TestChangesHoldNothingElse(t *testing.T) {
	ref := schema.Ref{Schema: "shop", Table: "x\nDROP TABLE shop.secret; -- "}
	x := schema.Index{Name: "k\r\nDROP TABLE shop.other; -- ", Type: "BTREE", Parts: []schema.IndexPart{{Column: "a"}}}
	f := finding.Finding{
		ID: "unused-index-1", Title: "Nothing has read the index " + x.Name + " of " + ref.String() + " for 8 d",
		File: "my.cnf", Setting: []string{"max_connections = 5"},
		Action: &finding.Action{SQL: ddl.DropIndexSQL(ref, x.Name), Undo: ddl.AddIndexSQL(ref, x)},
	}
	text := Changes([]finding.Finding{f})
	rest := strings.Replace(strings.Replace(text, f.Action.SQL+";\n", "", 1), f.Setting[0]+"\n", "", 1)
	for line := range strings.SplitSeq(strings.ReplaceAll(rest, "\r", "\n"), "\n") {
		if line != "" && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "#") {
			t.Errorf("a line that is neither a statement, a setting nor a comment: %q", line)
		}
	}
	if rest == text || !strings.Contains(text, "-- undo: ") {
		t.Errorf("%q", text)
	}
}

// TestChangesTogether: of two changes that exclude each other one is a statement, for the text may be run as it is.
func TestChangesTogether(t *testing.T) {
	ref := schema.Ref{Schema: "shop", Table: "orders"}
	f := func(id, index string, excludes ...string) finding.Finding {
		return finding.Finding{
			ID: id, Title: id, Excludes: excludes,
			Action: &finding.Action{SQL: ddl.DropIndexSQL(ref, index)},
		}
	}
	text := Changes([]finding.Finding{
		f("redundant-1", "a", "unused-1"), f("unused-1", "a_b", "redundant-1"),
		f("unused-2", "c"),
	})
	var statements []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") && line != "\n" {
			statements = append(statements, line)
		}
	}
	if len(statements) != 2 || !strings.Contains(statements[0], "`a`") || !strings.Contains(statements[1], "`c`") ||
		!strings.Contains(text, "not be applied together with redundant-1") {
		t.Errorf("%s", text)
	}
}
