package fault

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/limit"
)

func TestTogether(t *testing.T) {
	a := fault.Fault{Name: "a", Settings: sizedWith("innodb-buffer-pool-size", "32M"), Warm: 3 * time.Second}
	delete(a.Settings, "innodb_buffer_pool_size")
	b := fault.Fault{
		Name: "b", Settings: sizedWith("tmp_table_size", "1K"), Warm: 5 * time.Second,
		Limits: limit.Limits{WriteIOPS: 9}, Replica: map[string]string{"x": "1"},
	}
	for _, list := range [][]fault.Fault{{a, b}, {b, a}} {
		n, err := Set().Together("mysql", "", list...)
		if err != nil {
			t.Fatal(err)
		}
		plain := map[string]string{}
		for k, v := range n.Settings {
			plain[plainSetting(k)] = v
		}
		if len(plain) != len(n.Settings) || plain["innodb_buffer_pool_size"] != "32M" ||
			plain["tmp_table_size"] != "1K" ||
			plain["innodb_redo_log_capacity"] != "512M" || n.Warm != 5*time.Second || n.Limits.WriteIOPS != 9 ||
			n.Replica["x"] != "1" {
			t.Errorf("got %+v", n)
		}
	}
	wrong := func(want string, list ...fault.Fault) {
		t.Helper()
		if _, err := Set().Together("mariadb", "", list...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	wrong("one needs tmp_table_size=2K, the other 1K", b,
		fault.Fault{Name: "c", Settings: map[string]string{"tmp-table-size": "2K"}})
	wrong("limits the server", b, fault.Fault{Name: "c", Limits: limit.Limits{CPU: 1}})
	wrong("its own replica", b, fault.Fault{Name: "c", Replica: map[string]string{}})
	var no *fault.FlavorError
	if _, err := Set().Together("mariadb", "", fault.Fault{Name: "c", Flavors: []dbms.Flavor{dbms.MySQL}}); !errors.As(
		err,
		&no,
	) ||
		!strings.Contains(err.Error(), "only on mysql") {
		t.Errorf("got %v", err)
	}
}

// TestOn: a fault that later servers rewrite themselves is refused there, in words.
func TestOn(t *testing.T) {
	f := func(flavor dbms.Flavor, version, want string) {
		t.Helper()
		x := fault.Fault{Name: "x", Until: map[dbms.Flavor]string{dbms.MariaDB: "11.1"}}
		err := x.On(flavor, version)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s %s: %v", flavor, version, err)
		}
	}
	f("mariadb", "10.11.19", "")
	f("mariadb", "11.0.6", "")
	f("mariadb", "11.1.2", "mariadb from 11.1 on")
	f("mariadb", "11.8.9", "mariadb from 11.1 on")
	f("mysql", "11.8.9", "")
	f("mariadb", "unknown", "")
	var no *fault.FlavorError
	if _, err := Set().Together("mariadb", "11.8.9", functionOnColumn()); !errors.As(err, &no) {
		t.Errorf("it is planted where it is none: %v", err)
	}
	if err := (fault.Fault{Name: "x", Flavors: []dbms.Flavor{"mysql"}}).On("mariadb", "10.6.1"); err == nil {
		t.Error("it is planted on a flavor that does not have it")
	}
}

// TestPairsFit plants nothing: it asks whether the settings of each pair go together.
func TestPairsFit(t *testing.T) {
	if len(Set().Pairs) != 10 {
		t.Errorf("%d pairs", len(Set().Pairs))
	}
	for _, p := range Set().Pairs {
		a, ok1 := Set().Find(p[0])
		b, ok2 := Set().Find(p[1])
		if !ok1 || !ok2 {
			t.Errorf("%s and %s: %v, %v", p[0], p[1], ok1, ok2)
			continue
		}
		for _, flavor := range []string{"mariadb", "mysql"} {
			if a.Exists(dbms.Flavor(flavor)) && b.Exists(dbms.Flavor(flavor)) {
				if _, err := Set().Together(dbms.Flavor(flavor), "", a, b); err != nil {
					t.Errorf("%s: %v", flavor, err)
				}
			}
		}
		if !slices.ContainsFunc([]string{"mariadb", "mysql"}, func(f string) bool {
			return a.Exists(dbms.Flavor(f)) &&
				b.Exists(dbms.Flavor(f))
		}) {
			t.Errorf("%s and %s never meet", p[0], p[1])
		}
	}
}
