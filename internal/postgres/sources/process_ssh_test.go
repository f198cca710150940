package sources

import (
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/tunnel"
	"github.com/dyno-perf/dyno/test/pgserver"
	"github.com/dyno-perf/dyno/test/sshd"
)

// TestProcessBySSH: the server's processes and machine are found on the host that ssh leads to.
func TestProcessBySSH(t *testing.T) {
	s := pgserver.Start(t, "17")
	j := sshd.NewWithShell(t)
	j.Start(t)
	set := tunnel.NewSet(t.Context())
	defer set.Close()
	x, err := conn.Open(t.Context(), endpoint.Spec{
		Scheme: endpoint.Postgres, Network: "unix", Address: s.Socket, User: "postgres", Database: "postgres",
		Jump: tunnel.Jump{User: j.User, Host: "127.0.0.1", Port: j.Port}, Via: set,
	})
	if err != nil {
		t.Fatal(err)
	}
	far, here := scraper(t, x, "host", "process").Once(t.Context()),
		scraper(t, open(t, s, "postgres"), "host", "process").Once(t.Context())
	for range 5 { // beside servers as old as this one it is known by the session that asks, which may have ended
		if !slices.ContainsFunc(far.Sources, func(x source.Source) bool { return x.State != source.OK }) {
			break
		}
		far = scraper(t, x, "host", "process").Once(t.Context())
	}
	for _, src := range far.Sources {
		if src.State != source.OK {
			t.Errorf("%+v", src)
		}
	}
	for _, name := range []string{"dyno_server_processes", "node_memory_MemTotal_bytes", "dyno_host_cpus"} {
		if a, b := value(t, far, name), value(t, here, name); a < b-6 || a > b+6 {
			t.Errorf("%s is %v by ssh, %v here", name, a, b)
		}
	}
	if _, ok := find(far, "dyno_server_io_read_bytes_total"); !ok { // the account is the server's own
		t.Error("the bytes of the server's processes are missing")
	}
}
