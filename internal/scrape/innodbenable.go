package scrape

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"dyno/internal/sqltext"
	"dyno/internal/target"
)

// EnableInnodb switches counters of information_schema.INNODB_METRICS on: by name, by module ("module_log"), with % as a wildcard, or
// "all". It changes the server, for all its users; nothing in this package calls it unasked. A server that restarts forgets it.
//
// restore switches off what was off before and is on because of this call, and nothing else. It may be called again after an error.
// The account needs SUPER, or SYSTEM_VARIABLES_ADMIN where there is that. When some counter cannot be switched on those before it
// are restored.
func EnableInnodb(ctx context.Context, t *target.Target, names ...string) (restore func(context.Context) error, err error) {
	for _, n := range names {
		if n == "" || strings.Trim(strings.ToLower(n), "abcdefghijklmnopqrstuvwxyz0123456789_%") != "" {
			return nil, fmt.Errorf("switch InnoDB counters on: %q is no name of a counter, as module_log, lock_timeouts or all", n)
		}
	}
	s, err := t.Session(ctx, target.SessionOptions{Purpose: target.ForChanges})
	if err != nil {
		return nil, fmt.Errorf("switch InnoDB counters on: %w", err)
	}
	defer s.Close()
	before, err := innodbEnabled(ctx, s)
	if err != nil {
		return nil, err
	}
	var done map[string]bool
	restore = func(ctx context.Context) error {
		if len(done) == 0 {
			return nil
		}
		return disableInnodb(ctx, t, before, done)
	}
	for _, n := range names {
		if err = setMonitor(ctx, s, "innodb_monitor_enable", n); err != nil {
			break
		}
	}
	after, aerr := innodbEnabled(ctx, s)
	done = map[string]bool{}
	for n := range after {
		if !before[n] {
			done[n] = true
		}
	}
	if err = errors.Join(err, aerr); err != nil {
		return nil, errors.Join(err, restore(context.WithoutCancel(ctx)))
	}
	return restore, nil
}

// disableInnodb switches counters off and makes sure of it; what is off is taken out of names. Those before stay on.
func disableInnodb(ctx context.Context, t *target.Target, before, names map[string]bool) error {
	s, err := t.Session(ctx, target.SessionOptions{Purpose: target.ForChanges})
	if err != nil {
		return fmt.Errorf("switch InnoDB counters off again: %w", err)
	}
	defer s.Close()
	on, err := innodbEnabled(ctx, s)
	if err != nil {
		return err
	}
	together := false
	for _, n := range sortedKeys(names) {
		if !on[n] {
			continue
		}
		if err := setMonitor(ctx, s, "innodb_monitor_disable", n); errors.Is(err, errNoCounter) {
			together = true
		} else if err != nil {
			return err
		}
	}
	if together { // the one module whose counters the server switches all at a time
		if err := setMonitor(ctx, s, "innodb_monitor_disable", "module_buffer_page"); err != nil {
			return err
		}
	}
	if on, err = innodbEnabled(ctx, s); err != nil {
		return err
	}
	for _, n := range sortedKeys(before) {
		if !on[n] {
			if err := setMonitor(ctx, s, "innodb_monitor_enable", n); err != nil && !errors.Is(err, errNoCounter) {
				return err
			}
		}
	}
	var left []string
	for _, n := range sortedKeys(names) {
		if on[n] {
			left = append(left, n)
		} else {
			delete(names, n)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("switch InnoDB counters off again: the server leaves %s on", strings.Join(left, ", "))
	}
	return nil
}

// errNoCounter is the server's answer to a name that it does not switch.
var errNoCounter = errors.New("the server switches no counter of that name")

func setMonitor(ctx context.Context, s *target.Session, variable, name string) error {
	_, err := s.Exec(ctx, sqltext.Tagged("scrape", "innodb_metrics", "SET GLOBAL "+variable+"='"+name+"'"))
	switch n, _ := target.ServerErrorNumber(err); {
	case err == nil:
		return nil
	case n == 1231:
		return fmt.Errorf("switch InnoDB counters: %s: %w", name, errNoCounter)
	case target.KindOf(err) == target.Denied:
		return fmt.Errorf("switch InnoDB counters: the account needs SUPER, or SYSTEM_VARIABLES_ADMIN where there is that: %w", err)
	}
	return fmt.Errorf("switch InnoDB counters: %w", err)
}

// innodbEnabled names the counters that are on.
func innodbEnabled(ctx context.Context, s *target.Session) (map[string]bool, error) {
	where, err := enabledColumn(func(sql string, row func([]driver.Value)) error { _, err := s.Query(ctx, sql, row); return err })
	if err != nil {
		return nil, fmt.Errorf("read InnoDB's counters: %w", err)
	}
	on := map[string]bool{}
	if _, err := s.Query(ctx, sqltext.Tagged("scrape", "innodb_metrics", "SELECT NAME FROM information_schema.INNODB_METRICS WHERE "+where), func(row []driver.Value) {
		on[string(text(row[0]))] = true
	}); err != nil {
		return nil, fmt.Errorf("read InnoDB's counters: %w", err)
	}
	return on, nil
}

// enabledColumn words the condition that a counter is on: MySQL has STATUS='enabled', MariaDB from 10.8.4 on ENABLED=1.
func enabledColumn(query func(sql string, row func([]driver.Value)) error) (where string, err error) {
	where = "STATUS='enabled'"
	err = query(sqltext.Tagged("scrape", "innodb_metrics", "SELECT COLUMN_NAME FROM information_schema.COLUMNS"+
		" WHERE TABLE_SCHEMA='information_schema' AND TABLE_NAME='INNODB_METRICS'"), func(row []driver.Value) {
		if strings.EqualFold(string(text(row[0])), "ENABLED") {
			where = "ENABLED=1"
		}
	})
	return where, err
}
