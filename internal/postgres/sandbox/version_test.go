package sandbox

import "testing"

func TestVersion(t *testing.T) {
	f := func(out, flavor, want string) {
		t.Helper()
		gf, gv, ok := version(out)
		if string(gf) != flavor || gv != want || ok != (flavor != "") {
			t.Errorf("%q: %q %q %v", out, gf, gv, ok)
		}
	}
	f("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n", "postgres", "15.14")
	f("postgres (PostgreSQL) 17.10\n", "postgres", "17.10")
	f("postgres (PostgreSQL) 19beta1\n", "postgres", "19")
	f("psql (PostgreSQL) 17.10\n", "", "")
	f("hello\n", "", "")
	f("", "", "")
}
