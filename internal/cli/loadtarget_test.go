package cli

import "testing"

func TestLoadTarget(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		o, fs, err := parsed(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := o.text(fs)
		if want == "" {
			if err == nil {
				t.Errorf("%q: taken as %s", args, got)
			}
			return
		}
		if err != nil || got != want {
			t.Errorf("%q: got %s, %v; want %s", args, got, err, want)
		}
	}
	f("shop", "--target=shop")
	f("mysql://sbtest@db:3306/", "--mysql-host=db")
	f("mysql://me@[::1]:3307/", "--mysql-host=::1", "--mysql-port=3307", "--mysql-user=me")
	f("mysql://sbtest@db:3306/?tls=required", "--mysql-host=db", "--mysql-ssl")
	f("mysql://sbtest@db:3306/?tls=disabled", "--mysql-host=db", "--mysql-ssl=off")
	f("mysql://sbtest@db:3306/?tls=verify-full", "--mysql-host=db", "--mysql-ssl=VERIFY_IDENTITY")
	f("unix:///run/s.sock?user=root", "--mysql-socket=/run/s.sock", "--mysql-user=root")
	f("postgres://sbtest@db:5432/", "--pgsql-host=db")
	f("postgres://me@[::1]:5433/?sslmode=require", "--pgsql-host=::1", "--pgsql-port=5433", "--pgsql-user=me",
		"--pgsql-sslmode=require")
	f("postgres://sbtest@/?host=%2Frun%2Fpostgresql&port=5432", "--pgsql-host=/run/postgresql")
	f("")
	f("", "--target=shop", "--mysql-user=me")
	f("", "--mysql-host=db", "--mysql-password=secret")
	f("", "--target=shop", "--mysql-password=secret")
	f("", "--mysql-host=a,b")
	f("", "--mysql-host=db", "--mysql-port=0")
	f("", "--mysql-host=db", "--mysql-port=99999")
}
