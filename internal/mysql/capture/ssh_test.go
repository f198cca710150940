package capture_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/capture"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/tunnel"
	"github.com/dyno-perf/dyno/test/judged"
	"github.com/dyno-perf/dyno/test/servers"
	"github.com/dyno-perf/dyno/test/sshd"
)

// TestHostFindingsBySSH: a server that is reached only by ssh into another network has the same findings of its machine
// as from inside.
func TestHostFindingsBySSH(t *testing.T) {
	s := servers.Start(t, "mysql")
	if err := os.Chmod(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	j := sshd.NewWithShell(t, sshd.Network)
	j.Start(t)
	set := tunnel.NewSet(t.Context())
	defer set.Close()
	take := func(query string) *snapshot.Snapshot {
		t.Helper()
		x, err := endpoint.ParseURL("unix://" + s.Socket + "?user=root" + query)
		if err != nil {
			t.Fatal(err)
		}
		x.Via = set
		y, err := target.Open(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		defer y.Close()
		snap, err := capture.Take(t.Context(), y, capture.Options{Window: capture.MinWindow})
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
	here := take("")
	behind := "&ssh=" + tunnel.Jump{User: j.User, Host: "127.0.0.1", Port: j.Port}.String()
	far := take(behind)
	for name, v := range here.Host.Settings {
		if strings.HasPrefix(name, "net.core.") { // of another network namespace, which has not all of them
			continue
		}
		if strings.HasPrefix(name, "meminfo/HugePages_") || name == "fs.aio-nr" {
			continue // of what runs at the time
		}
		if w := far.Host.Settings[name]; w != v {
			t.Errorf("%s is %q here and %q by ssh", name, v, w)
		}
	}
	if !here.Target.Local || far.Target.Local || far.Host.ServerPID != s.PID {
		t.Errorf("here %v, by ssh %v, process %d of %d", here.Target.Local, far.Target.Local, far.Host.ServerPID, s.PID)
	}
	rules := func(x *snapshot.Snapshot) (names []string) {
		_, all := judged.Advise(x, advise.Host)
		for _, f := range all {
			names = append(names, f.ID)
		}
		slices.Sort(names)
		return names
	}
	a, b := rules(here), rules(far)
	for range 4 { // findings of what a machine does at the time come and go
		if slices.Equal(a, b) {
			break
		}
		a, b = rules(take("")), rules(take(behind))
	}
	if len(a) == 0 || !slices.Equal(a, b) {
		t.Errorf("findings of the machine: here %q, by ssh %q", a, b)
	}
}
