package schema

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
