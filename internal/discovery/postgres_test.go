package discovery

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestDiscoverPostgres: a server is found by its process, its socket and its port as one, beside none of MySQL's. As
// root it is another account's, so that nothing is sent to it.
func TestDiscoverPostgres(t *testing.T) {
	s := pgserver.Start(t, "17")
	a := alone(t)
	tcp := fmt.Sprintf("127.0.0.1:%d", s.Port)
	for _, only := range [][]string{{s.Socket, tcp}, {tcp}, {s.Socket}} {
		d := search(t, a, only...)
		if len(d.Found) != 1 || len(d.Notes) != 0 {
			t.Fatalf("%q: found %+v, notes %q", only, d.Found, d.Notes)
		}
		f := d.Found[0]
		if f.Flavor != "postgres" || f.Address != only[0] || !slices.Equal(f.Also, only[1:]) ||
			!slices.Contains(f.By, "process") || f.Name != fmt.Sprintf("postgres-%d", s.Port) ||
			!strings.HasPrefix(f.URL, "postgres://") || f.DefaultsFile != os.DevNull {
			t.Errorf("%q: found %+v", only, f)
		}
		if os.Geteuid() == 0 && (f.Login != LoginUntried || f.Reason != strange) {
			t.Errorf("%q: a stranger's: %+v", only, f)
		}
	}
}

// TestDiscoverPostgresLogin: what was named alone is tried for every family, and logged in to as the system's user
// without a password, once there is such an account.
func TestDiscoverPostgresLogin(t *testing.T) {
	s := pgserver.Start(t, "17")
	a := alone(t, "PGPASSWORD", "secret7", "DYNO_PASSWORD", "secret7")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	at := "127.0.0.1:" + forward(t, s.Socket)
	d := search(t, a, at)
	if len(d.Found) != 1 || len(d.Notes) != 0 {
		t.Fatalf("found %+v, notes %q", d.Found, d.Notes)
	}
	f := d.Found[0]
	if f.Login != LoginRefused || f.Flavor != "postgres" || f.User != me.Username || f.Fix == "" ||
		len(f.Create) < 2 || !strings.HasPrefix(f.Create[0], "CREATE ROLE ") ||
		f.Name != "postgres-"+at[len("127.0.0.1:"):] {
		t.Errorf("found %+v", f)
	}
	s.Exec(t, "postgres", `CREATE ROLE "`+me.Username+`" LOGIN`)
	d = search(t, a, at)
	if len(d.Found) != 1 {
		t.Fatalf("found %+v, notes %q", d.Found, d.Notes)
	}
	f = d.Found[0]
	if f.Login != LoginOK || f.Reason != "" || f.Version != s.Version || f.User != me.Username ||
		f.Name != fmt.Sprintf("postgres-%d", s.Port) || !slices.ContainsFunc(f.Lacks, func(l Lack) bool {
		return strings.Contains(l.Fix, "GRANT pg_monitor")
	}) {
		t.Errorf("found %+v", f)
	}
	if taken, err := Adopt(t.Context(), a, d); err != nil || len(taken) != 1 {
		t.Fatalf("%v, %v", taken, err)
	}
	c, err := app.Inspection{App: a}.Inspect(t.Context(), ledger.Target{Name: f.Name})
	if err != nil || !c.Reached || c.Flavor != "postgres" {
		t.Errorf("as a target: %+v, %v", c, err)
	}
	s.Exec(t, "postgres", `ALTER ROLE "`+me.Username+`" SUPERUSER`)
	d = search(t, a, at)
	if len(d.Found) != 1 || d.Found[0].Target != f.Name {
		t.Errorf("found again: %+v", d.Found)
	}
}
