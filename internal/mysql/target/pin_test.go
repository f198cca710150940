package target

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// TestPin moves an address from one server to another, and restarts a server: what was pinned is not mistaken for it.
func TestPin(t *testing.T) {
	all := map[string]*servers.Server{}
	for _, flavor := range servers.Flavors {
		all[flavor] = servers.Start(t, flavor)
	}
	twin := servers.Start(t, "mariadb") // of the same version, on the same machine
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := all[flavor]
			b := servers.Balance(t, s)
			x, err := Open(t.Context(), spec(t, b.URL("root")))
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			login := func() error {
				y, err := x.Session(t.Context(), SessionOptions{})
				if err == nil {
					y.Close()
				}
				return err
			}
			f := func(what string, ok bool) {
				t.Helper()
				conn, err := x.Conn(t.Context()) // new or asked before
				if err == nil {
					conn.Close()
				}
				for from, err := range map[string]error{"session": login(), "pool": err} {
					switch {
					case ok && err != nil:
						t.Errorf("%s, %s: %v", what, from, err)
					case !ok && (KindOf(err) != endpoint.Elsewhere || !strings.Contains(HintOf(err), "address") ||
						!strings.Contains(err.Error(), s.Dir)):
						t.Errorf("%s, %s: %v, %v, %s", what, from, err, KindOf(err), HintOf(err))
					}
				}
			}
			others := []*servers.Server{all["mysql"], twin}
			b.Turn(others[0])
			f("any server before it is pinned", true)
			b.Turn(s)
			x.db.SetMaxIdleConns(0)
			for range 2 {
				if err := x.Pin(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			f("the pinned server", true)
			for _, o := range others {
				if o == s {
					continue
				}
				x.db.SetMaxIdleConns(0)
				b.Turn(o)
				f("another server", false)
			}
			b.Turn(s)
			f("the pinned server again", true)

			// Restarted: in another second than the one it was started in.
			var started, now int64
			at := "SELECT UNIX_TIMESTAMP() - CAST(VARIABLE_VALUE AS SIGNED), UNIX_TIMESTAMP() FROM " +
				map[string]string{"mariadb": "information_schema", "mysql": "performance_schema"}[flavor] +
				".global_status WHERE VARIABLE_NAME = 'Uptime'"
			eventually(t, "a second has passed", func() bool {
				if err := s.DB(t, "").QueryRow(at).Scan(&started, &now); err != nil {
					t.Fatal(err)
				}
				return now > started
			})
			s.Kill(t)
			s.Launch(t)
			x.db.SetMaxIdleConns(0)
			f("the same server after a restart", false)
		})
	}
}

// TestPinAsksTheServerOfTheFacts: the address may have moved between the facts and the pin.
func TestPinAsksTheServerOfTheFacts(t *testing.T) {
	s, o := servers.Start(t, "mariadb"), servers.Start(t, "mariadb")
	b := servers.Balance(t, s)
	x, err := Open(t.Context(), spec(t, b.URL("root")))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	b.Turn(o)
	x.db.SetMaxIdleConns(0)
	if err := x.Pin(t.Context()); KindOf(err) != endpoint.Elsewhere || !strings.Contains(err.Error(), s.Dir) ||
		!strings.Contains(err.Error(), o.Dir) {
		t.Errorf("pinned to another server than the facts are of: %v", err)
	}
}
