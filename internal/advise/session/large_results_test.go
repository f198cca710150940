package session

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
)

func TestLargeResults(t *testing.T) {
	all := largeResults(elephant(counted("all", "select id, name from item", 50, 5_000_000, 20)))
	if len(all) != 1 || all[0].Evidence[0].Value.Or(0) != 100_000 {
		t.Fatalf("%+v", all)
	}
}

func TestLargeResultsSilent(t *testing.T) {
	for name, v := range map[string]*advise.View{
		"a page":      elephant(counted("all", "select id, name from item limit ?", 50, 5000, 20)),
		"little time": elephant(counted("all", "select id from item", 1, 100_000, 0.1), counted("x", itemSQL, 9, 9, 9)),
	} {
		if all := largeResults(v); len(all) > 0 {
			t.Errorf("%s: %+v", name, all)
		}
	}
}
