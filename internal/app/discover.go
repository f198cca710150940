package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/target"
	"github.com/dyno-perf/dyno/internal/tunnel"
	"github.com/dyno-perf/dyno/internal/wire"
)

// Looking says where Discover looks. The zero value is this machine and the usual defaults files.
type Looking struct {
	// Only are the sockets (paths) and addresses (host:port) that may be touched, and are looked at whatever is known to listen there; none:
	// all that are found.
	Only []string
	// None looks nowhere.
	None bool
	// Within bounds the search; 0 is 4 s.
	Within time.Duration
}

// LoginState says whether Dyno can log in to a server that it found.
type LoginState string

// What came of logging in.
const (
	LoginOK      LoginState = "ok"
	LoginRefused LoginState = "refused" // the server turned the account down
	LoginFailed  LoginState = "failed"  // no server answered as it should
	LoginUntried LoginState = "untried" // see Reason
)

// Found is a server on this machine, or one that the user's defaults files lead to.
type Found struct {
	Name         string     `json:"name"`                    // to add it under, free in the inventory; with Target that one
	Target       string     `json:"target,omitzero"`         // the inventory has it under this name
	URL          string     `json:"url"`                     // to add; never with a password
	DefaultsFile string     `json:"defaults_file,omitzero"`  // to add it with
	Address      string     `json:"address"`                 // path of a socket or host:port
	Also         []string   `json:"also,omitempty"`          // other addresses of the same server
	By           []string   `json:"found_by"`                // "socket", "port", "process", "defaults file", "sandbox"
	Flavor       string     `json:"flavor,omitzero"`         // "mysql", "percona", "mariadb"; if reported
	Version      string     `json:"version,omitzero"`        // "10.11.19"
	Login        LoginState `json:"login"`                   //
	User         string     `json:"user,omitzero"`           // the account that the server took us for, or would have
	Reason       string     `json:"reason,omitzero"`         // why there is no login, or what is wrong with it
	Fix          string     `json:"fix,omitzero"`            // how to fix it
	Create       []string   `json:"create_account,omitzero"` // statements that make an account for Dyno, to be run there by a person
	Lacks        []Lack     `json:"lacks,omitempty"`         // what would stay unknown

	server string // target.Facts.Server
	pid    int
}

// Lack is something that cannot be observed.
type Lack struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
	Fix    string `json:"fix,omitzero"`
}

// Discovery is what a search found.
type Discovery struct {
	Found []Found  `json:"found"`
	Notes []string `json:"notes,omitempty"` // what was left out, and why
}

// Bounds of a search.
const (
	searchTime  = 4 * time.Second
	loginTime   = 2 * time.Second
	mostServers = 32
	mostAdopted = 8
)

// spot is a server that is to be looked at: where it may answer, and how to log in.
type spot struct {
	at       []target.Spec // the same server, sockets first
	defaults string        // as ledger.Target.Defaults: os.DevNull where no file is meant for it
	by       []string
	pid      int
	untried  string // why it is not logged in to
	name     string
	named    bool // by Looking.Only, and nothing is known to listen there
}

// Discover looks for servers on this machine: sockets and ports that servers listen on, what the user's defaults files lead to, and
// Dyno's sandboxes. It logs in once to each, which is all it does to them. A password is only sent to the server that the defaults file
// it stands in leads to; elsewhere the account with the name of the system's user is tried without one. Where those files name no server
// the usual place counts as theirs. Nothing is sent to a place that anybody could have taken, unless root, a server's user or this one has it.
func (a *App) Discover(ctx context.Context, o Looking) (Discovery, error) {
	return a.discover(ctx, o, newMemory(), nil)
}

// discover is Discover with what was learned before, and the servers that are watched: by target, as target.Facts.Server.
func (a *App) discover(ctx context.Context, o Looking, m *memory, watched map[string]string) (Discovery, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.Within, searchTime))
	defer cancel()
	m.certificates = a.known
	d := Discovery{Found: []Found{}}
	if o.None {
		d.Notes = []string{"the search for servers is switched off, by --discover=false"}
		return d, nil
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return d, err
	}
	inventory, err := l.Targets(ctx)
	if err != nil {
		return d, err
	}
	spots, n, notes := a.spots(ctx, o)
	d.Notes = notes
	if more := len(spots) - mostServers; more > 0 {
		spots, n = spots[:mostServers], n+more
	}
	if n > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d more servers listen on this machine, which were not looked at", n))
	}
	found := make([]Found, len(spots))
	var g errgroup.Group
	g.SetLimit(4)
	for i, s := range spots {
		g.Go(func() error {
			found[i] = a.tryOut(ctx, s, inventory, m, watched)
			return nil
		})
	}
	_ = g.Wait() // no error
	for i, s := range spots {
		if f := found[i]; s.named && f.Login == LoginFailed {
			d.Notes = append(d.Notes, fmt.Sprintf("there is no server at %s: %s", f.Address, f.Reason))
		}
	}
	d.Found = append(d.Found, merged(found)...)
	taken := map[string]bool{}
	for _, t := range inventory {
		taken[t.Name] = true
	}
	for i := range d.Found {
		if f := &d.Found[i]; f.Target == "" {
			f.Name = freeName(f.Name, taken)
			taken[f.Name] = true
		}
	}
	return d, nil
}

// strange is why a place of somebody else is left alone.
const strange = "it belongs to another user of this machine, so Dyno does not log in by itself"

// spots gathers what there is to look at.
func (a *App) spots(ctx context.Context, o Looking) (all []spot, left int, notes []string) {
	only := make([]target.Spec, len(o.Only))
	for i, address := range o.Only {
		only[i] = target.Spec{Scheme: "mysql", Network: "tcp", Address: address, User: a.systemUser(), ConnectTimeout: loginTime}
		if filepath.IsAbs(address) {
			only[i].Network = "unix"
		}
	}
	may := func(network, address string) bool {
		return len(only) == 0 || slices.ContainsFunc(only, func(x target.Spec) bool {
			return same(network, address, x) || same(x.Network, x.Address, target.Spec{Network: network, Address: address})
		})
	}
	seen := map[string]bool{}
	take := func(s spot) {
		s.at = slices.DeleteFunc(s.at, func(x target.Spec) bool { return seen[x.Address] })
		for _, x := range s.at {
			seen[x.Address] = true
		}
		if len(s.at) > 0 {
			all = append(all, s)
		}
	}

	// Sandboxes that serve another dyno are left alone: it is measuring there.
	listed, stop := context.WithTimeout(ctx, time.Second) // a list that is held up holds up no search
	boxes, err := a.sandboxes(listed)
	stop()
	if err != nil {
		notes = append(notes, "the sandboxes cannot be listed: "+err.Error())
	} else {
		for _, b := range boxes {
			if b.Owner != 0 {
				seen[b.Socket], seen[net.JoinHostPort("127.0.0.1", strconv.Itoa(b.Port))] = true, true
			} else if b.State == sandbox.Running {
				also := b.Spec()
				also.Network, also.Address = "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(b.Port))
				at := slices.DeleteFunc([]target.Spec{b.Spec(), also}, func(x target.Spec) bool { return !may(x.Network, x.Address) })
				take(spot{at: at, defaults: os.DevNull, by: []string{"sandbox"}, pid: b.PID, name: b.Name})
			}
		}
	}

	// Where the mysql client would go without arguments, and with that login.
	mine, err := target.Resolve(target.Spec{Scheme: "mysql"}, "", a.Environ)
	if err != nil {
		notes = append(notes, err.Error())
	}
	listens := slices.DeleteFunc(listening(ctx, "", a.trusted, o.Only...), func(l listener) bool { return !may(l.network, l.address) || seen[l.address] })
	if x, err := target.Defaults(""); err == nil && (x.Host == "" || x.Host == "localhost") && x.Socket == "" && x.Port == 0 { // the client's own default
		mine = usualPlace(mine, usualSockets, listens, func(path string) bool { return may("unix", path) }, a.trusted)
	} else if err == nil && may(mine.Network, mine.Address) && !leads(mine, listens, a.trusted, belowShared) {
		notes = append(notes, fmt.Sprintf("the defaults files lead to %s, but %s", mine.Address, strange))
		mine.Network, mine.Address = "", ""
	}
	order, left := a.candidates(listens, mine)
	found := func(x target.Spec) bool {
		return slices.ContainsFunc(listens, func(l listener) bool { return same(l.network, l.address, x) })
	}
	if mine.Address != "" && (mine.Network == "unix" || mine.User != "" && !mine.Password.Empty()) && may(mine.Network, mine.Address) && !found(mine) {
		x := mine
		x.ConnectTimeout = loginTime
		order = append([]*spot{{at: []target.Spec{x}, by: []string{"defaults file"}}}, order...)
	}
	for _, s := range order {
		take(*s)
	}
	for _, x := range only { // what the kernel does not show may be there all the same: of a container, or elsewhere
		if found(x) || slices.ContainsFunc(all, func(s spot) bool {
			return slices.ContainsFunc(s.at, func(y target.Spec) bool { return same(y.Network, y.Address, x) })
		}) {
			continue
		}
		s := spot{at: []target.Spec{x}, defaults: os.DevNull, by: []string{"port"}, named: true}
		if x.Network == "unix" {
			s.by = []string{"socket"}
			if st, err := os.Stat(x.Address); err == nil && (!a.trusted(uidOf(st)) || redirectable(x.Address, a.trusted, mostLinks)) {
				s.untried = strange
			}
		}
		take(s)
	}
	return all, left, notes
}

// candidates joins what processes listen on: first where the user's own login leads, then what may
// be logged in to, then a few of what is left alone, so that nobody's own listeners, however many,
// keep a server from being found.
func (a *App) candidates(listens []listener, mine target.Spec) (order []*spot, left int) {
	type owner struct {
		pid   int
		login bool
	}
	group := map[owner]*spot{}
	trusted := eachOnce(a.trusted)
	strangers, user := 0, a.systemUser()
	for _, l := range listens {
		own := same(l.network, l.address, mine)
		elsewhere := l.network == "unix" && redirectable(l.address, trusted, mostLinks)
		// What may be logged in to is no spot with what may not, whatever processes pretend to be.
		k := owner{l.pid, own || trusted(l.uid) && !elsewhere}
		s := group[k]
		if s == nil || l.pid == 0 {
			if !k.login {
				if strangers++; strangers > mostServers {
					left++
					continue
				}
			}
			s = &spot{defaults: os.DevNull, pid: l.pid}
			order = append(order, s)
			if !k.login {
				s.untried = strange
			}
			if l.pid != 0 {
				group[k], s.by = s, []string{"process"}
			}
		}
		x := target.Spec{Scheme: "mysql", Network: l.network, Address: l.address, User: user, ConnectTimeout: loginTime}
		switch {
		case !own && len(s.at) >= mostServers:
		case !own:
			s.at = append(s.at, x)
		case s.defaults != "": // else localhost led here before
			x, s.defaults = mine, ""
			x.ConnectTimeout = loginTime
			s.by = append(s.by, "defaults file")
			s.at = slices.Insert(s.at, 0, x)
		}
		if word := map[string]string{"unix": "socket", "tcp": "port"}[l.network]; !slices.Contains(s.by, word) {
			s.by = append(s.by, word)
		}
	}
	slices.SortStableFunc(order, func(x, y *spot) int {
		return cmp.Or(cmp.Compare(len(x.defaults), len(y.defaults)), cmp.Compare(len(x.untried), len(y.untried)))
	})
	return order, left
}

// usualSockets are where builds of the mysql client look for a server.
var usualSockets = []string{"/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"}

// usualPlace is where a login leads that names no server. It is but a guess, and the first to listen there may be anybody: it leads nowhere
// unless whose it is can be trusted. What stands for localhost is told apart, for one user may have 127.0.0.1 and another ::1.
func usualPlace(mine target.Spec, sockets []string, listens []listener, may func(path string) bool, trusted func(uid int) bool) target.Spec {
	for _, path := range sockets {
		link, err := os.Lstat(path)
		if err != nil || !may(path) {
			continue
		}
		st, err := os.Stat(path)
		if err == nil && st.Mode()&os.ModeSocket != 0 && trusted(uidOf(link)) && trusted(uidOf(st)) {
			mine.Network, mine.Address = "unix", path
			return mine
		}
	}
	local := target.Spec{Network: "tcp", Address: "localhost:3306"}
	for _, l := range listens {
		if same(l.network, l.address, local) && trusted(l.uid) {
			mine.Network, mine.Address = l.network, l.address
			if mine.ServerName == "" && mine.Mode() == target.TLSVerifyFull {
				mine.ServerName = "localhost"
			}
			return mine
		}
	}
	mine.Network, mine.Address = "", ""
	return mine
}

// leads reports whether the login of the defaults files may be sent where they lead. They are the user's own word, but while the server is
// down anybody can take a port from 1024 on, or a name below a directory in which everybody may write: whoever has it must be trusted then.
func leads(mine target.Spec, listens []listener, trusted func(uid int) bool, shared func(path string) bool) bool {
	if mine.Network == "unix" {
		at, err := filepath.EvalSymlinks(mine.Address)
		if err != nil {
			return true // nobody is there
		}
		for _, path := range []string{mine.Address, at} {
			if st, err := os.Lstat(path); err != nil || shared(path) && !trusted(uidOf(st)) {
				return false
			}
		}
		return true
	}
	host, port, _ := net.SplitHostPort(mine.Address)
	if n, err := strconv.Atoi(port); err == nil && n < 1024 {
		return true
	}
	ip, _ := netip.ParseAddr(host)
	return !slices.ContainsFunc(listens, func(l listener) bool {
		h, p, _ := net.SplitHostPort(l.address)
		// Who listens on all addresses of IPv6 is written as at 127.0.0.1.
		return !trusted(l.uid) && (same(l.network, l.address, mine) || l.network == "tcp" && p == port && h == "127.0.0.1" && ip == netip.IPv6Loopback())
	})
}

// belowShared reports whether everybody may write in a directory on the way to path.
func belowShared(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm()&0o002 != 0 {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// same reports whether an address is that of a spec; localhost is this machine.
func same(network, address string, s target.Spec) bool {
	if network != s.Network {
		return false
	}
	if network == "unix" {
		a, err := filepath.EvalSymlinks(filepath.Dir(address))
		b, bad := filepath.EvalSymlinks(filepath.Dir(s.Address))
		return address == s.Address || err == nil && bad == nil && filepath.Join(a, filepath.Base(address)) == filepath.Join(b, filepath.Base(s.Address))
	}
	h, p, _ := net.SplitHostPort(address)
	host, port, _ := net.SplitHostPort(s.Address)
	return p == port && (h == host || host == "localhost" && (h == "127.0.0.1" || h == "::1"))
}

func (a *App) sandboxes(ctx context.Context) ([]sandbox.Sandbox, error) {
	if _, err := os.Stat(a.Home); err != nil {
		return nil, nil //nolint:nilerr // no home, no sandboxes
	}
	y, err := a.Yard()
	if errors.Is(err, sandbox.ErrNeedsLinux) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return y.List(ctx)
}

// systemUser is the account that logs in by unix_socket or auth_socket.
func (a *App) systemUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return a.Environ("USER")
}

// trusted reports whether a server of that system user may be logged in to unasked: whoever else could let something listen there that looks
// like a server and learns what is said to it.
func (a *App) trusted(uid int) bool { return target.TrustedAccount(uid) }

// tryOut logs in, and tells what there is to see.
func (a *App) tryOut(ctx context.Context, s spot, inventory []ledger.Target, m *memory, watched map[string]string) Found {
	f := Found{By: s.by, DefaultsFile: s.defaults, pid: s.pid, Login: LoginUntried, Reason: s.untried}
	set := func(x target.Spec) {
		f.Address, f.User, f.Also = x.Address, x.User, nil
		x.ConnectTimeout = 0
		f.URL = x.URL()
		for _, y := range s.at {
			if y.Address != x.Address {
				f.Also = append(f.Also, y.Address)
			}
		}
	}
	set(s.at[0])
	for _, t := range inventory {
		spec, err := target.ParseURL(t.URL)
		if err != nil || spec.Jump != (tunnel.Jump{}) { // an address of another machine
			continue
		}
		if slices.ContainsFunc(s.at, func(x target.Spec) bool { return same(x.Network, x.Address, spec) }) {
			set(spec)
			f.Target, f.Name, f.Reason = t.Name, t.Name, ""
			f.DefaultsFile, f.server = t.Defaults, watched[t.Name]
			return f
		}
	}
	if s.untried == "" {
		for _, x := range s.at {
			set(x)
			t, err := m.open(ctx, x)
			if err == nil {
				f.learn(t)
				if f.Reason, f.Fix = tooMighty(ctx, t); f.Reason != "" {
					f.Create = AccountSQL(f.Flavor, false, "")
				}
				t.Close()
				break
			}
			f.Login, f.Reason, f.Fix = LoginFailed, err.Error(), target.HintOf(err)
			if k := target.KindOf(err); k == target.AuthFailed {
				f.Login = LoginRefused
				f.Flavor, f.Version = m.greeted(ctx, x)
				f.Create = AccountSQL(cmp.Or(f.Flavor, "mysql"), x.Network == "unix", a.systemUser())
				f.Fix = "make an account with these statements; a password goes into ~/.my.cnf, or into a file that is named when the server is added"
				break
			}
		}
	} else {
		f.Flavor, f.Version = m.greeted(ctx, s.at[0])
		f.Fix = "add it by hand when you know it"
	}
	f.Name = cmp.Or(s.name, f.Name, suggested(f))
	if f.server == "" {
		return f
	}
	for _, name := range slices.Sorted(maps.Keys(watched)) { // at an address that the inventory does not have
		if watched[name] == f.server {
			f.Target, f.Name = name, name
			break
		}
	}
	return f
}

// learn fills in what a server told about itself.
func (f *Found) learn(t *target.Target) {
	facts := t.Facts()
	f.Login, f.Reason, f.Fix, f.User = LoginOK, "", "", facts.User
	f.Flavor, f.Version, f.server = facts.Flavor, facts.Version.String(), facts.Server
	for _, c := range []target.Capability{target.HasPerformanceSchema, target.HasStatementDigests, target.HasInnodbMetrics} {
		if x := t.Answer(c); !x.Has {
			f.Lacks = append(f.Lacks, Lack{string(c), x.Reason, x.Fix})
		}
	}
	if facts.Port > 0 {
		f.Name = facts.Flavor + "-" + strconv.Itoa(facts.Port)
	}
}

// greeted asks a server what it is without logging in: it says so first. One behind a jump host is not asked.
func greeted(ctx context.Context, x target.Spec) (flavor, version string) {
	if x.Jump != (tunnel.Jump{}) {
		return "", ""
	}
	d := net.Dialer{Timeout: loginTime}
	c, err := d.DialContext(ctx, x.Network, x.Address)
	if err != nil {
		return "", ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(loginTime))
	b := make([]byte, 1024)
	n, _ := c.Read(b)
	h := wire.Handshake{User: x.User}
	_, _, _ = h.Feed(b[:n]) // an error leaves the greeting empty
	text := h.Greeting().Version
	switch {
	case text == "":
		return "", ""
	case strings.Contains(text, "MariaDB"):
		flavor = "mariadb"
	default:
		flavor = "mysql"
	}
	return flavor, target.ParseVersion(text).String()
}

// suggested makes a name of what is known of a server.
func suggested(f Found) string {
	word := cmp.Or(f.Flavor, "server")
	for _, address := range append([]string{f.Address}, f.Also...) {
		if _, port, err := net.SplitHostPort(address); err == nil {
			return word + "-" + port
		}
	}
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(f.Address), ".socket"), ".sock")
	return word + "-" + strings.Map(func(r rune) rune {
		if strings.ContainsRune("/: \t\n", r) {
			return '-'
		}
		return r
	}, base)
}

func freeName(name string, taken map[string]bool) string {
	for n := 1; ; n++ {
		try := name
		if n > 1 {
			try += "-" + strconv.Itoa(n)
		}
		if !taken[try] {
			return try
		}
	}
}

// merged joins what turned out to be one server: the same process, or by its own word the same. What nobody answers at is left out, unless
// the user's own files lead there.
func merged(all []Found) (out []Found) {
	for _, f := range all {
		i := slices.IndexFunc(out, func(x Found) bool {
			return f.pid != 0 && x.pid == f.pid || f.server != "" && x.server == f.server
		})
		if i >= 0 {
			x := &out[i]
			var places []string
			for _, y := range []Found{*x, f} {
				places = append(append(places, y.Address), y.Also...)
			}
			if x.Target == "" && (f.Target != "" || x.Login != LoginOK && f.Login == LoginOK) {
				*x = f
			}
			x.Also = nil
			for _, also := range places {
				if also != x.Address && !slices.Contains(x.Also, also) {
					x.Also = append(x.Also, also)
				}
			}
			continue
		}
		if f.Login == LoginFailed && !slices.Contains(f.By, "defaults file") && !slices.Contains(f.By, "process") {
			continue
		}
		out = append(out, f)
	}
	return out
}

// AccountSQL returns statements that make an account for Dyno with what watching needs, as a person would run them on the server. Over a
// socket MariaDB knows the system's user, and needs no password; elsewhere one has to be chosen.
func AccountSQL(flavor string, socket bool, systemUser string) []string {
	name, by := "dyno", "IDENTIFIED BY 'choose a password'"
	if flavor == "mariadb" && socket && systemUser != "" && systemUser != "root" { // root is there already, and too mighty
		name, by = systemUser, "IDENTIFIED VIA unix_socket"
	}
	grants, err := target.Grants(flavor, "watch", name, nil)
	if err != nil {
		return nil
	}
	who := "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(name) + "'@'localhost'"
	return append([]string{"CREATE USER " + who + " " + by}, grants...)
}

// Adopt puts the servers that were found and can be logged in to into the inventory, a few at most, and returns them.
func (a *App) Adopt(ctx context.Context, d Discovery) (taken []Found, err error) {
	for _, f := range d.Found {
		if f.Login != LoginOK || f.Target != "" || len(taken) == mostAdopted {
			continue
		}
		if _, bad := a.AddTarget(ctx, ledger.Target{Name: f.Name, URL: f.URL, Defaults: f.DefaultsFile}, false); bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		f.Target = f.Name
		taken = append(taken, f)
	}
	return taken, err
}

// seeker keeps what the last search found for a few seconds, so that pages that ask again and again do not make servers busy. Searches come
// one after the other.
type seeker struct {
	mu      sync.Mutex
	at      time.Time // zero: there is nothing to go by
	last    Discovery
	err     error
	known   *memory       // nil: none yet
	running chan struct{} // closed at the end of the search that runs, nil when none does
}

func (k *seeker) find(ctx context.Context, fresh time.Duration, look func(context.Context, *memory) (Discovery, error)) (Discovery, error) {
	for {
		k.mu.Lock()
		if !k.at.IsZero() && time.Since(k.at) <= fresh {
			d, err := k.last, k.err
			k.mu.Unlock()
			return d, err
		}
		running := k.running
		if running == nil {
			return k.search(ctx, look)
		}
		k.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
			return Discovery{}, ctx.Err()
		}
	}
}

// search is called with the lock held, which it gives up. What it finds is not kept when something was forgotten meanwhile.
func (k *seeker) search(ctx context.Context, look func(context.Context, *memory) (Discovery, error)) (d Discovery, err error) {
	if k.known == nil {
		k.known = newMemory()
	}
	known, running := k.known, make(chan struct{})
	k.running = running
	k.mu.Unlock()
	done := false
	defer func() { // also of a panic, which ends a request, not the program
		k.mu.Lock()
		defer k.mu.Unlock()
		if done && k.known == known {
			k.last, k.err, k.at = d, err, time.Now()
		}
		k.running = nil
		close(running)
	}()
	d, err = look(ctx, known)
	if ctx.Err() != nil {
		return d, errors.Join(err, ctx.Err())
	}
	done = true
	return d, err
}

// forget makes the next search a new one, in which logins that were refused are tried again.
func (k *seeker) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at, k.known = time.Time{}, nil
}

// How long a search goes by what an earlier one was told.
const (
	refusedFirst, refusedMost = time.Minute, time.Hour // twice as long each time
	greetedLast               = 10 * time.Minute
)

// memory is what servers said to earlier searches. Servers lock accounts that are refused often, and machines whose connections break off
// before a login, so what is known is not asked for again and again while a page stands open.
type memory struct {
	mu      sync.Mutex
	refused map[target.Spec]refusal
	said    map[string]greeting // by network and address

	certificates func(context.Context, target.Spec) *target.KnownServers // App.known
}

type refusal struct {
	err   error
	until time.Time
	pause time.Duration
}

type greeting struct {
	flavor, version string
	until           time.Time
}

func newMemory() *memory {
	return &memory{refused: map[target.Spec]refusal{}, said: map[string]greeting{}}
}

// open logs in; while a refusal of the same login holds, that is the answer.
func (m *memory) open(ctx context.Context, x target.Spec) (*target.Target, error) {
	m.mu.Lock()
	old := m.refused[x]
	m.mu.Unlock()
	if time.Now().Before(old.until) {
		return nil, old.err
	}
	as := x
	as.OnlyTrusted = true
	if m.certificates != nil {
		as.Known = m.certificates(ctx, x)
	}
	t, err := target.Open(ctx, as)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch target.KindOf(err) {
	case target.AuthFailed, target.Denied, target.TLSFailed, target.TooManyConnections:
		pause := min(max(2*old.pause, refusedFirst), refusedMost)
		m.refused[x] = refusal{err, time.Now().Add(pause), pause}
	}
	if err == nil {
		delete(m.refused, x)
	}
	return t, err
}

// greeted is greeted, once in a while.
func (m *memory) greeted(ctx context.Context, x target.Spec) (flavor, version string) {
	k := x.Network + " " + x.Address
	m.mu.Lock()
	old := m.said[k]
	m.mu.Unlock()
	if time.Now().Before(old.until) {
		return old.flavor, old.version
	}
	flavor, version = greeted(ctx, x)
	if ctx.Err() == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.said[k] = greeting{flavor, version, time.Now().Add(greetedLast)}
	}
	return flavor, version
}
