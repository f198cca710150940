package cli

import (
	"testing"

	"dyno/internal/load"
)

func TestExamplesOf(t *testing.T) {
	v := load.Violation{Columns: []string{"w_id", "w_ytd"}, Rows: [][]string{{"1", "0.01"}, {"2", "NULL"}}, More: true}
	if got, want := examplesOf(v), "   w_id=1 w_ytd=0.01\n   w_id=2 w_ytd=NULL\n   and more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
