package service

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/discovery"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Inventory is the targets that may be watched, and the passwords that are kept for them.
type Inventory struct {
	app     *app.App
	ledger  *ledger.Ledger
	log     *slog.Logger
	looking discovery.Options
	fleet   *Fleet
	trouble *throttle
	seek    discovery.Seeker

	passwords sync.Mutex // held while a file with a password has no target yet
}

// Discover looks for servers on this machine; within a few seconds the answer is the one of before. Who was refused a
// login is remembered for longer, until something is added, removed or inspected with success.
func (s *Inventory) Discover(ctx context.Context) (discovery.Discovery, error) {
	return s.seek.Discover(ctx, s.app, s.looking, s.fleet.identities)
}

// Adopt takes what can be logged in to into the inventory, as discovery.Adopt, when that is empty.
func (s *Inventory) Adopt(ctx context.Context) (taken []discovery.Found, d discovery.Discovery, err error) {
	if d, err = s.Discover(ctx); err != nil {
		return nil, d, err
	}
	if all, err := s.ledger.Targets(ctx); err != nil || len(all) > 0 {
		return nil, d, err
	}
	taken, err = discovery.Adopt(ctx, s.app, d)
	if len(taken) > 0 {
		s.seek.Forget()
	}
	return taken, d, err
}

// AddTarget puts a server into the inventory, see app.App.AddTarget. What it may log in with is what Allow leaves. Its
// statements are redacted as redact says; nil leaves it to what the inventory has under that name.
func (s *Inventory) AddTarget(ctx context.Context, t ledger.Target, redact *bool, replace bool) (ledger.Target, error) {
	t, err := s.app.Allow(ctx, t)
	inventory := app.Inventory{App: s.app}
	if err == nil && redact == nil {
		var was ledger.Target
		was, err = inventory.Remembered(ctx, t.Name)
		redact = &was.Redact
	}
	if err == nil {
		t.Redact = *redact
		t, err = inventory.AddTarget(ctx, t, replace)
	}
	if err != nil {
		return t, err
	}
	s.seek.Forget() // not before, for a search meanwhile would keep the inventory of before
	s.tidyPasswords(ctx)
	s.fleet.followed(ctx, t)
	return t, nil
}

// Redact has a target's statements lose their literals from now on, or keep them again. What was stored before stays.
func (s *Inventory) Redact(ctx context.Context, name string, redact bool) (ledger.Target, error) {
	t, err := app.Inventory{App: s.app}.Redact(ctx, name, redact)
	if err == nil {
		s.fleet.followed(ctx, t)
	}
	return t, err
}

// RemoveTarget takes a server off the inventory. What was stored about it stays.
func (s *Inventory) RemoveTarget(ctx context.Context, name string) error {
	if err := s.ledger.RemoveTarget(ctx, name); err != nil {
		return err
	}
	s.seek.Forget()
	s.tidyPasswords(ctx)
	return nil
}

// Inspect tries to reach a server as app.App.Inspect does. What it logs in with is what Allow leaves.
func (s *Inventory) Inspect(ctx context.Context, t ledger.Target) (app.Checked, error) {
	if t.URL == "" && strings.Contains(t.Name, "://") {
		return app.Checked{}, &app.UnknownTargetError{Text: t.Name}
	}
	asked := t
	if t.URL != "" {
		var err error
		if t, err = s.app.Allow(ctx, t); err != nil {
			return app.Checked{}, err
		}
	}
	c, err := app.Inspection{App: s.app}.Inspect(ctx, t)
	if !c.Reached && c.Create != nil && t.Defaults != asked.Defaults { // refused for want of a password
		c.Fix = "no password was sent: passwords of " + s.passwordsOf(ctx, t.URL) + " go only to the server " +
			"that Dyno's user has them for. Fix: put user, password and host into a file in " + s.app.Credentials() +
			" and name it, or run `dyno target add` on Dyno's machine"
	}
	if c.Reached && t.URL != "" { // a search may have been refused what is granted now
		s.seek.Forget()
	}
	return c, err
}

// passwordsOf says where the clients for a server read passwords.
func (s *Inventory) passwordsOf(ctx context.Context, url string) string {
	const ours = "DYNO_PASSWORD"
	f, err := app.Inspection{App: s.app}.Family(ctx, url)
	if x, ok := f.(family.Finder); ok && err == nil {
		own, _ := x.Own(s.app.Environ) // what is wrong with the files is told elsewhere
		return own.Passwords[0] + ", " + ours + " and " + own.Passwords[1]
	}
	return ours
}
