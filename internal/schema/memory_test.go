package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"dyno/internal/known"
)

// TestMemory: a table's description takes no more as JSON than is counted, whatever its names hold, and not much less.
func TestMemory(t *testing.T) {
	for what, name := range map[string]string{
		"letters": strings.Repeat("a", 60), "quotes": strings.Repeat(`"`, 60),
		"signs that end a line": strings.Repeat("\u2028", 20),
		"control characters":    strings.Repeat("\x01", 60), "no characters": strings.Repeat("\xff", 60),
		"umlauts": strings.Repeat("ä", 30),
	} {
		x := Table{Ref: Ref{Schema: name, Table: name}, Engine: "InnoDB", Rows: known.Of[uint64](1)}
		for range 100 {
			x.Columns = append(x.Columns, Column{
				Name: name, Type: name, DataType: "varchar", Charset: "utf8mb4",
				Collation: "utf8mb4_0900_ai_ci", Bytes: 4,
			})
			x.Indexes = append(x.Indexes, Index{Name: name, Type: "BTREE", Parts: []IndexPart{
				{Column: name},
				{Expr: name},
			}})
			x.Foreign = append(x.Foreign, ForeignKey{
				Name: name, Columns: []string{name}, To: x.Ref,
				Refers: []string{name},
			})
			x.Triggers = append(x.Triggers, Trigger{Name: name, Timing: "BEFORE", Event: "INSERT", Body: name})
		}
		b, err := json.MarshalIndent(x, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if n := x.Memory(); n < len(b)*4/5 || n > 3*len(b) {
			t.Errorf("%s: %d bytes are counted, and there are %d as JSON", what, n, len(b))
		}
	}
}
