// Package discovery finds the database servers of this machine and takes them into the inventory.
package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// Options says where Discover looks. The zero value is this machine and the usual defaults files.
type Options struct {
	// Only are the sockets (paths) and addresses (host:port) that may be touched, and are looked at whatever is known
	// to listen there; none: all that are found.
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
	// to add it under, free in the inventory; with Target that one
	Name         string      `json:"name"`
	Target       string      `json:"target,omitzero"`        // the inventory has it under this name
	URL          string      `json:"url"`                    // to add; never with a password
	DefaultsFile string      `json:"defaults_file,omitzero"` // to add it with
	Address      string      `json:"address"`                // path of a socket or host:port
	Also         []string    `json:"also,omitempty"`         // other addresses of the same server
	By           []string    `json:"found_by"`               // "socket", "port", "process", "defaults file", "sandbox"
	Flavor       dbms.Flavor `json:"flavor,omitzero"`        // if reported
	Version      string      `json:"version,omitzero"`       // "10.11.19"
	Login        LoginState  `json:"login"`                  //
	User         string      `json:"user,omitzero"`          // the account that the server took us for, or would have
	Reason       string      `json:"reason,omitzero"`        // why there is no login, or what is wrong with it
	Fix          string      `json:"fix,omitzero"`           // how to fix it
	// statements that make an account for Dyno, to be run there by a person
	Create []string `json:"create_account,omitzero"`
	Lacks  []Lack   `json:"lacks,omitempty"` // what would stay unknown

	server string // family.Facts.Server
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
	at       []endpoint.Spec // the same server, sockets first
	maybe    []endpoint.Spec // the same place as at[0], of families that the server may be of as well
	defaults string          // as ledger.Target.Defaults: os.DevNull where no file is meant for it
	by       []string
	pid      int
	untried  string // why it is not logged in to
	name     string
	named    bool   // by Looking.Only, and nothing is known to listen there
	file     string // as family.Own.File
}

// discover is Seeker.Discover with what was learned before, and the servers that are watched: by target, as
// family.Facts.Server.
func discover(ctx context.Context, a *app.App, o Options, m *memory, watched map[string]string) (Discovery, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.Within, searchTime))
	defer cancel()
	m.certificates = a.KnownServers
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
	spots, n, notes := spots(ctx, a, o)
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
			found[i] = tryOut(ctx, a, s, inventory, m, watched)
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

// finder is a family whose servers can be found.
type finder interface {
	family.Family
	family.Finder
}

// finders are the families whose servers can be found, that of a server of which nothing is said first.
func finders() (all []finder) {
	for _, f := range app.Families() {
		if x, ok := f.(finder); ok {
			all = append(all, x)
		}
	}
	return all
}

// familyOf returns the family that a spec is for.
func familyOf(x endpoint.Spec) family.Family {
	if f, ok := app.FamilyOf(dbms.Flavor(x.Scheme)); ok {
		return f
	}
	return app.Families()[0]
}

// guess is the login that is tried at a place that nobody has named.
func guess(a *app.App, f family.Finder, network, address string) endpoint.Spec {
	x := f.Guess(network, address, app.Inspection{App: a}.SystemUser())
	x.ConnectTimeout = loginTime
	return x
}

// guesses are the logins that are tried at a place of which no family is known, that of the family whose it looks like
// first.
func guesses(a *app.App, families []finder, network, address string) (all []endpoint.Spec) {
	for _, f := range families {
		m := f.Marks()
		_, port, _ := net.SplitHostPort(address)
		like := network == "tcp" && port == m.Port
		if network == "unix" {
			like, _ = m.IsSocket(address)
		}
		if x := guess(a, f, network, address); like {
			all = slices.Insert(all, 0, x)
		} else {
			all = append(all, x)
		}
	}
	return all
}

// spots gathers what there is to look at.
func spots(ctx context.Context, a *app.App, o Options) (all []spot, left int, notes []string) {
	families := finders()
	only := make([]endpoint.Spec, len(o.Only))
	for i, address := range o.Only {
		network := "tcp"
		if filepath.IsAbs(address) {
			network = "unix"
		}
		only[i] = guess(a, families[0], network, address)
	}
	may := func(network, address string) bool {
		return len(only) == 0 || slices.ContainsFunc(only, func(x endpoint.Spec) bool {
			return app.SamePlace(network, address, x) || app.SamePlace(x.Network, x.Address,
				endpoint.Spec{Network: network, Address: address})
		})
	}
	seen := map[string]bool{}
	take := func(s spot) {
		s.at = slices.DeleteFunc(s.at, func(x endpoint.Spec) bool { return seen[x.Address] })
		for _, x := range s.at {
			seen[x.Address] = true
		}
		if len(s.at) > 0 {
			all = append(all, s)
		}
	}

	// Sandboxes that serve another dyno are left alone: it is measuring there.
	listed, stop := context.WithTimeout(ctx, time.Second) // a list that is held up holds up no search
	boxes, err := a.Sandboxes(listed)
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
				at := slices.DeleteFunc([]endpoint.Spec{b.Spec(), also}, func(x endpoint.Spec) bool {
					return !may(x.Network, x.Address)
				})
				take(spot{at: at, defaults: os.DevNull, by: []string{"sandbox"}, pid: b.PID, name: b.Name})
			}
		}
	}

	var order []*spot
	lists := listening(ctx, families, o.Only)
	found := func(x endpoint.Spec) bool {
		return slices.ContainsFunc(slices.Concat(lists...), func(l host.Listener) bool {
			return app.SamePlace(l.Network, l.Address, x)
		})
	}
	for i, f := range families {
		lists[i] = slices.DeleteFunc(lists[i], func(l host.Listener) bool {
			return !may(l.Network, l.Address) || seen[l.Address]
		})
		own, note := ownPlace(a, f, lists[i], may)
		if note != "" {
			notes = append(notes, note)
		}
		mine := own.Spec
		some, more := candidates(a, f, lists[i], mine)
		left += more
		if mine.Address != "" && (mine.Network == "unix" || mine.User != "" && !mine.Password.Empty()) &&
			may(mine.Network, mine.Address) && !found(mine) {
			x := mine
			x.ConnectTimeout = loginTime
			some = append([]*spot{{at: []endpoint.Spec{x}, by: []string{"defaults file"}}}, some...)
		}
		for _, s := range some {
			s.file = own.File
			if s.pid == 0 && i == 0 && len(only) > 0 { // it may be there because it was named alone
				s.maybe = guesses(a, families, s.at[0].Network, s.at[0].Address)[1:]
			}
		}
		order = append(order, some...)
	}
	// Of all families what may be logged in to comes first.
	slices.SortStableFunc(order, inOrder)
	for _, s := range order {
		take(*s)
	}
	for _, x := range only { // what the kernel does not show may be there all the same: of a container, or elsewhere
		if found(x) || slices.ContainsFunc(all, func(s spot) bool {
			return slices.ContainsFunc(s.at,
				func(y endpoint.Spec) bool { return app.SamePlace(y.Network, y.Address, x) })
		}) {
			continue
		}
		like := guesses(a, families, x.Network, x.Address)
		s := spot{at: like[:1], maybe: like[1:], defaults: os.DevNull, by: []string{"port"}, named: true}
		if x.Network == "unix" {
			s.by = []string{"socket"}
			trusted := like[0].Trusted
			if st, err := os.Stat(x.Address); err == nil && (!trusted(host.OwnerOf(st)) ||
				host.Redirectable(x.Address, trusted)) {
				s.untried = strange
			}
		}
		take(s)
	}
	return all, left, notes
}

// listening finds what servers of each family listen on. Every place is in one list: that of the family whose process
// has it, else of one that it looks like. What looks like none and is named by only counts as the first one's.
func listening(ctx context.Context, families []finder, only []string) [][]host.Listener {
	lists := make([][]host.Listener, len(families))
	type place struct{ network, address string }
	whose, sure := map[place]int{}, map[place]bool{}
	for i, f := range families {
		var also []string
		if i == 0 {
			also = only
		}
		lists[i] = host.Listening(ctx, "", f.Marks(), f.Guess("", "", "").Trusted, also...)
		for _, l := range lists[i] {
			if k := (place{l.Network, l.Address}); !sure[k] {
				whose[k], sure[k] = i, l.PID != 0
			}
		}
	}
	for i := range lists {
		lists[i] = slices.DeleteFunc(lists[i], func(l host.Listener) bool {
			return whose[place{l.Network, l.Address}] != i
		})
	}
	return lists
}

// ownPlace is where the user's own login of a family leads, as far as that may be looked at and trusted: its address is
// "" otherwise, and the note says why if they lead somewhere.
func ownPlace(
	a *app.App, f finder, listens []host.Listener, may func(network, address string) bool,
) (own family.Own, note string) {
	own, err := f.Own(a.Environ)
	mine := &own.Spec
	trusted := f.Guess("", "", "").Trusted
	switch {
	case err != nil:
		mine.Network, mine.Address = "", ""
		return own, err.Error()
	case !own.Named: // the client's own default
		*mine = app.UsualPlace(*mine, own.Sockets, own.Port, listens, func(path string) bool {
			return may("unix", path)
		}, trusted)
	case may(mine.Network, mine.Address) && !app.LeadsToTrusted(*mine, listens, trusted, app.BelowShared):
		note = fmt.Sprintf("the defaults files lead to %s, but %s", mine.Address, strange)
		mine.Network, mine.Address = "", ""
	}
	return own, note
}

// candidates joins what processes listen on: first where the user's own login leads, then what may
// be logged in to, then a few of what is left alone, so that nobody's own listeners, however many,
// keep a server from being found.
func candidates(
	a *app.App, f family.Finder, listens []host.Listener, mine endpoint.Spec,
) (order []*spot, left int) {
	type owner struct {
		pid   int
		login bool
	}
	group := map[owner]*spot{}
	trusted := host.AskOnce(f.Guess("", "", "").Trusted)
	strangers := 0
	for _, l := range listens {
		own := app.SamePlace(l.Network, l.Address, mine)
		elsewhere := l.Network == "unix" && host.Redirectable(l.Address, trusted)
		// What may be logged in to is no spot with what may not, whatever processes pretend to be.
		k := owner{l.PID, own || trusted(l.UID) && !elsewhere}
		s := group[k]
		if s == nil || l.PID == 0 {
			if !k.login {
				if strangers++; strangers > mostServers {
					left++
					continue
				}
			}
			s = &spot{defaults: os.DevNull, pid: l.PID}
			order = append(order, s)
			if !k.login {
				s.untried = strange
			}
			if l.PID != 0 {
				group[k], s.by = s, []string{"process"}
			}
		}
		x := guess(a, f, l.Network, l.Address)
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
		if word := map[string]string{"unix": "socket", "tcp": "port"}[l.Network]; !slices.Contains(s.by, word) {
			s.by = append(s.by, word)
		}
	}
	slices.SortStableFunc(order, inOrder)
	return order, left
}

// inOrder compares where the user's own login leads, what may be logged in to and what is left alone.
func inOrder(x, y *spot) int {
	return cmp.Or(cmp.Compare(len(x.defaults), len(y.defaults)), cmp.Compare(len(x.untried), len(y.untried)))
}

// tryOut logs in, and tells what there is to see.
func tryOut(ctx context.Context, a *app.App, s spot, inventory []ledger.Target, m *memory,
	watched map[string]string,
) Found {
	f := Found{By: s.by, DefaultsFile: s.defaults, pid: s.pid, Login: LoginUntried, Reason: s.untried}
	set := func(x endpoint.Spec) {
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
		spec, err := endpoint.ParseURL(t.URL)
		if err != nil || spec.Jump != (tunnel.Jump{}) { // an address of another machine
			continue
		}
		if slices.ContainsFunc(s.at, func(x endpoint.Spec) bool { return app.SamePlace(x.Network, x.Address, spec) }) {
			set(spec)
			f.Target, f.Name, f.Reason = t.Name, t.Name, ""
			f.DefaultsFile, f.server = t.Defaults, watched[t.Name]
			return f
		}
	}
	if s.untried == "" {
		for i, x := range slices.Concat(s.at, s.maybe) {
			of := familyOf(x)
			t, err := m.open(ctx, x)
			if i >= len(s.at) && err != nil && of.KindOf(err) != endpoint.AuthFailed {
				continue // what the likeliest family says of the place is worth more
			}
			set(x)
			if err == nil {
				f.learn(t)
				if f.Reason, f.Fix = app.TooMighty(ctx, t); f.Reason != "" {
					f.Create = of.NewAccount(f.Flavor, false, "")
				}
				t.Close()
				break
			}
			f.Login, f.Reason, f.Fix = LoginFailed, err.Error(), of.HintOf(err)
			if k := of.KindOf(err); k == endpoint.AuthFailed {
				f.Login = LoginRefused
				f.Flavor, f.Version = m.greeted(ctx, x)
				f.Create = of.NewAccount(cmp.Or(f.Flavor, dbms.Flavor(x.Scheme)), x.Network == "unix",
					app.Inspection{App: a}.SystemUser())
				f.Fix = "make an account with these statements; a password goes into "
				if s.file != "" {
					f.Fix += s.file + ", or into "
				}
				f.Fix += "a file that is named when the server is added"
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
func (f *Found) learn(t family.Server) {
	facts := t.About()
	f.Login, f.Reason, f.Fix, f.User = LoginOK, "", "", facts.User
	f.Flavor, f.Version, f.server = facts.Flavor, facts.Version, facts.Server
	if x, ok := t.(family.Gapped); ok {
		for _, g := range x.Gaps() {
			f.Lacks = append(f.Lacks, Lack(g))
		}
	}
	if facts.Port > 0 {
		f.Name = string(facts.Flavor) + "-" + strconv.Itoa(facts.Port)
	}
}

// suggested makes a name of what is known of a server.
func suggested(f Found) string {
	word := cmp.Or(string(f.Flavor), "server")
	for _, address := range append([]string{f.Address}, f.Also...) {
		if _, port, err := net.SplitHostPort(address); err == nil {
			return word + "-" + port
		}
	}
	if port := strings.TrimPrefix(filepath.Ext(f.Address), "."); port != "" && strings.Trim(port, "0123456789") == "" {
		return word + "-" + port // the socket is named after it
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

// merged joins what turned out to be one server: the same process, or by its own word the same. What nobody answers at
// is left out, unless the user's own files lead there.
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

// Adopt puts the servers that were found and can be logged in to into the inventory, a few at most, and returns them.
func Adopt(ctx context.Context, a *app.App, d Discovery) (taken []Found, err error) {
	for _, f := range d.Found {
		if f.Login != LoginOK || f.Target != "" || len(taken) == mostAdopted {
			continue
		}
		if _, bad := (app.Inventory{App: a}).AddTarget(ctx, ledger.Target{
			Name: f.Name, URL: f.URL,
			Defaults: f.DefaultsFile,
		},
			false); bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		f.Target = f.Name
		taken = append(taken, f)
	}
	return taken, err
}

// Seeker keeps what the last search found for a few seconds, so that pages that ask again and again do not make servers
// busy. Searches come one after the other.
type Seeker struct {
	mu      sync.Mutex
	at      time.Time // zero: there is nothing to go by
	last    Discovery
	err     error
	known   *memory       // nil: none yet
	running chan struct{} // closed at the end of the search that runs, nil when none does
}

// Discover looks for servers on this machine: sockets and ports that servers listen on, what the user's defaults files
// lead to, and Dyno's sandboxes. It logs in once to each, which is all it does to them. A password is only sent to the
// server that the defaults file it stands in leads to; elsewhere the account with the name of the system's user is
// tried without one. Where those files name no server the usual place counts as theirs. Nothing is sent to a place that
// anybody could have taken, unless root, a server's user or this one has it.
//
// watched are the servers that are watched: by target, as family.Facts.Server. Within a few seconds the answer is the
// one of before. Who was refused a login is remembered for longer, until Forget.
func (k *Seeker) Discover(
	ctx context.Context, a *app.App, o Options, watched func() map[string]string,
) (Discovery, error) {
	return k.find(ctx, 5*time.Second, func(ctx context.Context, m *memory) (Discovery, error) {
		return discover(ctx, a, o, m, watched())
	})
}

// Fresh reports whether Discover would answer with what the last search found.
func (k *Seeker) Fresh() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.at.IsZero()
}

func (k *Seeker) find(
	ctx context.Context, fresh time.Duration, look func(context.Context, *memory) (Discovery, error),
) (Discovery, error) {
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

// search is called with the lock held, which it gives up. What it finds is not kept when something was forgotten
// meanwhile.
func (k *Seeker) search(
	ctx context.Context, look func(context.Context, *memory) (Discovery, error),
) (d Discovery, err error) {
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

// Forget makes the next search a new one, in which logins that were refused are tried again.
func (k *Seeker) Forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at, k.known = time.Time{}, nil
}

// How long a search goes by what an earlier one was told.
const (
	refusedFirst, refusedMost = time.Minute, time.Hour // twice as long each time
	greetedLast               = 10 * time.Minute
)

// memory is what servers said to earlier searches. Servers lock accounts that are refused often, and machines whose
// connections break off before a login, so what is known is not asked for again and again while a page stands open.
type memory struct {
	mu      sync.Mutex
	refused map[endpoint.Spec]refusal
	said    map[string]greeting // by network and address

	certificates func(context.Context, endpoint.Spec) *endpoint.KnownServers // App.known
}

type refusal struct {
	err   error
	until time.Time
	pause time.Duration
}

type greeting struct {
	flavor  dbms.Flavor
	version string
	until   time.Time
}

func newMemory() *memory {
	return &memory{refused: map[endpoint.Spec]refusal{}, said: map[string]greeting{}}
}

// open logs in; while a refusal of the same login holds, that is the answer.
func (m *memory) open(ctx context.Context, x endpoint.Spec) (family.Server, error) {
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
	t, err := familyOf(as).Open(ctx, as)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch familyOf(x).KindOf(err) {
	case endpoint.AuthFailed, endpoint.Denied, endpoint.TLSFailed, endpoint.TooManyConnections:
		pause := min(max(2*old.pause, refusedFirst), refusedMost)
		m.refused[x] = refusal{err, time.Now().Add(pause), pause}
	}
	if err == nil {
		delete(m.refused, x)
	}
	return t, err
}

// greeted is greeted, once in a while.
func (m *memory) greeted(ctx context.Context, x endpoint.Spec) (flavor dbms.Flavor, version string) {
	k := x.Network + " " + x.Address
	m.mu.Lock()
	old := m.said[k]
	m.mu.Unlock()
	if time.Now().Before(old.until) {
		return old.flavor, old.version
	}
	flavor, version = familyOf(x).Greeting(ctx, x)
	if ctx.Err() == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.said[k] = greeting{flavor, version, time.Now().Add(greetedLast)}
	}
	return flavor, version
}
