package testbed

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/family"
	trialmysql "github.com/dyno-perf/dyno/internal/mysql/trial"
)

// TestSettle: a server that was made to write its dirty pages is afterwards what it was, and a trial knows when it is
// not.
func TestSettle(t *testing.T) {
	for _, flavor := range []string{"mariadb", "mysql"} {
		t.Run(flavor, func(t *testing.T) {
			s := newStand(t)
			p, vs := parse(t, `
server: `+flavor+`
settings: {innodb_buffer_pool_size: 32M, innodb_max_dirty_pages_pct: 80, innodb_max_dirty_pages_pct_lwm: 20}
read:
  most: SELECT @@GLOBAL.innodb_max_dirty_pages_pct
  low: SELECT @@GLOBAL.innodb_max_dirty_pages_pct_lwm
trials: {rounds: 1..1, control: false, fresh: none, settle: true}
`)
			if v := s.must(t, vs[0], p).Values; v["most"] != 80 || v["low"] != 20 {
				t.Errorf("dirty pages up to %v %% and from %v %% on, want 80 and 20", v["most"], v["low"])
			}

			open := func() family.TrialServer {
				t.Helper()
				x, err := trialmysql.Bench{}.Open(t.Context(), s.current.box.Spec())
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			ask := func(want string) {
				t.Helper()
				x := open()
				defer x.Close()
				c, err := x.Session(t.Context(), "lab", false)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				got, err := c.Value(t.Context(), "SELECT @@GLOBAL.innodb_max_dirty_pages_pct")
				if err != nil || got.String != want {
					t.Errorf("%v, %v: want %s", got, err, want)
				}
			}
			x := open()
			undo, err := x.WriteOut(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ask("0")
			x.Close()
			if undo() == nil {
				t.Error("nothing was put back, and nobody said so")
			}
			ask("0")
		})
	}
}
