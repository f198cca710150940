package schema

import "strings"

// ClauseKind names one clause of an ALTER TABLE.
type ClauseKind string

// The kinds of change to a table.
const (
	ModifyColumn ClauseKind = "modify_column" // Column, Definition: everything behind the name, "varchar(40) NOT NULL"
	AddColumn    ClauseKind = "add_column"    // Column, Definition
	DropColumn   ClauseKind = "drop_column"   // Column
	AddKey       ClauseKind = "add_key"       // Index
	DropKey      ClauseKind = "drop_key"      // Index, by its name
	// Index: the new primary key in place of the old one; without parts the old one is dropped
	PrimaryKey  ClauseKind = "primary_key"
	TableOption ClauseKind = "table_option" // Option, Value: ROW_FORMAT, DYNAMIC
	Rebuild     ClauseKind = "rebuild"      // writes the table anew: FORCE
)

// Clause is one clause of an ALTER TABLE, as data.
type Clause struct {
	Kind       ClauseKind `json:"kind"`
	Column     string     `json:"column,omitzero"`
	Definition string     `json:"definition,omitzero"`
	Index      Index      `json:"index,omitzero"`
	Option     string     `json:"option,omitzero"` // ROW_FORMAT, KEY_BLOCK_SIZE, ENGINE
	Value      string     `json:"value,omitzero"`
}

// SQL returns the clause; empty when a part of it is not Whole.
func (c Clause) SQL() string {
	if !Whole(c.Definition) || !wholeParts(c.Index) || strings.ContainsAny(c.Option+c.Value, " \t\n,;()`'\"#/-") {
		return ""
	}
	switch c.Kind {
	case ModifyColumn:
		return "MODIFY COLUMN " + Quote(c.Column) + " " + c.Definition
	case AddColumn:
		return "ADD COLUMN " + Quote(c.Column) + " " + c.Definition
	case DropColumn:
		return "DROP COLUMN " + Quote(c.Column)
	case AddKey:
		return AddIndexClause(c.Index)
	case DropKey:
		return DropIndexClause(c.Index.Name)
	case PrimaryKey:
		if len(c.Index.Parts) == 0 {
			return "DROP PRIMARY KEY"
		}
		return "DROP PRIMARY KEY, ADD PRIMARY KEY (" + PartsSQL(c.Index.Parts) + ")"
	case TableOption:
		return c.Option + "=" + c.Value
	case Rebuild:
		return "FORCE"
	}
	return ""
}

// ChangeSQL returns the ALTER TABLE that makes the changes, without a semicolon.
func ChangeSQL(t Ref, changes []Clause) string {
	var clauses []string
	for _, c := range changes {
		clauses = append(clauses, c.SQL())
	}
	return "ALTER TABLE " + t.SQL() + " " + strings.Join(clauses, ", ")
}
