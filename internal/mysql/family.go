// Package mysql is the family of MySQL, Percona Server and MariaDB as package family asks for it. What it does is in
// the packages below.
package mysql

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/digestsource"
	"github.com/dyno-perf/dyno/internal/mysql/loader"
	"github.com/dyno-perf/dyno/internal/mysql/panels"
	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/mysql/wire"
	"github.com/dyno-perf/dyno/internal/panel"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// Family implements family.Family.
type Family struct {
	accounts
	logins
	finder
	mistakes
}

// What is asked of a Family, by subject.
type (
	accounts struct{} // how they are made, and what they are given
	logins   struct{} // whom a server takes Dyno for
	finder   struct{} // servers of this machine
	mistakes struct{} // what errors mean
)

var _ family.Family = Family{}

// Name implements family.Family.
func (Family) Name() string { return "MySQL" }

// Has implements family.Family.
func (Family) Has(f dbms.Flavor) bool {
	return slices.Contains(dbms.All(), f.Lower())
}

// Resolve implements family.Family, see target.Resolve.
func (Family) Resolve(s endpoint.Spec, file string, getenv func(string) string) (endpoint.Spec, error) {
	return target.Resolve(s, file, getenv)
}

// Open implements family.Family.
func (Family) Open(ctx context.Context, s endpoint.Spec) (family.Server, error) {
	t, err := target.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return Server{t, &examples{}}, nil
}

// Programs says how the family's programs log in.
func (Family) Programs() load.Programs { return loader.Programs }

// OpenLoad logs in to load a server.
func (Family) OpenLoad(ctx context.Context, s endpoint.Spec) (load.Server, error) {
	t, err := target.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return loader.Server{T: t}, nil
}

// Trust remembers by what a server is known now, see target.Trust.
func (Family) Trust(ctx context.Context, s endpoint.Spec, add, proof bool) (endpoint.Accepted, error) {
	return target.Trust(ctx, s, add, proof)
}

// Sources implements family.Family.
func (Family) Sources() []scrape.Info { return sources.List() }

// ClassSources implements family.ClassSourced.
func (Family) ClassSources() []source.Name { return digestsource.Sources() }

// Panels implements family.Family.
func (Family) Panels() []panel.Panel { return panels.List() }

// Up implements family.Family.
func (Family) Up() string { return "mysql_up" }

// Grants implements family.Accounts, see target.Grants. user may be name@host.
func (accounts) Grants(flavor dbms.Flavor, task, user string, schemas []string) ([]string, error) {
	if name, host, ok := strings.Cut(user, "@"); ok && !strings.HasPrefix(user, "'") {
		user = "'" + strings.ReplaceAll(name, "'", "''") + "'@'" + strings.ReplaceAll(host, "'", "''") + "'"
	}
	return target.Grants(flavor, task, user, schemas)
}

// CreateAccount implements family.Accounts, see target.CreateAccount.
func (accounts) CreateAccount(user string) (create, unlock string, err error) {
	return target.CreateAccount(user)
}

// NewAccount implements family.Accounts. Over a socket MariaDB knows the system's user, and needs no password;
// elsewhere one has to be chosen.
func (f accounts) NewAccount(flavor dbms.Flavor, socket bool, systemUser string) []string {
	name, by := "dyno", "IDENTIFIED BY 'choose a password'"
	if flavor.IsMariaDB() && socket && systemUser != "" && systemUser != "root" {
		// root is there already, and too mighty
		name, by = systemUser, "IDENTIFIED VIA unix_socket"
	}
	grants, err := target.Grants(flavor, "watch", name, nil)
	if err != nil {
		return nil
	}
	who := "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(name) + "'@'localhost'"
	return append([]string{"CREATE USER " + who + " " + by}, grants...)
}

// Account implements family.Logins.
func (logins) Account(f family.Facts) (string, error) {
	at := strings.LastIndexByte(f.User, '@')
	if at < 0 {
		return "", fmt.Errorf("the account in use is not reported as user@host: %q", f.User)
	}
	return target.QuoteAccount(f.User[:at], f.User[at+1:]), nil
}

// Refused implements family.Logins: the host is assumed where the server does not tell it.
func (logins) Refused(s endpoint.Spec, err error) (user string, sure bool) {
	if host := target.RefusedHost(err, s.User); host != "" {
		return target.QuoteAccount(s.User, host), true
	}
	return target.QuoteAccount(s.User, "localhost"), false
}

// greetTime bounds the wait for a greeting.
const greetTime = 2 * time.Second

// Greeting implements family.Logins: the server speaks first. One behind a jump host is not asked.
func (logins) Greeting(ctx context.Context, x endpoint.Spec) (flavor dbms.Flavor, version string) {
	if x.Jump != (tunnel.Jump{}) {
		return "", ""
	}
	d := net.Dialer{Timeout: greetTime}
	c, err := d.DialContext(ctx, x.Network, x.Address)
	if err != nil {
		return "", ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(greetTime))
	b := make([]byte, 1024)
	n, _ := c.Read(b)
	h := wire.Handshake{User: x.User}
	_, _, _ = h.Feed(b[:n]) // an error leaves the greeting empty
	text := h.Greeting().Version
	if text == "" {
		return "", ""
	}
	return dbms.Of(text, ""), target.ParseVersion(text).String()
}
