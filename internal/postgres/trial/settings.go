package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
)

// reloadTime bounds the wait for a server that was told to read its settings again.
const reloadTime = 10 * time.Second

var settingName = lazyregexp.New(`^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$`)

// Apply implements family.TrialSettings with ALTER SYSTEM. What was set so before, also in an earlier run of the server
// on the same data, is undone first: the file that ALTER SYSTEM writes holds nothing but what this trial sets.
func (s server) Apply(ctx context.Context, set, was map[string]string) (map[string]string, error) {
	return was, s.within(ctx, func(c *pgx.Conn) error {
		var before int
		err := c.QueryRow(ctx, "SELECT count(*) FROM pg_file_settings WHERE sourcefile LIKE '%/postgresql.auto.conf'").
			Scan(&before)
		if err != nil {
			return s.Wrap("read the settings of", err)
		}
		if before == 0 && len(set) == 0 {
			return nil
		}
		if _, err := c.Exec(ctx, "ALTER SYSTEM RESET ALL"); err != nil {
			return s.Wrap("change", err)
		}
		return s.change(ctx, c, set)
	})
}

// change sets settings and waits until they are in effect in this session, as in all others from their next statement
// on. After an error nothing is left that ALTER SYSTEM has set: what a later server reads from there, nobody asked for.
func (s server) change(ctx context.Context, c *pgx.Conn, set map[string]string) (err error) {
	names := slices.Sorted(maps.Keys(set))
	for _, name := range names {
		if err := s.settable(ctx, c, name); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.forget(ctx))
		}
	}()
	for _, name := range names {
		text, err := alter(name, set[name])
		if err == nil {
			_, err = c.Exec(ctx, text)
			err = s.Wrap("change", err)
		}
		if err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	if err := reload(ctx, c); err != nil {
		return s.Wrap("change", err)
	}
	return nil
}

// settable returns why ALTER SYSTEM would put no value of a setting into effect.
func (s server) settable(ctx context.Context, c *pgx.Conn, name string) error {
	var changes, source string
	err := c.QueryRow(ctx, "SELECT context, source FROM pg_settings WHERE lower(name) = lower($1)", name).
		Scan(&changes, &source)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // of a module that is loaded when it is needed
		return nil
	case err != nil:
		return s.Wrap("change", err)
	case changes == "postmaster", changes == "internal":
		return errors.New("it takes a restart of the server: put it in settings")
	case source == "command line":
		return errors.New("the server was started with a value of it, which wins: leave it out of settings")
	}
	return nil
}

// forget undoes all that ALTER SYSTEM has set, also when ctx has ended.
func (s server) forget(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reloadTime)
	defer cancel()
	return s.within(ctx, func(c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "ALTER SYSTEM RESET ALL"); err != nil {
			return s.Wrap("undo the settings of", err)
		}
		return s.Wrap("undo the settings of", reload(ctx, c))
	})
}

func alter(name, value string) (string, error) {
	name = strings.ToLower(name)
	if !settingName.MatchString(name) {
		return "", errors.New("not a setting's name")
	}
	return "ALTER SYSTEM SET " + name + " = '" + strings.ReplaceAll(value, "'", "''") + "'", nil
}

// reload has the server read its settings again and waits until this session has.
func reload(ctx context.Context, c *pgx.Conn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, reloadTime, errors.New("it did not reload its settings within 10 s"))
	defer cancel()
	var before, now time.Time
	if err := c.QueryRow(ctx, "SELECT pg_conf_load_time() FROM pg_reload_conf()").Scan(&before); err != nil {
		return err
	}
	for {
		if err := c.QueryRow(ctx, "SELECT pg_conf_load_time()").Scan(&now); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if now.After(before) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
}

// switcher is a family.SettingsSwitch.
type switcher struct {
	s      server
	c      *pgx.Conn
	names  []string
	groups []map[string]string
}

// Switch implements family.TrialSettings.
func (s server) Switch(ctx context.Context, groups []map[string]string) (family.SettingsSwitch, error) {
	c, err := s.ConnFor(ctx, conn.ForLoad) // what it shows is no setting of Dyno's own
	if err != nil {
		return nil, err
	}
	return &switcher{s, c, slices.Sorted(maps.Keys(groups[0])), groups}, nil
}

// To implements family.SettingsSwitch.
func (w *switcher) To(ctx context.Context, group int) ([]string, error) {
	if err := w.s.change(ctx, w.c, w.groups[group]); err != nil {
		return nil, err
	}
	out := make([]string, len(w.names))
	for i, name := range w.names {
		if err := w.c.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Text implements family.SettingsSwitch.
func (w *switcher) Text(group int) string {
	var all []string
	for _, name := range w.names {
		text, _ := alter(name, w.groups[group][name]) // To reports its error
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// Close implements family.SettingsSwitch.
func (w *switcher) Close() { w.s.End(w.c) }
