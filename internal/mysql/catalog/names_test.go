package catalog

import (
	"context"
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

func TestNames(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE n", "CREATE TABLE n.b (a INT)", "CREATE TABLE n.`a c` (a INT)",
				"CREATE VIEW n.v AS SELECT 1")
			got, err := Names(context.Background(), s.DB(t, ""), "n")
			if err != nil || !slices.Equal(got, []string{"a c", "b", "v"}) {
				t.Fatalf("got %q, %v", got, err)
			}
			if got, err := Names(context.Background(), s.DB(t, ""), "nowhere"); err != nil || len(got) != 0 {
				t.Fatalf("of no schema: got %q, %v", got, err)
			}
		})
	}
}
