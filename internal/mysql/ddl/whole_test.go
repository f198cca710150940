package ddl

import (
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/schema"
)

func TestBare(t *testing.T) {
	f := func(sql, want string, closed bool) {
		t.Helper()
		if got, ok := Bare(sql); got != want || ok != closed {
			t.Errorf("%s:\n%s %v\n%s %v", sql, got, ok, want, closed)
		}
	}
	f("a 'b' \"c\" `d`", "a 'x' \"x\" `x`", true)
	f("'it''s' `a``b`", "'xxxxx' `xxxx`", true)
	f(`'a\'b' 'c'`, `'xxxx' 'x'`, true)
	f("`a\\` 'b'", "`xx` 'x'", true) // a backslash in a name is one
	f("'a", "'x", false)
	f("''", "''", true)
	f("'a\n`b`' c", "'xxxxx' c", true)
}

func TestLines(t *testing.T) {
	for text, want := range map[string][]string{"": {""}, "a\n'b\nc'\n`d`": {"a", "'b\nc'", "`d`"}, "a\n": {"a", ""}} {
		if got := Lines(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestWhole(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if Whole(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	f("varchar(10) NOT NULL DEFAULT 'a, b' COMMENT 'it''s; # --'", true)
	f("enum('a','b')", true)
	f("decimal(10,2) GENERATED ALWAYS AS (concat(`a`,`b`)) VIRTUAL", true)
	f("", true)
	for _, text := range []string{
		"int DEFAULT 0,RENAME `v`.`t`", "int, DROP COLUMN x", "int # x", "int -- x", "int /* x */", "int /*!50000 x */",
		"int)", "(int", "LEFT(x, 1))),DROP note#(2)",
		"int; DROP TABLE t", "int COMMENT 'x", "`a", ") (", "int \x00",
	} {
		f(text, false)
	}
	// What does not hold together makes no clause.
	bad := "int DEFAULT 0,RENAME `v`.`t`"
	for _, c := range []schema.Clause{
		{Kind: schema.ModifyColumn, Column: "x", Definition: bad},
		{Kind: schema.AddColumn, Column: "x", Definition: bad},
		{Kind: schema.AddKey, Index: schema.Index{Name: "i", Parts: []schema.IndexPart{{Expr: "a))),DROP note#("}}}},
		{Kind: schema.PrimaryKey, Index: schema.Index{Parts: []schema.IndexPart{{Expr: "a))),DROP note#("}}}},
		{Kind: schema.TableOption, Option: "ROW_FORMAT", Value: "a,RENAME`v`.`t`"},
		{Kind: schema.TableOption, Option: "ROW_FORMAT", Value: "a b"},
	} {
		if got := ClauseSQL(c); got != "" {
			t.Error(got)
		}
	}
}
