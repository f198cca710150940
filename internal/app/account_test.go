package app

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// TestAPasswordIsOneAccounts: PostgreSQL's password files have one for each account and database, so an entry of the
// inventory vouches for its own alone. Those of MySQL have one for all that they lead to.
func TestAPasswordIsOneAccounts(t *testing.T) {
	f := func(has, asked string, want bool) {
		t.Helper()
		s, err := endpoint.ParseURL(has)
		if err != nil {
			t.Fatal(err)
		}
		x, err := endpoint.ParseURL(asked)
		if err != nil {
			t.Fatal(err)
		}
		if got := (held{spec: s}).leadsTo(x); got != want {
			t.Errorf("%s leads to %s: %v", has, asked, got)
		}
	}
	f("postgres://monitor@db1/shop", "postgres://monitor@db1:5432/shop", true)
	f("postgres://monitor@db1/shop", "postgres://postgres@db1/shop", false)
	f("postgres://monitor@db1/shop", "postgres://monitor@db1/other", false)
	f("mysql://monitor@db1", "mysql://root@db1", true)

	verified := func(url string) endpoint.Spec {
		s, err := endpoint.ParseURL(url + "?sslmode=verify-full")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	mine, other := verified("postgres://monitor@db1/shop"), verified("postgres://postgres@db1:5433/shop")
	same := verified("postgres://monitor@db1:5433/shop")
	o, err := defaultsOf(mine, "")
	if err != nil || !sameHost(o, mine, same) || sameHost(o, mine, other) {
		t.Errorf("%v: another port %v, another account %v", err, sameHost(o, mine, same), sameHost(o, mine, other))
	}
}
