package sources

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/tunnel"
	"github.com/dyno-perf/dyno/test/nodeexporter"
	"github.com/dyno-perf/dyno/test/pgserver"
	"github.com/dyno-perf/dyno/test/sshd"
)

// TestNodeExporterBehindABastion: where the ssh host is another machine, a node_exporter shows the server's, and that
// nothing proves that it is the server's is said.
func TestNodeExporterBehindABastion(t *testing.T) {
	s := pgserver.Start(t, "17")
	j := sshd.NewWithShell(t, sshd.Processes)
	j.Start(t)
	set := tunnel.NewSet(t.Context())
	defer set.Close()
	x, err := conn.Open(t.Context(), endpoint.Spec{
		Scheme: endpoint.Postgres, Network: "unix", Address: s.Socket, User: "postgres", Database: "postgres",
		Jump: tunnel.Jump{User: j.User, Host: "127.0.0.1", Port: j.Port}, Via: set,
		NodeExporter: nodeexporter.Start(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	far, here := scraper(t, x, "host", "process").Once(t.Context()),
		scraper(t, open(t, s, "postgres"), "host", "process").Once(t.Context())
	for _, src := range far.Sources {
		want, why := source.OK, "cannot be verified: the server does not report the name of its host"
		if src.Name == source.Process {
			want, why = source.Missing, "the ssh host is not the server's machine"
		}
		if src.State != want || !strings.Contains(src.Reason, why) {
			t.Errorf("%+v, want %s %q", src, want, why)
		}
	}
	for _, name := range []string{"node_memory_MemTotal_bytes", "dyno_host_cpus"} {
		if a, b := value(t, far, name), value(t, here, name); a != b {
			t.Errorf("%s is %v by node_exporter, %v here", name, a, b)
		}
	}
}
