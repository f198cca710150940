package host

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/test/machine"
)

func TestAccountWithoutPassword(t *testing.T) {
	m := machine.New()
	m.S.Accounts = []snapshot.Account{
		{User: "root", Host: "localhost", NoPassword: true, Super: true},
		{User: "app", Host: "%", NoPassword: true},
		{User: "dba", Host: "%", Plugin: "caching_sha2_password"},
	}
	f := found(t, accountWithoutPassword, m, "fact: 2 accounts have no password, 1 of them from other machines")
	if len(f) != 1 || !strings.Contains(f[0].Evidence[0].Text, "'root'@'localhost', 'app'@'%'") {
		t.Errorf("%+v", f)
	}
}

func TestAccountWithoutPasswordSilent(t *testing.T) {
	m := machine.New()
	m.S.Accounts = []snapshot.Account{
		{User: "mysql.sys", Host: "localhost", NoPassword: true, Locked: true},
		{User: "app", Host: "%", Plugin: "caching_sha2_password"},
		{
			User: "root", Host: "localhost",
			Plugin: "unix_socket",
		},
	}
	found(t, accountWithoutPassword, m)
}
