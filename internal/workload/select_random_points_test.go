package workload

import (
	"strings"
	"testing"
)

func TestRandomPoints(t *testing.T) {
	checkShape(t, RandomPoints{}, nil, "SELECT id, k, c, pad FROM sbtest1 WHERE k IN ("+strings.Repeat("#, ", 9)+"#)")
	checkShape(t, RandomPoints{}, map[string]string{"random-points": "1"}, "SELECT id, k, c, pad FROM sbtest1 WHERE "+
		"k IN (#)")
	refuses(t, RandomPoints{}, map[string]string{"random-points": "0"}, "from 1")
	refuses(t, RandomPoints{}, map[string]string{"random-points": "70000"}, "at most 65535")
	refuses(t, RandomPoints{}, map[string]string{"threads": "0"}, "from 1")
	p := build(t, RandomPoints{}, map[string]string{"tables": "4"})
	if !strings.Contains(strings.Join(p.Notes, " "), "sbtest1 alone") || len(p.Tables) != 4 {
		t.Errorf("notes %q of %d tables", p.Notes, len(p.Tables))
	}
}
