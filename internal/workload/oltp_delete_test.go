package workload

import (
	"strings"
	"testing"
)

func TestDelete(t *testing.T) {
	checkShape(t, Delete{}, nil, del)
	checkShape(t, Delete{}, map[string]string{"delete-inserts": "5", "tables": "3"}, del)
	p := build(t, Delete{}, map[string]string{"tables": "3"})
	if len(p.Statements) != 3 {
		t.Errorf("%d statements to prepare for three tables", len(p.Statements))
	}
	if !strings.Contains(strings.Join(p.Notes, " "), "do not come back") {
		t.Errorf("notes %q", p.Notes)
	}
}
