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
	f("postgres (PostgreSQL) 17.10\n", "", "")
	f("psql (PostgreSQL) 17.10\n", "", "")
	f("hello\n", "", "")
	f("", "", "")
}
