package host

import (
	"testing"

	"github.com/dyno-perf/dyno/test/machine"
)

func TestFileLimit(t *testing.T) {
	found(t, fileLimit, machine.New().Gauge("dyno_server_open_fds", 19_000), "warning: the server has 19000 of 20000 "+
		"files open | [Service] | LimitNOFILE = 40000")
	found(t, fileLimit, machine.New().Set("table_open_cache", "20000"),
		"fact: the settings ask for up to 40500 files, "+
			"the process may open 20000 | [Service] | LimitNOFILE = 40600")
}

func TestFileLimitSilent(t *testing.T) {
	found(t, fileLimit, machine.New().Gauge("dyno_server_open_fds", 9_000))
	m := machine.New().Gauge("dyno_server_open_fds", 19_000)
	m.S.Host.Limits["max_open_files"] = -1
	found(t, fileLimit, m)
}
