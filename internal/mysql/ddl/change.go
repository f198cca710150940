package ddl

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/schema"
)

// ClauseSQL returns a clause; empty when a part of it is not Whole.
func ClauseSQL(c schema.Clause) string {
	if !Whole(c.Definition) || !wholeParts(c.Index) || strings.ContainsAny(c.Option+c.Value, " \t\n,;()`'\"#/-") {
		return ""
	}
	switch c.Kind {
	case schema.ModifyColumn:
		return "MODIFY COLUMN " + Quote(c.Column) + " " + c.Definition
	case schema.AddColumn:
		return "ADD COLUMN " + Quote(c.Column) + " " + c.Definition
	case schema.DropColumn:
		return "DROP COLUMN " + Quote(c.Column)
	case schema.AddKey:
		return AddIndexClause(c.Index)
	case schema.DropKey:
		return DropIndexClause(c.Index.Name)
	case schema.PrimaryKey:
		if len(c.Index.Parts) == 0 {
			return "DROP PRIMARY KEY"
		}
		return "DROP PRIMARY KEY, ADD PRIMARY KEY (" + PartsSQL(c.Index.Parts) + ")"
	case schema.TableOption:
		return c.Option + "=" + c.Value
	case schema.Rebuild:
		return "FORCE"
	}
	return ""
}

// ChangeSQL returns the ALTER TABLE that makes the changes, without a semicolon.
func ChangeSQL(t schema.Ref, changes []schema.Clause) string {
	var clauses []string
	for _, c := range changes {
		clauses = append(clauses, ClauseSQL(c))
	}
	return "ALTER TABLE " + Name(t) + " " + strings.Join(clauses, ", ")
}
