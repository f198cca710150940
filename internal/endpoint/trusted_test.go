package endpoint

import (
	"os/user"
	"strconv"
	"testing"
)

// TestTrustedAccounts: an account is trusted by its name and for the family that it serves alone.
func TestTrustedAccounts(t *testing.T) {
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		t.Fatal(err)
	}
	if !trusted(uid, "mysql", "nobody") || trusted(uid, "mysql") {
		t.Error("an account is not recognised by its name")
	}
	for _, s := range []Spec{{Scheme: "mysql"}, {Scheme: Postgres}} {
		if s.Trusted(uid) || !s.Trusted(0) {
			t.Errorf("%s: root %v, nobody %v", s.Scheme, s.Trusted(0), s.Trusted(uid))
		}
	}
	if u, err := user.Lookup("postgres"); err == nil { // where a package of its servers is installed
		uid, _ := strconv.Atoi(u.Uid)
		if (Spec{Scheme: "mysql"}).Trusted(uid) || !(Spec{Scheme: Postgres}).Trusted(uid) {
			t.Error("postgres is trusted with passwords of MySQL's, or not with its own")
		}
	}
}
