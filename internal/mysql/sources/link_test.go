package sources

import (
	"database/sql/driver"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

// TestWayOfABusyLogin: what a login on a busy machine measured as the way there and back does not hide what statements
// take.
func TestWayOfABusyLogin(t *testing.T) {
	l := newLink(open(t, servers.Start(t, "mariadb"), "root"))
	defer l.Close()
	if err := l.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.way = time.Hour
	if _, err := l.Query(t.Context(), "SELECT SLEEP(1)", func([]driver.Value) {}); err != nil {
		t.Fatal(err)
	}
	if l.used.Server <= 0 || l.way >= time.Second {
		t.Errorf("a second of sleep took %v, the way %v", l.used.Server, l.way)
	}
}
