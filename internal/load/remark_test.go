package load

import (
	"slices"
	"testing"
)

// TestSortRemarks puts the worst first and leaves those of one severity as they are.
func TestSortRemarks(t *testing.T) {
	list := []Remark{{Note, "a", ""}, {Warn, "b", ""}, {Refuse, "c", ""}, {Warn, "d", ""}, {Refuse, "e", ""}}
	SortRemarks(list)
	if want := []Remark{
		{Refuse, "c", ""}, {Refuse, "e", ""}, {Warn, "b", ""}, {Warn, "d", ""}, {Note, "a", ""},
	}; !slices.Equal(list, want) {
		t.Errorf("%v", list)
	}
}
