package digestsource

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestSlowLogIsTheServersOwnFile: what stands where the server says its log is may be a pipe, or a way to another's
// file. It is said why it is not read, and it is read again once it is a log.
func TestSlowLogIsTheServersOwnFile(t *testing.T) {
	s := servers.Start(t, "mariadb", "slow-query-log=ON", "slow-query-log-file=slow.log", "long-query-time=0")
	log := s.Dir + "/data/slow.log"
	r := open(t, s, "root", Options{})
	look := func() source.Source {
		t.Helper()
		got := make(chan source.Source, 1)
		go func() {
			_, sources := window(t, r, func() { s.Exec(t, "SELECT 1 + 1") })
			got <- given(t, sources, source.SlowLog)
		}()
		select {
		case x := <-got:
			return x
		case <-time.After(time.Minute):
			t.Fatal("reading the slow log never ends")
		}
		panic("unreachable")
	}
	refused := func(why string) {
		t.Helper()
		if x := look(); x.State != source.Failed || !strings.Contains(x.Reason, why) {
			t.Errorf("%+v, want %q", x, why)
		}
	}
	if x := look(); x.State != source.OK {
		t.Fatalf("%+v", x)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(log, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("not a regular file")
	if os.Geteuid() == 0 {
		secret := t.TempDir() + "/secret"
		if err := os.WriteFile(secret, []byte("# Time: 261121  7:33:34\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(secret, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(secret, log); err != nil {
			t.Fatal(err)
		}
		refused("belongs to user 65534")
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "FLUSH SLOW LOGS")
	if x := look(); x.State != source.OK {
		t.Errorf("%+v", x)
	}
}
