package arith

import (
	"database/sql"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

// TestPoolTable tries more than thirty combinations on a running MySQL and prints what became of them.
func TestPoolTable(t *testing.T) {
	t.Log("\n" + poolTable(t, func(t *testing.T, settings ...string) *sql.DB {
		return servers.Start(t, "mysql", settings...).DB(t, "")
	}))
}
