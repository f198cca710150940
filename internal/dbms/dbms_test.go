package dbms

import "testing"

func TestFlavor(t *testing.T) {
	for _, x := range []struct {
		version, comment string
		want, kin        Flavor
		name             string
	}{
		{"10.11.19-MariaDB-0+deb12u1", "Debian 12", MariaDB, MariaDB, "MariaDB"},
		{"5.5.5-10.2.11", "mariadb.org binary distribution", MariaDB, MariaDB, "MariaDB"},
		{"8.0.36-28", "Percona Server (GPL), Release 28", Percona, MySQL, "Percona Server"},
		{"9.7.4-2", "(Debian)", MySQL, MySQL, "MySQL"},
	} {
		if f := Of(x.version, x.comment); f != x.want || f.Kin() != x.kin || f.Name() != x.name ||
			f.IsMariaDB() != (x.want == MariaDB) {
			t.Errorf("%s, %s: %q, kin %q, called %q", x.version, x.comment, f, f.Kin(), f.Name())
		}
	}
	if f := Flavor("MariaDB"); !f.IsMariaDB() || Flavor("other").Name() != "other" {
		t.Errorf("%q is not told", f)
	}
	if f := Flavor("PostgreS"); !f.IsPostgres() || MariaDB.IsPostgres() || Postgres.Name() != "PostgreSQL" {
		t.Errorf("%q is called %q", f, Postgres.Name())
	}
	if len(All()) != 3 {
		t.Error(All())
	}
}
