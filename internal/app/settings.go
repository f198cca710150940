package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/internal/target"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// Settings is how a service is set up, and what that costs.
type Settings struct {
	Version string          `json:"version"`
	Home    string          `json:"home"`
	Listen  string          `json:"listen,omitzero"`
	Started time.Time       `json:"started"`
	Every   float64         `json:"every_seconds"`  // between two readings of a target
	Targets []ledger.Target `json:"targets"`        // the inventory
	Fixed   bool            `json:"fixed,omitzero"` // the targets were named when the service was started: the inventory is not followed
	Keeping []Keeping       `json:"keeping"`
	Disk    Disk            `json:"disk"`
	Process OwnProcess      `json:"process"`
	Writes  []Elsewhere     `json:"remote_writes"`
	// Warnings tell what is wrong with the clock or went wrong inside the stores and did not stop them.
	Warnings []string `json:"warnings"`
}

// Keeping is how long one kind of things is kept, what that takes now and what it will take.
type Keeping struct {
	Kept
	Flag string `json:"flag,omitzero"` // of dyno serve, which sets it
	// Fixed says that the flag was given, so that nothing else changes it.
	Fixed bool `json:"fixed,omitzero"`
	// Days is how long it is kept; unknown: for ever.
	Days known.Value[float64] `json:"keep_days,omitzero"`
	// Limit bounds it on the disk, bytes.
	Limit known.Value[float64] `json:"limit_bytes,omitzero"`
	// Growth is bytes a day, measured; unknown before there is an hour of it.
	Growth known.Value[float64] `json:"growth_bytes_per_day,omitzero"`
	// Will is what it comes to at that pace when it is as old as it may get, bytes.
	Will    known.Value[float64] `json:"will_take_bytes,omitzero"`
	Targets []TargetShare        `json:"targets,omitempty"` // most first
}

// TargetShare is one target's part in what is kept. It is shared out, not counted: By tells how.
type TargetShare struct {
	Target string               `json:"target"`
	Share  float64              `json:"share"` // 0 to 1
	PerDay known.Value[float64] `json:"bytes_per_day,omitzero"`
	By     string               `json:"by"` // "series", "size of a state", "classes of an hour"
}

// Disk is the file system of Dyno's home, bytes.
type Disk struct {
	Total known.Value[uint64] `json:"total_bytes,omitzero"`
	Free  known.Value[uint64] `json:"free_bytes,omitzero"`
}

// OwnProcess is what this process takes of the machine, since it started.
type OwnProcess struct {
	PID    int                  `json:"pid"`
	Memory known.Value[uint64]  `json:"memory_bytes,omitzero"` // resident
	CPU    known.Value[float64] `json:"cpu_seconds,omitzero"`
	Read   known.Value[uint64]  `json:"read_bytes,omitzero"` // from disks
	Wrote  known.Value[uint64]  `json:"wrote_bytes,omitzero"`
	Uptime float64              `json:"uptime_seconds"`
}

// Elsewhere is another store that samples are sent to.
type Elsewhere struct {
	To      string    `json:"to"`
	Acked   time.Time `json:"acked,omitzero"`
	Samples uint64    `json:"samples"`
	Since   time.Time `json:"failing_since,omitzero"`
	Error   string    `json:"error,omitzero"`
}

// desk keeps what is dear to work out for a service's settings.
type desk struct {
	started time.Time
	seek    seeker

	mu   sync.Mutex
	at   time.Time
	kept []Keeping
}

// measureEvery is how old a measurement of what is kept may be.
const measureEvery = time.Minute

// Settings returns how the service is set up. What is kept is measured once a minute at most.
func (s *Service) Settings(ctx context.Context) (Settings, error) {
	x := Settings{
		Version: s.app.Version, Home: s.app.Home, Started: s.desk.started, Every: s.Every().Seconds(), Targets: []ledger.Target{}, Fixed: len(s.o.Targets) > 0,
		Writes: []Elsewhere{}, Process: s.own(), Warnings: append([]string{}, s.Warnings()...),
	}
	all, err := s.ledger.Targets(ctx)
	if err != nil {
		return x, err
	}
	x.Targets = append(x.Targets, all...)
	if x.Keeping, err = s.keeping(ctx); err != nil {
		return x, err
	}
	if total, free, err := host.Room(s.app.Home); err == nil {
		x.Disk = Disk{known.Of(total), known.Of(free)}
	}
	for _, w := range s.Writers() {
		e := Elsewhere{To: w.To, Acked: w.Acked, Samples: w.Samples, Since: w.Since}
		if w.Err != nil {
			e.Error = w.Err.Error()
		}
		x.Writes = append(x.Writes, e)
	}
	return x, nil
}

func (s *Service) own() OwnProcess {
	p := OwnProcess{PID: os.Getpid(), Uptime: time.Since(s.desk.started).Seconds()}
	if r, err := host.Process(p.PID); err == nil {
		p.Memory, p.CPU, p.Read, p.Wrote = known.Of(r.RSSBytes), known.Of(r.UserSec+r.SysSec), r.ReadBytes, r.WriteBytes
	}
	return p
}

func (s *Service) keeping(ctx context.Context) ([]Keeping, error) {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	if s.desk.kept != nil && time.Since(s.desk.at) < measureEvery {
		return s.desk.kept, nil
	}
	kept, err := s.app.Usage(ctx)
	if err != nil {
		return nil, err
	}
	all := keepingOf(kept, s.o.Series, s.o.History)
	for i, k := range all {
		all[i].Fixed = slices.Contains(s.o.Fixed, strings.TrimPrefix(k.Flag, "--"))
	}
	s.share(ctx, all)
	s.desk.kept, s.desk.at = all, time.Now()
	return all, nil
}

// keepingOf puts beside what is kept how long it stays and what that will come to.
func keepingOf(kept []Kept, so series.Options, ho history.Options) []Keeping {
	fillAges(&so, &ho)
	days := func(d time.Duration) known.Value[float64] { return known.Of(d.Hours() / 24) }
	all := []Keeping{}
	for _, k := range kept {
		x := Keeping{Kept: k}
		if k.PerDay > 0 {
			x.Growth = known.Of(k.PerDay)
		}
		x.PerDay = 0 // reported once
		switch k.Kind {
		case "series, every second":
			x.Flag, x.Days = "--keep", days(so.Retention)
			if so.MaxBytes > 0 {
				x.Limit = known.Of(float64(so.MaxBytes) * 0.8)
			}
		case "series, by the minute":
			x.Flag, x.Days = "--keep-minutes", days(so.MinuteRetention)
			if so.MaxBytes > 0 {
				x.Limit = known.Of(float64(so.MaxBytes) * 0.2)
			}
		case "states":
			x.Flag, x.Days, x.Limit = "--keep-states", days(ho.StateAge), known.Of(float64(cmp.Or(ho.StateBytes, 2<<30)))
		case "classes":
			x.Flag, x.Days, x.Limit = "--keep-classes", days(ho.ClassAge), known.Of(float64(cmp.Or(ho.ClassBytes, 1<<30)))
		case "plans", "examples":
			x.Flag, x.Days = "--keep-classes", days(ho.ClassAge)
		}
		if g, ok := x.Growth.Get(); ok {
			if d, ok := x.Days.Get(); ok {
				will := max(g*d, float64(k.Bytes))
				if l, ok := x.Limit.Get(); ok {
					will = min(will, l)
				}
				x.Will = known.Of(will)
			}
		}
		all = append(all, x)
	}
	return all
}

// share tells which part of what is kept is which target's.
func (s *Service) share(ctx context.Context, all []Keeping) {
	now := time.Now()
	fleet := s.Fleet()
	weigh := func(kind, by string, weight func(Member) float64) {
		i := slices.IndexFunc(all, func(k Keeping) bool { return k.Kind == kind })
		if i < 0 {
			return
		}
		sum := 0.0
		var shares []TargetShare
		for _, m := range fleet {
			if w := weight(m); w > 0 {
				sum += w
				shares = append(shares, TargetShare{Target: m.Entry.Name, Share: w, By: by})
			}
		}
		for j := range shares {
			shares[j].Share /= sum
			if g, ok := all[i].Growth.Get(); ok {
				shares[j].PerDay = known.Of(g * shares[j].Share)
			}
		}
		slices.SortStableFunc(shares, func(a, b TargetShare) int { return cmp.Compare(b.Share, a.Share) })
		all[i].Targets = shares
	}
	live := func(m Member) float64 {
		n, _ := s.Newest(m.Entry.Name)
		return float64(len(n))
	}
	weigh("series, every second", "series", live)
	weigh("series, by the minute", "series", live)
	weigh("states", "size of a state", func(m Member) float64 {
		if m.State == nil {
			return 0
		}
		doc, _ := state.Encode(m.State)
		return float64(len(doc))
	})
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // of many targets with many classes it stays unknown
	defer cancel()
	counts := map[string]float64{}
	for _, m := range fleet {
		cs, _, err := s.History.Classes(ctx, m.Entry.Name, now.Add(-time.Hour), now, 0)
		if err != nil {
			return
		}
		counts[m.Entry.Name] = float64(len(cs))
	}
	weigh("classes", "classes of an hour", func(m Member) float64 { return counts[m.Entry.Name] })
}

// Discover looks for servers on this machine; within a few seconds the answer is the one of before. Who was refused a login is remembered
// for longer, until something is added, removed or inspected with success.
func (s *Service) Discover(ctx context.Context) (Discovery, error) {
	return s.desk.seek.find(ctx, 5*time.Second, func(ctx context.Context, m *memory) (Discovery, error) {
		return s.app.discover(ctx, s.o.Looking, m, s.identities())
	})
}

// identities are the servers that were reached, by target, as target.Facts.Server.
func (s *Service) identities() map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := map[string]string{}
	for name, m := range s.fleet {
		m.mu.RLock()
		if m.server != "" {
			all[name] = m.server
		}
		m.mu.RUnlock()
	}
	return all
}

// Adopt takes what can be logged in to into the inventory, as App.Adopt, when that is empty.
func (s *Service) Adopt(ctx context.Context) (taken []Found, d Discovery, err error) {
	if d, err = s.Discover(ctx); err != nil {
		return nil, d, err
	}
	if all, err := s.ledger.Targets(ctx); err != nil || len(all) > 0 {
		return nil, d, err
	}
	taken, err = s.app.Adopt(ctx, d)
	if len(taken) > 0 {
		s.desk.seek.forget()
	}
	return taken, d, err
}

// AddTarget puts a server into the inventory, see App.AddTarget. What it may log in with is what allow leaves.
func (s *Service) AddTarget(ctx context.Context, t ledger.Target, replace bool) (ledger.Target, error) {
	t, err := s.app.allow(ctx, t)
	if err == nil {
		t, err = s.app.AddTarget(ctx, t, replace)
	}
	if err != nil {
		return t, err
	}
	s.desk.seek.forget() // not before, for a search meanwhile would keep the inventory of before
	s.tidyPasswords(ctx)
	s.followed(ctx, t)
	return t, nil
}

// followed waits until an entry of the inventory is watched as it is now: whoever wrote it asks for it next. Run looks at the inventory every
// two seconds.
func (s *Service) followed(ctx context.Context, t ledger.Target) {
	if len(s.o.Targets) > 0 {
		return
	}
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		if m, ok := s.Find(t.Name); ok && m.Entry == t || !wait(ctx, 50*time.Millisecond) {
			break
		}
	}
}

// readyTime bounds Ready: what is asked for answers, and be it with nothing.
const readyTime = 2 * time.Second

// Ready waits until Run has begun with the targets that there are, so that nobody is told of an empty fleet who asks at once.
func (s *Service) Ready(ctx context.Context) {
	names := slices.Clone(s.o.Targets)
	if len(names) == 0 {
		all, err := s.ledger.Targets(ctx)
		if err != nil {
			return // Run tells
		}
		for _, t := range all {
			names = append(names, t.Name)
		}
	}
	missing := func(name string) bool { _, ok := s.Find(name); return !ok }
	for end := time.Now().Add(readyTime); slices.ContainsFunc(names, missing) && time.Now().Before(end); {
		if !wait(ctx, 10*time.Millisecond) {
			return
		}
	}
}

// RemoveTarget takes a server off the inventory. What was stored about it stays.
func (s *Service) RemoveTarget(ctx context.Context, name string) error {
	if err := s.ledger.RemoveTarget(ctx, name); err != nil {
		return err
	}
	s.desk.seek.forget()
	s.tidyPasswords(ctx)
	return nil
}

// Inspect tries to reach a server as App.Inspect does. What it logs in with is what allow leaves.
func (s *Service) Inspect(ctx context.Context, t ledger.Target) (Checked, error) {
	if t.URL == "" && strings.Contains(t.Name, "://") {
		return Checked{}, &UnknownTargetError{Text: t.Name}
	}
	asked := t
	if t.URL != "" {
		var err error
		if t, err = s.app.allow(ctx, t); err != nil {
			return Checked{}, err
		}
	}
	c, err := s.app.Inspect(ctx, t)
	if !c.Reached && c.Create != nil && t.Defaults != asked.Defaults { // refused for want of a password
		c.Fix = "no password was sent: passwords of ~/.my.cnf, DYNO_PASSWORD and MYSQL_PWD go only to the server that the defaults files name. " +
			"Fix: put user, password and host into a file in " + s.app.credentials() + " and name it, or run `dyno target add` on Dyno's machine"
	}
	if c.Reached && t.URL != "" { // a search may have been refused what is granted now
		s.desk.seek.forget()
	}
	return c, err
}

// ErrTargetExists is the answer to adding a target under a name that another has.
var ErrTargetExists = errors.New("the inventory has a target of that name")

// AddTarget puts a server into the inventory: how to reach it and where its password is, never the password. With replace it may take the
// place of another of that name. What is written wrongly is a *target.Error of kind BadTarget.
func (a *App) AddTarget(ctx context.Context, t ledger.Target, replace bool) (ledger.Target, error) {
	if err := checkName(t.Name); err != nil {
		return t, err
	}
	t, _, err := a.entry(t)
	if err != nil {
		return t, err
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return t, err
	}
	if replace {
		return t, l.PutTarget(ctx, t)
	}
	there, err := l.AddTarget(ctx, t)
	if err == nil && there != t {
		err = fmt.Errorf("%w: %s is %s", ErrTargetExists, t.Name, there.URL)
	}
	return t, err
}

// Remembered returns what the inventory has under a name; of a name that it has not, a zero Target.
func (a *App) Remembered(ctx context.Context, name string) (ledger.Target, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return ledger.Target{}, err
	}
	t, err := l.Target(ctx, name)
	if errors.Is(err, ledger.ErrNotFound) {
		return ledger.Target{}, nil
	}
	return t, err
}

// checkName holds names to what can be typed and told apart from a URL or an option: hints hold commands with them, which people give
// to their shell.
func checkName(name string) error {
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	first, _ := utf8.DecodeRuneInString(name)
	if !word(first) || len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool {
		return !word(r) && !unicode.IsMark(r) && !strings.ContainsRune("._-+@%,=", r)
	}) {
		return &target.Error{
			Op: "add the target", Kind: target.BadTarget, Err: fmt.Errorf("target name %q: it must be letters and digits, after the first also . _ - + @ %% , and =", clip(name, 100)),
			Hint: "a short word is best: shop, db1",
		}
	}
	return nil
}

func clip(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}

// entry brings a line of the inventory into its one form, and refuses a password in it.
func (a *App) entry(t ledger.Target) (ledger.Target, target.Spec, error) {
	spec, err := target.ParseURL(t.URL)
	if err != nil {
		return t, spec, err
	}
	bad := func(text, hint string) (ledger.Target, target.Spec, error) {
		return t, spec, &target.Error{Op: "add the target", Kind: target.BadTarget, Err: errors.New(text), Hint: hint}
	}
	switch {
	case spec.PasswordInURL:
		t.URL = ""
		return bad("the URL holds a password, which Dyno does not store", "leave it out: put user and password into a file like my.cnf that only you can read and name that file, or name an environment variable of dyno's that holds it")
	case t.Defaults != "" && t.PasswordEnv != "":
		return bad("a defaults file and an environment variable are both given", "one of them says how to log in")
	case strings.ContainsFunc(t.PasswordEnv, func(r rune) bool { return r == '=' || !unicode.IsPrint(r) || unicode.IsSpace(r) }):
		return bad("that is not a name of an environment variable", "give the variable's name, not the password itself")
	case strings.ContainsFunc(t.Defaults, unicode.IsControl):
		return bad("the name of the defaults file holds a control character", "")
	}
	t.URL = spec.URL()
	return t, spec, nil
}

// Checked is what can be observed on a server.
type Checked struct {
	Target  string      `json:"target,omitzero"`
	Reached bool        `json:"reached"`
	Reason  string      `json:"reason,omitzero"` // why it was not
	Fix     string      `json:"fix,omitzero"`
	Create  []string    `json:"create_account,omitempty"` // where the account was refused
	Flavor  dbms.Flavor `json:"flavor,omitzero"`
	Version string      `json:"version,omitzero"`
	Server  string      `json:"server,omitzero"` // distinguishes it from any other
	User    string      `json:"user,omitzero"`
	TLS     string      `json:"tls,omitzero"` // cipher
	// Trust is how the server proved who it is, see target.Trust; Doubt says in a sentence what is wanting, and what would mend it.
	Trust       target.Trust      `json:"trust,omitzero"`
	Fingerprint string            `json:"fingerprint,omitzero"` // SHA256, of the certificate that is remembered
	Doubt       string            `json:"doubt,omitzero"`
	Sources     []snapshot.Source `json:"sources"`
	Grants      []string          `json:"grants,omitempty"` // what the task watch needs, for that account
}

// doubt says what is missing where nobody vouches for a server.
func doubt(t target.Trust) string {
	const fix = "Fix: add tls=verify-full&ssl-ca=FILE to the URL."
	switch t {
	case target.TrustRemembered:
		return "The connection is encrypted, not verified: the server has the certificate of the first login. " + fix
	case target.TrustNone:
		return "The connection is encrypted, not verified: any server that answers is trusted. " + fix
	case target.TrustVerified:
	case target.TrustPlain:
		return "The connection is neither encrypted nor verified. " + fix
	}
	return ""
}

// Unverified returns what is wanting in the way to a server, before it was reached; empty when its certificate is to be verified.
func Unverified(url string) string {
	s, err := target.ParseURL(url)
	switch m := s.Mode(); {
	case err != nil || s.Network == "unix":
	case m == target.TLSDisabled:
		return doubt(target.TrustPlain)
	case m == target.TLSPreferred, m == target.TLSRequired && s.CA == "":
		return "Connections are encrypted if the server can, not verified; the certificate of the first login is remembered. Fix: add tls=verify-full&ssl-ca=FILE to the URL."
	}
	return ""
}

// CheckOpen tells what can be observed on a server that was reached.
func (a *App) CheckOpen(ctx context.Context, t *target.Target) (Checked, error) {
	f := t.Facts()
	c := Checked{Target: t.Spec().Name, Reached: true, Flavor: f.Flavor, Version: f.Version.String(), Server: f.Server, User: f.User, TLS: f.TLS, Trust: f.Trust, Doubt: doubt(f.Trust), Sources: []snapshot.Source{}}
	if c.Trust == target.TrustRemembered {
		c.Fingerprint = t.Spec().Fingerprint()
	}
	sources, err := a.Check(ctx, t)
	if err != nil {
		return c, err
	}
	c.Sources = append(c.Sources, sources...)
	if slices.ContainsFunc(sources, func(s snapshot.Source) bool { return s.State == snapshot.Denied && s.Name != "tables" }) {
		c.Grants, _ = target.Grants(f.Flavor, "watch", f.User, nil) // of an account that cannot be named there are none
	}
	if reason, fix := tooMighty(ctx, t); reason != "" {
		c.Sources = append(c.Sources, snapshot.Source{Name: "plans", State: snapshot.Denied, Reason: reason, Fix: fix})
	}
	return c, nil
}

// inspectTime bounds a look at a server that somebody waits for.
const inspectTime = 15 * time.Second

// Inspect tries to reach a server of the inventory (only a name is given) or one that may be added to it, and tells what can be observed
// there. A server that cannot be reached is an answer, no error.
func (a *App) Inspect(ctx context.Context, t ledger.Target) (Checked, error) {
	none := Checked{Target: t.Name, Sources: []snapshot.Source{}}
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	var spec target.Spec
	var err error
	defer func() { a.leave(spec) }()
	if t.URL == "" {
		spec, err = a.Resolve(ctx, t.Name, Login{Remote: true})
	} else {
		if t, spec, err = a.entry(t); err == nil {
			spec.OnlyTrusted = true
			spec, err = a.login(ctx, t, spec)
		}
	}
	var unknown *UnknownTargetError
	if errors.As(err, &unknown) || target.KindOf(err) == target.BadTarget {
		return none, err
	}
	refused := func(err error) Checked {
		none.Reason, none.Fix = err.Error(), target.HintOf(err)
		if target.KindOf(err) == target.AuthFailed {
			none.Flavor, none.Version = greeted(ctx, spec)
			here := spec.Network == "unix" && spec.Jump == (tunnel.Jump{}) // the system's user of a jump host is another one
			none.Create = AccountSQL(cmp.Or(none.Flavor, dbms.MySQL), here, a.systemUser())
		}
		return none
	}
	if err != nil {
		return refused(err), nil
	}
	o, err := target.Open(ctx, spec)
	if err != nil {
		return refused(err), nil
	}
	defer o.Close()
	c, err := a.CheckOpen(ctx, o)
	if err != nil {
		return refused(err), nil
	}
	c.Target = t.Name
	return c, nil
}

// Grants returns the statements that give an account what a task needs, see target.Grants. user may be name@host.
func Grants(flavor dbms.Flavor, task, user string, schemas []string) ([]string, error) {
	if name, host, ok := strings.Cut(user, "@"); ok && !strings.HasPrefix(user, "'") {
		user = "'" + strings.ReplaceAll(name, "'", "''") + "'@'" + strings.ReplaceAll(host, "'", "''") + "'"
	}
	return target.Grants(flavor, task, user, schemas)
}

// Grantee is the account of a target that GRANT statements are for.
type Grantee struct {
	User   string      // name@host, as target.Grants takes it
	Flavor dbms.Flavor // of the server
	Guess  string      // why User is not known from the server, in a sentence; empty where it logged us in as this account
}

// Grantee returns the account that a server takes Dyno for. Of a server that cannot be logged in to it is the one that the server refused,
// or else the user in the inventory at localhost, and Guess says so. flavor is used where the server does not report its own; an error means
// that the target or its flavor is not known.
func (a *App) Grantee(ctx context.Context, text string, flavor dbms.Flavor, login Login) (Grantee, error) {
	spec, err := a.Resolve(ctx, text, login)
	if err != nil {
		return Grantee{}, err
	}
	t, err := target.Open(ctx, spec)
	if err == nil {
		defer t.Close()
		f := t.Facts()
		at := strings.LastIndexByte(f.User, '@')
		if at < 0 {
			return Grantee{}, fmt.Errorf("the account in use is not reported as user@host: %q", f.User)
		}
		return Grantee{User: target.QuoteAccount(f.User[:at], f.User[at+1:]), Flavor: f.Flavor}, nil
	}
	greeting, _ := greeted(ctx, spec)
	g := Grantee{Flavor: cmp.Or(greeting, flavor)}
	if spec.User == "" || g.Flavor == "" || ctx.Err() != nil {
		return Grantee{}, err
	}
	if host := target.RefusedHost(err, spec.User); host != "" {
		g.User = target.QuoteAccount(spec.User, host)
		g.Guess = fmt.Sprintf("Cannot log in to %s: the statements are for %s, the account that the server refused.", text, g.User)
	} else {
		g.User = target.QuoteAccount(spec.User, "localhost")
		g.Guess = fmt.Sprintf("Cannot log in to %s (%v): the statements are for %s, the user in the inventory; its host is assumed.", text, err, g.User)
	}
	g.Guess += " Fix: name another account with --user name@host."
	return g, nil
}
