package sandbox

import "testing"

func TestParseVersion(t *testing.T) {
	f := func(out, flavor, version string) {
		t.Helper()
		gf, gv, ok := parseVersion(out)
		if string(gf) != flavor || gv != version || ok != (flavor != "") {
			t.Errorf("%q: %q %q %v", out, gf, gv, ok)
		}
	}
	f("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n", "mariadb", "10.11.19")
	// MySQL under another name
	f("/usr/sbin/mariadbd  Ver 9.7.4-2 for Linux on x86_64 ((Debian))\n", "mysql", "9.7.4")
	// only its path says Percona
	f("/opt/Percona/bin/mysqld  Ver 5.6.51 for Linux on x86_64 (MySQL Community Server (GPL))\n", "mysql", "5.6.51")
	f("/usr/sbin/mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 47601f19)\n",
		"percona", "8.0.36")
	f("mysqld  Ver 5.6.14 for Linux on x86_64 (MySQL Community Server (GPL))\n", "mysql", "5.6.14")
	f("2026-01-01 0:00:00 0 [Warning] something\nmariadbd  Ver 11.8.6-MariaDB for Linux on x86_64\n", "mariadb",
		"11.8.6")
	f("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n", "postgres", "15.14")
	f("postgres (PostgreSQL) 17.10\n", "postgres", "17.10")
	f("postgres (PostgreSQL) 19beta1\n", "postgres", "19")
	f("psql (PostgreSQL) 17.10\n", "", "")
	f("hello\n", "", "")
	f("", "", "")
}

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
		if older(a, b) != want {
			t.Errorf("older(%s, %s) is not %v", a, b, want)
		}
	}
	f("5.6.51", "5.7", true)
	f("5.7.1", "5.7", false)
	f("10.1.2", "5.7", false)
	f("9.7.4", "10.1", true)
}
