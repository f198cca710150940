//go:build install

package sources

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

// TestLocksOnOlderServers runs on servers that are up already: DYNO_TEST_SOCKETS lists them as flavor=socket, with
// commas between. Their root has no password; the database d is made and dropped there.
func TestLocksOnOlderServers(t *testing.T) {
	for _, x := range strings.Split(os.Getenv("DYNO_TEST_SOCKETS"), ",") {
		flavor, socket, ok := strings.Cut(x, "=")
		if !ok {
			t.Fatalf("DYNO_TEST_SOCKETS: %q is not flavor=socket", x)
		}
		t.Run(filepath.Base(filepath.Dir(socket)), func(t *testing.T) {
			s := &servers.Server{Flavor: flavor, Socket: socket}
			s.Exec(t, "DROP DATABASE IF EXISTS d")
			defer s.Exec(t, "DROP DATABASE IF EXISTS d")
			locksOn(t, flavor, s)
		})
	}
}
