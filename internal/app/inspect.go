package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"

	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// Inspection tells what can be observed on a server, and what its account may do.
type Inspection struct{ *App }

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
	// Trust is how the server proved who it is; Doubt says in a sentence what is missing, and its
	// fix.
	Trust       endpoint.Trust  `json:"trust,omitzero"`
	Fingerprint string          `json:"fingerprint,omitzero"` // SHA256, of the certificate that is remembered
	Doubt       string          `json:"doubt,omitzero"`
	Sources     []source.Source `json:"sources"`
	Grants      []string        `json:"grants,omitempty"` // what the task watch needs, for that account
}

// doubt says what is missing where nobody vouches for a server.
func doubt(t endpoint.Trust) string {
	const fix = "Fix: add tls=verify-full&ssl-ca=FILE to the URL."
	switch t {
	case endpoint.TrustRemembered:
		return "The connection is encrypted, not verified: the server has the certificate of the first login. " + fix
	case endpoint.TrustNone:
		return "The connection is encrypted, not verified: any server that answers is trusted. " + fix
	case endpoint.TrustVerified:
	case endpoint.TrustPlain:
		return "The connection is neither encrypted nor verified. " + fix
	}
	return ""
}

// Unverified returns what is wanting in the way to a server, before it was reached; empty when its certificate is to be
// verified.
func Unverified(url string) string {
	s, err := endpoint.ParseURL(url)
	switch m := s.Mode(); {
	case err != nil || s.Network == "unix":
	case m == endpoint.TLSDisabled:
		return doubt(endpoint.TrustPlain)
	case m == endpoint.TLSPreferred, m == endpoint.TLSRequired && s.CA == "":
		return "Connections are encrypted if the server can, not verified; the certificate of the first login is " +
			"remembered. Fix: add tls=verify-full&ssl-ca=FILE to the URL."
	}
	return ""
}

// CheckOpen tells what can be observed on a server that was reached.
func (a Inspection) CheckOpen(ctx context.Context, t family.Server) (Checked, error) {
	f := t.About()
	c := Checked{
		Target: t.Spec().Name, Reached: true, Flavor: f.Flavor, Version: f.Version, Server: f.Server,
		User: f.User, TLS: f.TLS, Trust: f.Trust, Doubt: doubt(f.Trust), Sources: []source.Source{},
	}
	if c.Trust == endpoint.TrustRemembered {
		c.Fingerprint = t.Spec().Fingerprint()
	}
	sources, err := a.Check(ctx, t)
	if err != nil {
		return c, err
	}
	c.Sources = append(c.Sources, sources...)
	if slices.ContainsFunc(sources, func(s source.Source) bool {
		return s.State == source.Denied &&
			s.Name != source.Tables
	}) {
		c.Grants, _ = t.Family().Grants(f.Flavor, "watch", f.User, nil) // none for an account that cannot be named
	}
	if reason, fix := TooMighty(ctx, t); reason != "" {
		c.Sources = append(c.Sources, source.Source{
			Name: source.Plans, State: source.Denied, Reason: reason,
			Fix: fix,
		})
	}
	return c, nil
}

// inspectTime bounds a look at a server that somebody waits for.
const inspectTime = 15 * time.Second

// Inspect tries to reach a server of the inventory (only a name is given) or one that may be added to it, and tells
// what can be observed there. A server that cannot be reached is an answer, no error.
func (a Inspection) Inspect(ctx context.Context, t ledger.Target) (Checked, error) {
	none := Checked{Target: t.Name, Sources: []source.Source{}}
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	var spec endpoint.Spec
	var err error
	defer func() { a.Leave(spec) }()
	if t.URL == "" {
		spec, err = a.Resolve(ctx, t.Name, Login{Remote: true})
	} else {
		if t, spec, err = entry(t); err == nil {
			spec.OnlyTrusted = true
			spec, err = a.login(ctx, t, spec)
		}
	}
	var unknown *UnknownTargetError
	if errors.As(err, &unknown) || target.KindOf(err) == endpoint.BadTarget {
		return none, err
	}
	refused := func(err error) Checked {
		none.Reason, none.Fix = err.Error(), target.HintOf(err)
		if target.KindOf(err) == endpoint.AuthFailed {
			f := familyOf(spec)
			none.Flavor, none.Version = f.Greeting(ctx, spec)
			// the system's user of a jump host is another one
			here := spec.Network == "unix" && spec.Jump == (tunnel.Jump{})
			none.Create = f.NewAccount(cmp.Or(none.Flavor, dbms.Flavor(spec.Scheme)), here, a.SystemUser())
		}
		return none
	}
	if err != nil {
		return refused(err), nil
	}
	o, err := familyOf(spec).Open(ctx, spec)
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

// Grants returns the statements that give an account what a task needs, see family.Accounts. user may be name@host.
func Grants(flavor dbms.Flavor, task, user string, schemas []string) ([]string, error) {
	f, ok := FamilyOf(flavor)
	if !ok {
		f = families[0] // its error names the flavors
	}
	return f.Grants(flavor, task, user, schemas)
}

// Grantee is the account of a target that GRANT statements are for.
type Grantee struct {
	User   string      // name@host, as target.Grants takes it
	Flavor dbms.Flavor // of the server
	// why User is not known from the server, in a sentence; empty where it logged us in as this account
	Guess string
}

// Grantee returns the account that a server takes Dyno for. Of a server that cannot be logged in to it is the one that
// the server refused, or else the user in the inventory at localhost, and Guess says so. flavor is used where the
// server does not report its own; an error means that the target or its flavor is not known.
func (a Inspection) Grantee(ctx context.Context, text string, flavor dbms.Flavor, login Login) (Grantee, error) {
	spec, err := a.Resolve(ctx, text, login)
	if err != nil {
		return Grantee{}, err
	}
	f := familyOf(spec)
	t, err := f.Open(ctx, spec)
	if err == nil {
		defer t.Close()
		user, err := f.Account(t.About())
		return Grantee{User: user, Flavor: t.About().Flavor}, err
	}
	greeting, _ := f.Greeting(ctx, spec)
	g := Grantee{Flavor: cmp.Or(greeting, flavor)}
	if spec.User == "" || g.Flavor == "" || ctx.Err() != nil {
		return Grantee{}, err
	}
	user, sure := f.Refused(spec, err)
	if g.User = user; sure {
		g.Guess = fmt.Sprintf("Cannot log in to %s: the statements are for %s, the account that the server refused.",
			text, g.User)
	} else {
		g.Guess = fmt.Sprintf("Cannot log in to %s (%v): the statements are for %s, the user in the inventory; its "+
			"host is assumed.", text, err, g.User)
	}
	g.Guess += " Fix: name another account with --user name@host."
	return g, nil
}

// Check tries every source of figures once and tells what each gave.
func (a Inspection) Check(ctx context.Context, t family.Server) ([]source.Source, error) {
	s, err := t.Scraper(scrape.Options{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := s.Once(ctx)
	sources := r.Sources
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l, ok := t.(family.Limited); ok {
		if x, ok := l.Unseen(ctx, r.Samples); ok {
			sources = append(sources, x)
		}
	}
	c, ok := t.(family.Classifier)
	if !ok {
		return sources, nil
	}
	d, err := c.Classes(ctx, true)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	look, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := d.Begin(ctx); err != nil {
		return nil, err
	}
	if err := d.Run(look); err != nil && look.Err() == nil {
		return nil, err
	}
	_, more, err := d.End(ctx)
	return append(sources, more...), err
}

// TooMighty says what the account of a target means for plans when it may do too much, see family.Limited; "" when it
// may not.
func TooMighty(ctx context.Context, t family.Server) (reason, fix string) {
	if l, ok := t.(family.Limited); ok {
		return l.TooMighty(ctx)
	}
	return "", ""
}

// SystemUser is the account that logs in by unix_socket or auth_socket.
func (a Inspection) SystemUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return a.Environ("USER")
}

// ExplainText returns the plan of a statement as the server tells it. Only what EXPLAIN is known not to harm is asked;
// otherwise the text says why not.
func (a Inspection) ExplainText(ctx context.Context, name string, login Login, sql, db string) (string, error) {
	t, err := a.Open(ctx, name, login)
	if err != nil {
		return "", err
	}
	defer t.Close()
	planner, err := family.Need[family.Planner](t, "ask for a plan")
	if err != nil {
		return "", err
	}
	x, err := planner.Plans(ctx)
	if err != nil {
		return "", err
	}
	defer x.Close()
	p, err := x.Explain(ctx, class.ID(mytext.Fingerprint(sql)), db, sql)
	if err != nil {
		return "", err
	}
	if p.Error != "" {
		return p.Error, nil
	}
	return p.Raw, nil
}
