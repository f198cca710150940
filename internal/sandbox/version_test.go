package sandbox

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

func TestParseSpec(t *testing.T) {
	f := func(spec, flavor, version string, ok bool) {
		t.Helper()
		gf, gv, gok := parseSpec(spec)
		if string(gf) != flavor || gv != version || gok != ok {
			t.Errorf("%q: %q %q %v", spec, gf, gv, gok)
		}
	}
	f("mariadb", "mariadb", "", true)
	f("mysql@9", "mysql", "9", true)
	f("mysql@9.7.4", "mysql", "9.7.4", true)
	f("percona@8.0", "percona", "8.0", true)
	f("mysql@", "", "", false)
	f("mysql@9.7.4.1", "", "", false)
	f("mysql@latest", "", "", false)
	f("MySQL", "", "", false)
	f("postgres@17.10", "postgres", "17.10", true)
	f("postgresql@17", "postgres", "17", true)
	f("postgresqls", "", "", false)
	f("oracle", "", "", false)
	f("", "", "", false)
}

func TestMatches(t *testing.T) {
	f := func(version, want string, ok bool) {
		t.Helper()
		if matches(version, want) != ok {
			t.Errorf("%s is %s: not %v", version, want, ok)
		}
	}
	f("9.7.4", "", true)
	f("9.7.4", "9", true)
	f("9.7.4", "9.7", true)
	f("9.7.4", "9.7.4", true)
	f("9.7.4", "9.7.5", false)
	f("9.70.4", "9.7", false)
	f("10.11.19", "1", false)
}

func TestOlder(t *testing.T) {
	f := func(a, b string, want bool) {
		t.Helper()
		if maker.Older(a, b) != want {
			t.Errorf("maker.Older(%s, %s) is not %v", a, b, want)
		}
	}
	f("5.6.51", "5.7", true)
	f("5.7.1", "5.7", false)
	f("10.1.2", "5.7", false)
	f("9.7.4", "10.1", true)
}
