package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/discovery"
	"github.com/dyno-perf/dyno/internal/httpapi"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/target"
)

func (e *env) serveSettings(s *service.Service, listen string) httpapi.Settings {
	return front{s.Inventory, s, listen}
}

// front gives httpapi what it asks for, with its errors.
type front struct {
	*service.Inventory
	service *service.Service
	listen string
}

func (x front) Settings(ctx context.Context) (service.Settings, error) {
	all, err := x.service.Settings(ctx)
	all.Listen = x.listen
	return all, err
}

func (x front) Grants(flavor dbms.Flavor, task, user string, schemas []string) ([]string, error) {
	all, err := app.Grants(flavor, task, user, schemas)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", httpapi.ErrBadRequest, err)
	}
	return all, nil
}

func (x front) AddTarget(ctx context.Context, t ledger.Target, replace bool) (ledger.Target, error) {
	t, err := x.service.Inventory.AddTarget(ctx, t, replace)
	return t, settingError(err)
}

func (x front) Inspect(ctx context.Context, t ledger.Target) (app.Checked, error) {
	c, err := x.service.Inventory.Inspect(ctx, t)
	return c, settingError(err)
}

func (x front) SetTargetPassword(ctx context.Context, name, url, password string) (ledger.Target, error) {
	t, err := x.service.Inventory.SetTargetPassword(ctx, name, url, password)
	return t, settingError(err)
}

func (x front) SetRetention(name string, days float64) error {
	err := x.service.Retention.SetRetention(name, days)
	switch {
	case errors.Is(err, service.ErrBadRetention):
		return fmt.Errorf("%w: %w", httpapi.ErrBadRequest, err)
	case errors.Is(err, service.ErrFixedRetention):
		return fmt.Errorf("%w: %w", httpapi.ErrConflict, err)
	}
	return err
}

func (x front) RemoveTarget(ctx context.Context, name string) error {
	return settingError(x.service.Inventory.RemoveTarget(ctx, name))
}

func settingError(err error) error {
	var unknown *app.UnknownTargetError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrNotFound), errors.Is(err, sandbox.ErrNotFound), errors.Is(err, sandbox.ErrBadName),
		errors.As(err, &unknown):
		return fmt.Errorf("%w: %w", httpapi.ErrNotFound, err)
	case errors.Is(err, app.ErrTargetExists):
		return fmt.Errorf("%w: %w", httpapi.ErrConflict, err)
	case target.KindOf(err) == target.BadTarget, target.KindOf(err) == target.Unsupported:
		return fmt.Errorf("%w: %w", httpapi.ErrBadRequest, err)
	}
	return err
}

// discovering reads the flag --discover: whether servers are looked for, or where alone.
func discovering(flag string) (discovery.Options, error) {
	switch flag {
	case "false", "no", "off", "0":
		return discovery.Options{None: true}, nil
	case "true", "yes", "on", "1":
		return discovery.Options{}, nil
	}
	only := strings.Split(flag, ",")
	for _, at := range only {
		if !isPlace(at) {
			return discovery.Options{}, usagef("--discover %q: must be true, false, or paths of sockets and "+
				"host:port, with commas and no blanks between: /run/mysqld/mysqld.sock,127.0.0.1:3307", flag)
		}
	}
	return discovery.Options{Only: only}, nil
}

// isPlace reports whether a server could listen there: at the absolute path of a socket, or at host:port.
func isPlace(at string) bool {
	if filepath.IsAbs(at) {
		return !strings.ContainsFunc(at, unicode.IsControl)
	}
	host, port, err := net.SplitHostPort(at)
	n, bad := strconv.ParseUint(port, 10, 16)
	_, no := netip.ParseAddr(host)
	return err == nil && bad == nil && n > 0 && (no == nil || hostForm.MatchString(host))
}

// greet fills an empty inventory with the servers of this machine that can be logged in to, and says so.
func (e *env) greet(ctx context.Context, s *service.Service, discover bool) {
	l, err := e.app.Ledger(ctx)
	if err != nil {
		return // whatever needs it tells
	}
	if all, err := l.Targets(ctx); err != nil || len(all) > 0 {
		return
	}
	const byHand = "`dyno target add NAME URL` adds a server, which is watched from then on."
	if !discover {
		e.remark("The inventory is empty: " + byHand)
		return
	}
	taken, d, err := s.Inventory.Adopt(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		e.remark("Search for servers on this machine: %v", err)
	}
	for _, f := range taken {
		e.remark("Found %s %s at %s; watching it as %s, logged in as %s. `dyno target rm %[4]s` removes it.", f.Flavor,
			f.Version, f.Address, f.Name, f.User)
		if f.Reason != "" {
			e.remark("WARNING: %s. Fix: run this on %s, then `dyno target add %[2]s URL --replace` with that "+
				"account:\n  %s;", f.Reason, f.Name, strings.Join(f.Create, ";\n  "))
		}
	}
	if len(taken) > 0 {
		return
	}
	for _, f := range d.Found {
		e.remark("Found %s at %s, but cannot log in: %s", cmp.Or(strings.TrimSpace(string(f.Flavor)+" "+f.Version),
			"a server"), f.Address, f.Reason)
	}
	if len(d.Found) == 0 {
		e.remark("The inventory is empty, and no server was found on this machine: %s", byHand)
	} else {
		e.remark("The inventory is empty: the Welcome page of the web UI says what each of them is missing, or %s",
			byHand)
	}
}
