// Package app is what all tasks share: where Dyno's files are, the stores, how to log in to a target, and the
// steps that several tasks take, such as diagnose, apply and undo. It knows no flags and prints nothing;
// package cli does both.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/trials"
	"github.com/dyno-perf/dyno/internal/tunnel"
	"github.com/dyno-perf/dyno/internal/unit"
)

// App is one invocation of Dyno.
type App struct {
	// Home holds everything Dyno keeps: sandboxes, servers, the store, reports.
	Home string
	// Version is what `dyno --version` prints.
	Version string
	// Environ looks up an environment variable.
	Environ func(string) string
	// AskPassword prompts for a password; nil where nobody can be asked.
	AskPassword func(prompt string) (string, error)
	// Redact has no literal of any server's statements kept or shown, whatever the inventory says of the server.
	Redact bool

	swept sync.Once // sandboxes of the dead are gone

	mu      sync.Mutex // guards what is opened on first use
	ledger  *ledger.Ledger
	tunnels *tunnel.Set
}

// DefaultHome returns where Dyno keeps things: $DYNO_HOME; else /var/lib/dyno for root, because the servers it starts
// run as another user who cannot enter /root; else dyno below $XDG_DATA_HOME or ~/.local/share.
func DefaultHome(environ func(string) string) (string, error) {
	if h := environ("DYNO_HOME"); h != "" {
		return filepath.Abs(h)
	}
	if os.Geteuid() == 0 {
		return "/var/lib/dyno", nil
	}
	if h := environ("XDG_DATA_HOME"); filepath.IsAbs(h) {
		return filepath.Join(h, "dyno"), nil
	}
	h := environ("HOME")
	if runtime.GOOS == "windows" {
		h = environ("USERPROFILE")
	}
	if h == "" {
		return "", errors.New("find a directory for Dyno's files: neither DYNO_HOME nor HOME is set")
	}
	return filepath.Join(h, ".local", "share", "dyno"), nil
}

// Ledger opens the ledger on first use.
func (a *App) Ledger(ctx context.Context) (*ledger.Ledger, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ledger != nil {
		return a.ledger, nil
	}
	if err := a.closeReports(); err != nil {
		return nil, fmt.Errorf("restrict access to the reports: %w", err)
	}
	l, err := ledger.Open(ctx, a.LedgerPath())
	if err != nil {
		return nil, err
	}
	a.ledger = l
	return l, nil
}

// LedgerPath returns where the ledger's file is, or would be.
func (a *App) LedgerPath() string { return filepath.Join(a.Home, "store", "ledger.db") }

// TryPrefix begins the names of the private servers that indexes are tried on.
const TryPrefix = "try-"

// Yard returns the place of the sandboxes. On first use it removes those of a Try that was killed:
// they hold rows of a server.
func (a *App) Yard() (*sandbox.Yard, error) {
	y, err := sandbox.Open(a.Home, Makers()...)
	if err == nil {
		a.swept.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_ = y.RemoveOrphans(ctx, TryPrefix) // one that cannot be removed is listed as an orphan
		})
	}
	return y, err
}

// Close ends the use of the stores and the ways through jump hosts.
func (a *App) Close() (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tunnels != nil {
		err = a.tunnels.Close()
		a.tunnels = nil
	}
	if a.ledger != nil {
		err = errors.Join(err, a.ledger.Close())
		a.ledger = nil
	}
	return err
}

// Leave closes the way to a server behind a jump host at once when nobody uses it any more.
func (a *App) Leave(spec endpoint.Spec) {
	if spec.Jump != (tunnel.Jump{}) {
		a.via().Drop(spec.Jump, spec.Where())
	}
}

// via makes the connections to servers behind jump hosts. Tunnels are shared and last a little longer than their last
// connection.
func (a *App) via() *tunnel.Set {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tunnels == nil {
		a.tunnels = tunnel.NewSet(context.Background())
	}
	return a.tunnels
}

// Login says how to log in where the TARGET does not say it itself.
type Login struct {
	DefaultsFile string // read instead of ~/.my.cnf and the system's files
	NoDefaults   bool
	AskPass      bool // prompt for the password
	// Remote says that the TARGET may come from elsewhere, over HTTP: see allow.
	Remote bool
	// ExplainSchemas are trusted besides those that the TARGET names: see endpoint.Spec.
	ExplainSchemas []string
}

// UnknownTargetError is the answer to a TARGET that is neither a URL nor known by name.
type UnknownTargetError struct {
	Text  string
	Known []string
}

func (e *UnknownTargetError) Error() string {
	s := fmt.Sprintf("unknown target %q: it is not a URL (mysql://user@host:3306, unix:///path.sock?user=root), not "+
		"a sandbox:NAME, and not in the inventory", e.Text)
	if len(e.Known) > 0 {
		return s + ", which has " + strings.Join(e.Known, ", ")
	}
	return s + ", which is empty: `dyno target add NAME URL` fills it"
}

// Resolve turns what the user typed into the address of a server with the means to log in. TARGET is a URL,
// sandbox:NAME or a name of the inventory. The password comes from the prompt, the environment or a defaults file.
func (a *App) Resolve(ctx context.Context, text string, login Login) (endpoint.Spec, error) {
	named := login.DefaultsFile != "" || login.NoDefaults
	spec, err := a.Locate(ctx, text, &login)
	if err != nil {
		return spec, err
	}
	spec.Redact = spec.Redact || a.Redact
	if own, ok := a.ownSandbox(ctx, spec); ok {
		spec.ServerUID, spec.ExplainSchemas = own.ServerUID, own.ExplainSchemas
	}
	if spec, err = spec.Trusting(login.ExplainSchemas); err != nil {
		return spec, err
	}
	if spec.Jump != (tunnel.Jump{}) {
		spec.Via = a.via()
	}
	if strings.HasPrefix(text, "sandbox:") {
		return spec, nil // its socket needs no more
	}
	if login.AskPass {
		if a.AskPassword == nil {
			return spec, errors.New("ask for the password: no terminal; set DYNO_PASSWORD or use a defaults file")
		}
		p, err := a.AskPassword("Password for " + spec.Where() + ": ")
		if err != nil {
			return spec, err
		}
		spec.Password = endpoint.NewSecret(p)
	}
	file := login.DefaultsFile
	if login.NoDefaults {
		file = os.DevNull
	}
	environ := a.Environ
	if file != "" && (login.Remote || !named) { // the entry's own
		environ = a.withoutPasswords
	}
	spec.OnlyTrusted = login.Remote
	return a.complete(ctx, spec, file, environ)
}

// complete fills in what defaults files and the environment say, and has it remembered by what the server is known.
func (a *App) complete(
	ctx context.Context, spec endpoint.Spec, file string, environ func(string) string,
) (endpoint.Spec, error) {
	spec, err := familyOf(spec).Resolve(spec, file, environ)
	if err == nil {
		spec.Known = a.KnownServers(ctx, spec)
	}
	return spec, err
}

// KnownServers returns the file in which it is remembered by what servers are known; nil for sandboxes, which come and
// go in the same places.
func (a *App) KnownServers(ctx context.Context, spec endpoint.Spec) *endpoint.KnownServers {
	if a.Home == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(spec.Address)
	listens := err == nil && (host == "localhost" || host == "127.0.0.1") // at no other address
	if spec.Jump == (tunnel.Jump{}) && (spec.Network == "unix" || listens) {
		if yard, err := a.Yard(); err == nil {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			all, _ := yard.List(ctx) // what cannot be listed is no sandbox
			cancel()
			if slices.ContainsFunc(all, func(s sandbox.Sandbox) bool {
				// The port of one that is stopped may be another server's by now.
				return s.PID > 0 && (spec.Network == "unix" && s.Socket == spec.Address || spec.Network != "unix" &&
					strconv.Itoa(s.Port) == port)
			}) {
				return nil
			}
		}
	}
	return endpoint.OpenKnown(filepath.Join(a.Home, "known_servers"))
}

// ownSandbox returns how to reach the sandbox that a spec names by its socket, whatever name the inventory has for it.
// The two go together: its schemas are trusted because its own server answers, and whoever owns the socket's directory
// can put a link there to another one.
func (a *App) ownSandbox(ctx context.Context, spec endpoint.Spec) (own endpoint.Spec, ok bool) {
	superuser := spec.User == "root" || spec.Scheme == "postgres"
	if spec.Network != "unix" || !superuser || spec.Jump != (tunnel.Jump{}) {
		return own, false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second) // a list that is held up holds up no login
	defer cancel()
	boxes, err := a.Sandboxes(ctx)
	if err != nil {
		return own, false
	}
	for _, b := range boxes {
		if b.Socket == "" || b.Socket != spec.Address {
			continue
		}
		own = b.Spec()
		return own, own.User == spec.User
	}
	return own, false
}

// Locate turns a TARGET into an address. The entry that it names fills in the defaults file of login where that has
// none.
func (a *App) Locate(ctx context.Context, text string, login *Login) (endpoint.Spec, error) {
	if name, ok := strings.CutPrefix(text, "sandbox:"); ok {
		y, err := a.Yard()
		if err != nil {
			return endpoint.Spec{}, err
		}
		s, err := y.Find(ctx, name)
		if err != nil {
			return endpoint.Spec{}, err
		}
		spec := s.Spec()
		spec.Name = text
		return spec, nil
	}
	if strings.Contains(text, "://") {
		spec, err := endpoint.ParseURL(text)
		if err == nil && login.Remote {
			var t ledger.Target
			if t, err = a.Allow(ctx, ledger.Target{URL: text}); err == nil {
				login.DefaultsFile = t.Defaults
			}
		}
		if err != nil {
			return spec, err
		}
		spec.Name = spec.URL()
		return spec, nil
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return endpoint.Spec{}, err
	}
	e, err := l.Target(ctx, text)
	if errors.Is(err, ledger.ErrNotFound) {
		u := &UnknownTargetError{Text: text}
		all, err := l.Targets(ctx)
		if err != nil {
			return endpoint.Spec{}, err
		}
		for _, t := range all {
			u.Known = append(u.Known, t.Name)
		}
		return endpoint.Spec{}, u
	}
	if err != nil {
		return endpoint.Spec{}, err
	}
	spec, err := endpoint.ParseURL(e.URL)
	if err != nil {
		return spec, fmt.Errorf("inventory entry %s: %w", e.Name, err)
	}
	spec.Name, spec.Redact = e.Name, e.Redact
	if e.Defaults != "" && login.DefaultsFile == "" {
		login.DefaultsFile = e.Defaults
	}
	return a.passwordOf(e, spec)
}

// passwordOf takes the password of an entry out of its environment variable, where it has one.
func (a *App) passwordOf(e ledger.Target, spec endpoint.Spec) (endpoint.Spec, error) {
	if e.PasswordEnv == "" {
		return spec, nil
	}
	v := a.Environ(e.PasswordEnv)
	if v == "" {
		return spec, &endpoint.Error{
			Op: "log in to", Target: cmp.Or(e.Name, spec.Address), Kind: endpoint.NotConfigured,
			Err: fmt.Errorf("not configured: $%s is not set", e.PasswordEnv),
			Fix: "start Dyno with the password in $" + e.PasswordEnv,
		}
	}
	spec.Password, spec.PasswordFrom = endpoint.NewSecret(v), "$"+e.PasswordEnv
	return spec, nil
}

// login completes the spec of an entry that need not be in the inventory yet.
func (a *App) login(ctx context.Context, e ledger.Target, spec endpoint.Spec) (endpoint.Spec, error) {
	spec, err := a.passwordOf(e, spec)
	if err != nil {
		return spec, err
	}
	if spec.Jump != (tunnel.Jump{}) {
		spec.Via = a.via()
	}
	if own, ok := a.ownSandbox(ctx, spec); ok {
		spec.ServerUID, spec.ExplainSchemas = own.ServerUID, own.ExplainSchemas
	}
	environ := a.Environ
	if e.Defaults != "" {
		environ = a.withoutPasswords
	}
	return a.complete(ctx, spec, e.Defaults, environ)
}

// Open resolves and connects.
func (a *App) Open(ctx context.Context, text string, login Login) (family.Server, error) {
	spec, err := a.Resolve(ctx, text, login)
	if err != nil {
		return nil, err
	}
	return familyOf(spec).Open(ctx, spec)
}

// Trust remembers the certificate that a server shows now, see family.Family. Certificates are told by their
// fingerprints.
func (a *App) Trust(ctx context.Context, text string, login Login, add, proof bool) (endpoint.Accepted, error) {
	spec, err := a.Resolve(ctx, text, login)
	if err != nil {
		return endpoint.Accepted{}, err
	}
	return familyOf(spec).Trust(ctx, spec, add, proof)
}

// ExperimentsDir returns the directory of all experiments, which need not be there.
func (a Stores) ExperimentsDir() string { return filepath.Join(a.Home, "experiments") }

// ExperimentDir returns the directory of one experiment.
func (a Stores) ExperimentDir(id string) string { return filepath.Join(a.ExperimentsDir(), id) }

// Orphans tells of servers that still run although the program that they were made for is gone, "" when there are none.
// They disturb what is measured, and whether they are still wanted their user alone knows. Those whose names begin with
// own are removed when what they are for begins.
func Orphans(ctx context.Context, yard *sandbox.Yard, own string) string {
	all, err := yard.List(ctx)
	if err != nil { // the first trial tells
		return ""
	}
	var names []string
	for _, b := range all {
		if b.State == sandbox.Orphan && !strings.HasPrefix(b.Name, own) {
			names = append(names, b.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, and may disturb the measurement: `dyno sandbox rm %s` removes what is no longer needed",
		unit.Plural(len(names), "private server still runs although its program is gone",
			"private servers still run although their programs are gone"), strings.Join(names, " "))
}

// Experimenting returns the id of an experiment that some process carries out on this machine, below the same home; ""
// when none does.
func (a Stores) Experimenting() string {
	id, _ := a.UnderWay()
	return id
}

// UnderWay is experimenting with the process. One that was killed is not under way, whoever has its number now.
func (a Stores) UnderWay() (id string, pid int) {
	entries, err := os.ReadDir(a.ExperimentsDir())
	if err != nil {
		return "", 0
	}
	for _, e := range entries {
		if pid, busy := trials.Busy(a.ExperimentDir(e.Name())); busy {
			return e.Name(), pid
		}
	}
	return "", 0
}

// SeriesDir returns where the service's series are, or would be.
func (a *App) SeriesDir() string { return filepath.Join(a.Home, "store", "series") }

// HistoryPath returns where the history's file is, or would be.
func (a *App) HistoryPath() string { return filepath.Join(a.Home, "store", "history.db") }
