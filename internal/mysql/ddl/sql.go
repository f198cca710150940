package ddl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/schema"
)

// BeginPins and EndPins are the transaction around PinSQL. Digests of statements lose Dyno's tag: nobody else words it
// so.
const (
	BeginPins = "BEGIN WORK"
	EndPins   = "ROLLBACK AND NO CHAIN NO RELEASE"
)

// PinSQL words a question that opens tables and gives no row: in a transaction it leaves locks on their definitions, so
// that the names stay those of tables until it ends. Servers refuse it, before they evaluate anything, when one is the
// name of a view. Unless it is to wait, it is refused as well, where the server can (MariaDB 10.3), for a table whose
// definition somebody is about to change.
func PinSQL(refs []schema.Ref, wait bool) string {
	var b strings.Builder
	if !wait {
		b.WriteString("/*M!100301 SET STATEMENT lock_wait_timeout = 0 FOR */ ")
	}
	b.WriteString("SELECT 1 FROM ")
	for i, r := range refs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Name(r) + " AS t" + strconv.Itoa(i) + " " + TableOnly)
	}
	b.WriteString(" LIMIT 0")
	return b.String()
}

// Quote returns a name in backticks, as every statement should hold it. It is right under any sql_mode.
func Quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// TableOnly and ByPrimaryKey stand behind a name in FROM. They are index hints, which servers refuse when the name is
// that of a view: whoever puts a view in a table's place can have functions of his called by who reads it. The first
// has all rows read.
const (
	TableOnly    = "USE INDEX ()"
	ByPrimaryKey = "FORCE INDEX (PRIMARY)"
)

// Name returns a table's name for a statement: quoted, with its schema when it has one.
func Name(r schema.Ref) string {
	if r.Schema == "" {
		return Quote(r.Table)
	}
	return Quote(r.Schema) + "." + Quote(r.Table)
}

// AddIndexSQL returns the ALTER TABLE that adds the index, without ALGORITHM and LOCK and without a semicolon.
func AddIndexSQL(t schema.Ref, x schema.Index) string {
	return "ALTER TABLE " + Name(t) + " " + AddIndexClause(x)
}

// DropIndexSQL returns the ALTER TABLE that drops the named index, in the same form.
func DropIndexSQL(t schema.Ref, name string) string {
	return "ALTER TABLE " + Name(t) + " " + DropIndexClause(name)
}

// AddIndexClause returns what follows the table's name in AddIndexSQL; empty when an expression is not Whole.
func AddIndexClause(x schema.Index) string {
	if !wholeParts(x) {
		return ""
	}
	var b strings.Builder
	b.WriteString("ADD ")
	switch {
	case x.Primary():
		b.WriteString("PRIMARY KEY ")
	case x.Type == "FULLTEXT" || x.Type == "SPATIAL":
		b.WriteString(x.Type + " INDEX " + Quote(x.Name) + " ")
	case x.Unique:
		b.WriteString("UNIQUE INDEX " + Quote(x.Name) + " ")
	default:
		b.WriteString("INDEX " + Quote(x.Name) + " ")
	}
	b.WriteString("(" + PartsSQL(x.Parts) + ")")
	if x.Type == "HASH" {
		b.WriteString(" USING HASH")
	}
	return b.String()
}

// DropIndexClause returns what follows the table's name in DropIndexSQL.
func DropIndexClause(name string) string {
	if name == "PRIMARY" {
		return "DROP PRIMARY KEY"
	}
	return "DROP INDEX " + Quote(name)
}

func wholeParts(x schema.Index) bool {
	return !slices.ContainsFunc(x.Parts, func(p schema.IndexPart) bool { return !Whole(p.Expr) })
}

// PartsSQL returns the parts of an index as they stand between its parentheses: `a`, `b`(10) DESC, (lower(`c`)).
func PartsSQL(parts []schema.IndexPart) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(", ")
		}
		if p.Expr != "" {
			b.WriteString("(" + p.Expr + ")")
		} else {
			b.WriteString(Quote(p.Column))
		}
		if p.Prefix > 0 {
			b.WriteString("(" + strconv.Itoa(p.Prefix) + ")")
		}
		if p.Desc {
			b.WriteString(" DESC")
		}
	}
	return b.String()
}
