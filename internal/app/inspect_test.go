package app

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql"

	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestNewAccount(t *testing.T) {
	f := func(flavor dbms.Flavor, socket bool, who, want string) {
		t.Helper()
		got := mysql.Family{}.NewAccount(flavor, socket, who)
		if len(got) < 2 || got[0] != want {
			t.Errorf("got %q, want %q first", got, want)
		}
		for _, g := range got[1:] {
			if !strings.HasPrefix(g, "GRANT ") || strings.Contains(g, "ALL PRIVILEGES") {
				t.Errorf("a grant is %q", g)
			}
		}
	}
	f("mariadb", true, "o'hara", "CREATE USER 'o''hara'@'localhost' IDENTIFIED VIA unix_socket")
	f("mariadb", true, "root", "CREATE USER 'dyno'@'localhost' IDENTIFIED BY 'choose a password'")
	f("mariadb", false, "joe", "CREATE USER 'dyno'@'localhost' IDENTIFIED BY 'choose a password'")
	f("mysql", true, "joe", "CREATE USER 'dyno'@'localhost' IDENTIFIED BY 'choose a password'")
}

// TestInspect tries logins that work and that do not, before anything is in the inventory.
func TestInspect(t *testing.T) {
	s := servers.Start(t, "mariadb")
	s.Exec(t, "CREATE USER watcher@localhost IDENTIFIED BY 'secret7'")
	a := alone(t, "SHOP_PASSWORD", "secret7", "WRONG", "secret8")
	url := s.URL("watcher")
	c, err := Inspection{a}.Inspect(t.Context(), ledger.Target{Name: "shop", URL: url, PasswordEnv: "SHOP_PASSWORD"})
	if err != nil || !c.Reached || c.User != "watcher@localhost" || len(c.Sources) < 5 ||
		len(c.Grants) == 0 || c.Target != "shop" {
		t.Errorf("reached: %+v, %v", c, err)
	}
	if !strings.Contains(strings.Join(c.Grants, "\n"), "PROCESS") {
		t.Errorf("grants for an account without any: %q", c.Grants)
	}
	file := t.TempDir() + "/my.cnf"
	if err := os.WriteFile(file, []byte("[client]\nuser=watcher\npassword=secret7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := (Inspection{a}).Inspect(t.Context(), ledger.Target{
		URL:      "unix://" + s.Socket,
		Defaults: file,
	}); err != nil ||
		!c.Reached {
		t.Errorf("by a file: %+v, %v", c, err)
	}
	c, err = Inspection{a}.Inspect(t.Context(), ledger.Target{URL: url, PasswordEnv: "WRONG"})
	if err != nil || c.Reached || c.Reason == "" || c.Fix == "" || len(c.Create) == 0 || c.Flavor != "mariadb" {
		t.Errorf("a wrong password: %+v, %v", c, err)
	}
	if b, _ := json.Marshal(c); strings.Contains(string(b), "secret") {
		t.Errorf("the password is told: %s", b)
	}
	if c, err := (Inspection{a}).Inspect(t.Context(), ledger.Target{URL: url, PasswordEnv: "NONE"}); err != nil ||
		c.Reached ||
		!strings.Contains(c.Reason, "NONE") {
		t.Errorf("a variable that is not set: %+v, %v", c, err)
	}
	var unknown *UnknownTargetError
	if _, err := (Inspection{a}).Inspect(t.Context(), ledger.Target{Name: "nobody"}); !errors.As(err, &unknown) {
		t.Errorf("an unknown name: %v", err)
	}
	if _, err := (Inspection{a}).Inspect(t.Context(), ledger.Target{URL: "mysql://u:secret7@h"}); target.KindOf(
		err) != endpoint.BadTarget {
		t.Errorf("a password in the URL: %v", err)
	}
}
