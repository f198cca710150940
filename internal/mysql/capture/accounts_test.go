package capture

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestAccounts(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			ctx := context.Background()
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE USER good@'10.%' IDENTIFIED BY '"+secret+"' REQUIRE SSL", "CREATE USER bare@'%'",
				"CREATE USER shut@localhost ACCOUNT LOCK",
				"CREATE USER boss@localhost IDENTIFIED BY '"+secret+"'", "GRANT ALL ON *.* TO boss@localhost",
				"CREATE ROLE chief", "CREATE USER poor@localhost IDENTIFIED BY ''")
			list, src, err := accounts(ctx, open(t, s, "root"))
			if err != nil || src.State != source.OK {
				t.Fatalf("source %+v, %v", src, err)
			}
			f := func(user string, want snapshot.Account) {
				t.Helper()
				i := slices.IndexFunc(list, func(a snapshot.Account) bool { return a.User == user })
				if i < 0 {
					t.Errorf("no account %s among %+v", user, list)
					return
				}
				got := list[i]
				want.User, want.Plugin, want.Host = user, got.Plugin, got.Host
				if got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			}
			f("good", snapshot.Account{TLS: true})
			f("bare", snapshot.Account{NoPassword: true})
			f("shut", snapshot.Account{NoPassword: true, Locked: true})
			f("boss", snapshot.Account{Super: true})
			b, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			hash := ""
			if err := s.DB(t, "").QueryRow("SELECT authentication_string FROM mysql.user WHERE user = 'good'").
				Scan(&hash); err != nil || len(hash) < 20 {
				t.Fatalf("hash %q: %v", hash, err)
			}
			if strings.Contains(string(b), hash[:20]) || strings.Contains(string(b), secret) {
				t.Errorf("a password or its hash is in %s", b)
			}

			// No privilege that would show hashes of passwords is advised, and without one nothing is said to be in
			// order.
			for _, grant := range []string{"", "GRANT SELECT (user, host, plugin) ON mysql.user TO poor@localhost"} {
				if grant != "" {
					s.Exec(t, grant)
				}
				list, src, err = accounts(ctx, open(t, s, "poor"))
				if err != nil || src.State != source.Denied || list != nil || src.Fix != "" ||
					!strings.Contains(src.Reason, "password hashes") {
					t.Errorf("%q: %+v, %v, %v", grant, src, list, err)
				}
			}
		})
	}
}
