package sandbox

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

func TestLeaves(t *testing.T) {
	f := func(name string, want bool, logs ...string) {
		t.Helper()
		if got := (Maker{}).Leaves(maker.Server{Flavor: "mariadb", Version: "11.4.5"}, name, logs); got != want {
			t.Errorf("%s with logs %v: %v", name, logs, got)
		}
	}
	f("auto.cnf", true)
	f("ib_buffer_pool", true)
	f("ibdata1", false)
	f("mysql-bin.000001", false)
	f("mysql-bin.000001", true, "relay", "mysql-bin")
	f("mysql-bin.index", true, "mysql-bin")
	f("mysql-bin.state", true, "mysql-bin")
	f("mysql-bin.000001.idx", true, "mysql-bin") // MariaDB 11.4 and later
	f("mysql-bin.a.idx", false, "mysql-bin")
	f("mysql-bin.ibd", false, "mysql-bin")
	f("d/mysql-bin.000001", false, "mysql-bin")
	f("mysql-binary.000001", false, "mysql-bin")
}
