package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/mysql"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// EnvPrefix begins the names of environment variables whose value a request over HTTP may have sent as a password.
const EnvPrefix = "DYNO_TARGET_"

// Credentials is the directory with the files that a request over HTTP may name.
func (a *App) Credentials() string { return filepath.Join(a.Home, "credentials") }

// Allow holds an entry of the inventory that came over HTTP to what may be sent there: whoever sends requests need not
// be the one whose secrets they are, and names the server that gets them.
//
//   - What the defaults files and the environment hold for all servers goes only where those files lead. For any other
//     server it stays
//     here: the entry gets os.DevNull, and an account that needs a password is refused.
//   - A file with a login is one of the directory credentials, or one that the inventory has already. A variable has a
//     name with
//     EnvPrefix, or the inventory has it.
//   - Their passwords go where the inventory sends them already, where the file says, and, while no entry has them, to
//     trusted servers of
//     this machine when it says nothing. Over TLS that is verified in full, by the CA that the owner named, they also
//     go to other ports and
//     schemas of those hosts: whoever sends requests may have a valid certificate for a host of their own.
//   - A node_exporter is at /metrics of the server's own host, or one that the inventory has.
//   - Certificates and keys, those to seal passwords with too, come from the same directory or the inventory, and jump
//     hosts from the
//     inventory: to those ssh logs in with the keys of Dyno's account.
//
// Errors are of kind BadTarget.
func (a *App) Allow(ctx context.Context, t ledger.Target) (ledger.Target, error) {
	file := t.Defaults
	if file != "" && !filepath.IsAbs(file) {
		t.Defaults = filepath.Join(a.Credentials(), file)
	}
	t, spec, err := entry(t)
	if err != nil {
		return t, err
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return t, err
	}
	all, err := l.Targets(ctx)
	if err != nil {
		return t, err
	}
	kept := make([]held, 0, len(all))
	for _, e := range all {
		if s, err := endpoint.ParseURL(e.URL); err == nil {
			kept = append(kept, held{e, s})
		}
	}
	has := func(is func(held) bool) bool { return slices.ContainsFunc(kept, is) }
	bad := func(what, hint string) (ledger.Target, error) {
		return t, &endpoint.Error{
			Op: "use this login over HTTP", Kind: endpoint.BadTarget,
			Err: errors.New(what), Fix: hint,
		}
	}
	const byHand = "; or run `dyno target add` on Dyno's machine"

	if j := spec.Jump; j != (tunnel.Jump{}) && !has(func(p held) bool { return p.spec.Jump == j }) {
		return bad("ssh: no target of the inventory uses that jump host", "add the first target behind it with `dyno "+
			"target add` on Dyno's machine: ssh logs in with the keys that Dyno's account has there")
	}
	if x := spec.NodeExporter; x != "" && !besideServer(spec) &&
		!has(func(p held) bool { return p.spec.NodeExporter == x }) {
		return bad("node-exporter: over HTTP it is the page /metrics of the server's own host, or one that the "+
			"inventory has", "run `dyno target add NAME URL --node-exporter ...` on Dyno's machine: any other URL "+
			"would have Dyno send requests wherever the caller likes")
	}
	for name, f := range map[string]string{
		"ssl-ca": spec.CA, "ssl-cert": spec.Cert, "ssl-key": spec.Key,
		"server-public-key-path": spec.ServerKey,
	} {
		if f != "" && !a.inCredentials(f) && !has(func(p held) bool {
			return slices.Contains([]string{p.spec.CA, p.spec.Cert, p.spec.Key, p.spec.ServerKey}, f)
		}) {
			return bad(name+": the file is not in the directory credentials", "put it into "+a.Credentials()+byHand)
		}
	}
	const elsewhere = "the password would go to a server that it was not stored for"
	same := func(p held) bool { return p.entry.Defaults == t.Defaults && p.entry.PasswordEnv == t.PasswordEnv }
	switch {
	case has(func(p held) bool { return same(p) && p.leadsTo(spec) }): // as the inventory has it
		return t, nil
	case t.PasswordEnv != "":
		if !strings.HasPrefix(t.PasswordEnv, EnvPrefix) &&
			!has(func(p held) bool { return p.entry.PasswordEnv == t.PasswordEnv }) {
			return bad("the name of the environment variable does not begin with "+EnvPrefix, "name it "+EnvPrefix+
				"SHOP in the environment of dyno serve"+byHand)
		}
		o, err := defaultsOf(spec, "") // its password comes with what these say of TLS
		if err != nil {
			return t, err
		}
		used := has(func(p held) bool { return p.entry.PasswordEnv == t.PasswordEnv })
		if (used || !trustedHere(ctx, spec)) &&
			!has(func(p held) bool { return same(p) && sameHost(o, p.spec, spec) }) {
			return bad(elsewhere, fmt.Sprintf("run `dyno target add NAME URL --password-env %s` on Dyno's machine; "+
				"after that other ports of its host need only tls=verify-full", t.PasswordEnv))
		}
		return t, nil
	case t.Defaults == os.DevNull:
		return t, nil
	case t.Defaults == "":
		if !implied(ctx, spec) {
			t.Defaults = os.DevNull
		}
		return t, nil
	}
	if !a.inCredentials(t.Defaults) && !has(func(p held) bool { return p.entry.Defaults == t.Defaults }) {
		return bad("the defaults file is not in the directory credentials", "put it into "+a.Credentials()+
			", and name server and account in it"+byHand)
	}
	o, err := defaultsOf(spec, t.Defaults)
	if err != nil {
		return t, err
	}
	used := has(func(p held) bool { return p.entry.Defaults == t.Defaults })
	switch {
	case has(func(p held) bool { return same(p) && sameHost(o, p.spec, spec) }):
	case o.Host != "" && sameHost(o, there(o, endpoint.Spec{Scheme: spec.Scheme}), spec):
	case !nowhere(o) && sameTLS(o, spec) && leadsHere(ctx, o, spec):
	case nowhere(o) && !used && trustedHere(ctx, spec):
	default:
		return bad(elsewhere, fmt.Sprintf("run `dyno target add NAME URL --from-defaults %s` on Dyno's machine, or "+
			"write host= and port= into that file; "+
			"after that other ports of its host need only tls=verify-full", t.Defaults))
	}
	return t, nil
}

// besideServer reports whether the node_exporter of a URL is at the usual page of the host that its server is on.
func besideServer(s endpoint.Spec) bool {
	u, err := url.Parse(s.NodeExporter)
	host, _, err2 := net.SplitHostPort(s.Address)
	return err == nil && err2 == nil && s.Jump == (tunnel.Jump{}) && s.Network == "tcp" &&
		strings.EqualFold(u.Hostname(), host) && u.Path == "/metrics" && u.RawQuery == ""
}

// held is an entry of the inventory with where it leads.
type held struct {
	entry ledger.Target
	spec  endpoint.Spec
}

// leadsTo reports whether a login of the entry would reach the same server in the same way.
func (p held) leadsTo(x endpoint.Spec) bool {
	s := p.spec
	return s.Address != "" && sameAccount(s, x) && s.Network == x.Network && s.Address == x.Address &&
		s.Jump == x.Jump &&
		s.Scheme == x.Scheme && // it chooses the groups of defaults files
		s.TLS == x.TLS && s.CA == x.CA && s.Cert == x.Cert && s.Key == x.Key && s.ServerName == x.ServerName &&
		s.MinTLS == x.MinTLS && s.TakeServerKey == x.TakeServerKey && s.ServerKey == x.ServerKey
}

// defaultsOf reads what MySQL's defaults files say of reaching a server; of another family's they say nothing.
func defaultsOf(s endpoint.Spec, file string) (target.Options, error) {
	if _, ours := familyOf(s).(mysql.Family); !ours {
		return target.Options{}, nil
	}
	return target.Defaults(file, target.Groups(s)...)
}

// sameAccount reports whether x logs in as s does, where a file of passwords has one for each account and database.
func sameAccount(s, x endpoint.Spec) bool {
	return s.Scheme != endpoint.Postgres || s.User == x.User && s.Database == x.Database
}

// sameHost reports whether x reaches nobody but the host of s, whatever the port: a valid certificate for its name is
// needed, of the CA that the owner named there or in the defaults files, and of the system's where that is none.
func sameHost(o target.Options, s, x endpoint.Spec) bool {
	mine, _, err := net.SplitHostPort(s.Address)
	its, _, err2 := net.SplitHostPort(x.Address)
	return x.Mode() == endpoint.TLSVerifyFull && sameAccount(s, x) && err == nil && err2 == nil &&
		strings.EqualFold(mine, its) &&
		s.Jump == x.Jump &&
		(x.ServerName == "" || x.ServerName == s.ServerName) && there(o, x).CA == there(o, s).CA &&
		(x.MinTLS == "" || x.MinTLS == s.MinTLS)
}

// inCredentials reports whether a name is that of a file below the directory credentials. Whether there is one is not
// looked at.
func (a *App) inCredentials(file string) bool {
	dir, err := filepath.Abs(a.Credentials())
	return err == nil && filepath.Clean(file) == file && strings.HasPrefix(file, dir+string(filepath.Separator))
}

// nowhere reports whether defaults files name no server.
func nowhere(o target.Options) bool {
	return (o.Host == "" || o.Host == "localhost") && o.Socket == "" && o.Port == 0
}

// sameTLS reports whether a URL leaves it to the defaults files how the server is verified, and how the password is
// sealed.
func sameTLS(o target.Options, x endpoint.Spec) bool {
	return x.Network == "unix" || x.CA == "" && x.Cert == "" && x.Key == "" && x.ServerName == "" &&
		(x.TLS == endpoint.TLSDefault || x.TLS == o.TLS) &&
		(x.MinTLS == "" || x.MinTLS == o.MinTLS) && (!x.TakeServerKey || o.TakeServerKey) &&
		(x.ServerKey == "" || x.ServerKey == o.ServerKey)
}

// leadsHere reports whether defaults files name the server of a URL: to the letter, or so that nobody can have it lead
// elsewhere.
func leadsHere(ctx context.Context, o target.Options, x endpoint.Spec) bool {
	mine := endpoint.Spec{Scheme: x.Scheme}
	o.Apply(&mine)
	x = there(o, x)
	if x.Jump != (tunnel.Jump{}) || !SamePlace(mine.Network, mine.Address, x) {
		return false
	}
	if mine.Address == x.Address {
		return true
	}
	return !(x.Network == "unix" && host.Redirectable(x.Address, endpoint.TrustedAccount)) &&
		LeadsToTrusted(x, host.Listening(ctx, "", target.Marks, endpoint.TrustedAccount, x.Address),
			endpoint.TrustedAccount, BelowShared)
}

// there completes the address of a URL as logging in does.
func there(o target.Options, x endpoint.Spec) endpoint.Spec {
	o.Apply(&x)
	return x
}

// implied reports whether the login that the usual defaults files and the environment have for all servers may go to
// that of a URL: it is where they lead, and whoever listens there can be trusted, as Discover sees it.
func implied(ctx context.Context, x endpoint.Spec) bool {
	if _, ours := familyOf(x).(mysql.Family); !ours { // what its clients read names servers one by one
		return false
	}
	o, err := defaultsOf(x, "")
	if err != nil || x.Jump != (tunnel.Jump{}) || !sameTLS(o, x) {
		return false
	}
	if x = there(o, x); x.Address == "" {
		x.Network, x.Address = "tcp", "localhost:3306"
	}
	if x.Network == "unix" && host.Redirectable(x.Address, endpoint.TrustedAccount) {
		return false
	}
	listens := host.Listening(ctx, "", target.Marks, endpoint.TrustedAccount, x.Address)
	if !nowhere(o) {
		return leadsHere(ctx, o, x) && LeadsToTrusted(x, listens, endpoint.TrustedAccount, BelowShared)
	}
	any := func(string) bool { return true }
	// The port is another way to the server behind the socket.
	for _, sockets := range [][]string{mysql.UsualSockets, nil} {
		at := UsualPlace(endpoint.Spec{Network: "tcp"}, sockets, endpoint.DefaultPort, listens, any,
			endpoint.TrustedAccount)
		if at.Address != "" && (SamePlace(at.Network, at.Address, x) || SamePlace(x.Network, x.Address, at)) {
			return LeadsToTrusted(x, listens, endpoint.TrustedAccount, BelowShared)
		}
	}
	return false
}

// trustedHere reports whether a URL leads to a database server of this machine that listens now and belongs to root, to
// a server's account or to Dyno's own. The account alone tells too little of a port: root runs more than servers.
func trustedHere(ctx context.Context, x endpoint.Spec) bool {
	if x.Jump != (tunnel.Jump{}) || x.TakeServerKey {
		return false
	}
	if x.Network == "unix" {
		_, err := os.Stat(x.Address)
		return err == nil && !host.Redirectable(x.Address, x.Trusted) &&
			LeadsToTrusted(x, nil, x.Trusted, func(string) bool { return true })
	}
	name, _, err := net.SplitHostPort(x.Address)
	if ip := net.ParseIP(name); err != nil || name != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return false
	}
	f, ok := familyOf(x).(family.Finder)
	if !ok {
		return false
	}
	here := func(l host.Listener) bool { return SamePlace(l.Network, l.Address, x) }
	listens := slices.DeleteFunc(host.Listening(ctx, "", f.Marks(), x.Trusted, x.Address),
		func(l host.Listener) bool { return !here(l) })
	servers := host.ServerProcesses(ctx, "", f.Marks(), nil, x.Trusted)
	strange := func(l host.Listener) bool {
		// A process that cannot be looked into may be the one, if it is of the socket's account.
		serves := l.PID != 0 || slices.ContainsFunc(servers, func(p host.ServerProcess) bool {
			return p.Hidden && p.UID == l.UID
		})
		return !serves || !x.Trusted(l.UID)
	}
	return len(listens) > 0 && !slices.ContainsFunc(listens, strange)
}

// withoutPasswords is the environment without the passwords that are meant for no server in particular: an entry with a
// file of its own has its password from there alone.
func (a *App) withoutPasswords(name string) string {
	switch name {
	case "DYNO_PASSWORD", "MYSQL_PWD", "PGPASSWORD", "PGPASSFILE", "PGSSLCERT", "PGSSLKEY", "PGSSLROOTCERT":
		return ""
	}
	return a.Environ(name)
}
