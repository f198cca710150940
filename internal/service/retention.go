package service

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// Errors of SetRetention.
var (
	ErrBadRetention   = errors.New("retention")
	ErrFixedRetention = errors.New("it is set on the command line")
)

// Bounds of what SetRetention takes, days.
const (
	leastDays = 1.0 / 24
	mostDays  = 36_500
)

// retentionPath is the file with the retention that was set while serving: days by name of the flag.
func retentionPath(a *app.App) string { return filepath.Join(a.Home, "store", "retention.json") }

// ages are how long each kind of data is kept, by the flag of dyno serve that sets it, without its dashes.
func ages(so *series.Options, ho *history.Options) map[string]*time.Duration {
	return map[string]*time.Duration{
		"keep": &so.Retention, "keep-minutes": &so.MinuteRetention, "keep-states": &ho.StateAge,
		"keep-classes": &ho.ClassAge,
	}
}

// usualAge is how long a kind of data is kept where nothing says.
func usualAge(name string) time.Duration {
	return map[string]time.Duration{
		"keep": series.Retention, "keep-minutes": series.MinuteRetention, "keep-states": 3 * 24 * time.Hour,
		"keep-classes": 400 * 24 * time.Hour,
	}[name]
}

// fillAges puts the usual ages where nothing says.
func fillAges(so *series.Options, ho *history.Options) {
	for name, age := range ages(so, ho) {
		*age = cmp.Or(*age, usualAge(name))
	}
	so.MinuteRetention = max(so.MinuteRetention, so.Retention) // as the store does
}

// keptRetention puts into the options of the stores what was set while serving, except what the command line fixes.
func (s *Service) keptRetention() error {
	kept, err := retention(s.app)
	if err != nil {
		return err
	}
	for name, age := range ages(&s.o.Series, &s.o.History) {
		if days := kept[name]; days >= leastDays && days <= mostDays && !slices.Contains(s.o.Fixed, name) {
			*age = ofDays(days)
		}
	}
	fillAges(&s.o.Series, &s.o.History)
	return nil
}

func ofDays(days float64) time.Duration { return time.Duration(days * float64(24*time.Hour)) }

// retention returns what was set while serving.
func retention(a *app.App) (map[string]float64, error) {
	kept := map[string]float64{}
	b, err := os.ReadFile(retentionPath(a))
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was set for the retention: %s: %w; remove the file to use the defaults and "+
			"flags", retentionPath(a), err)
	}
	return kept, nil
}

// putRetention writes the file of retention anew, whole or not at all.
func putRetention(a *app.App, kept map[string]float64) error {
	b, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	fresh := retentionPath(a) + ".new"
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = f.Write(append(b, '\n'))
		err = errors.Join(err, f.Sync(), f.Close()) // half a file would keep serve from starting
	}
	if err != nil {
		return fmt.Errorf("store the retention: %w", err)
	}
	return os.Rename(fresh, retentionPath(a))
}

// SetRetention changes for how many days a kind of data is kept, at once and for later starts: name is the flag of dyno
// serve without its dashes. Errors: ErrBadRetention, and ErrFixedRetention where that flag was given.
func (s *Service) SetRetention(name string, days float64) error {
	if !(days >= leastDays && days <= mostDays) {
		return fmt.Errorf("%w: days is from 0.042, which is an hour, to %d", ErrBadRetention, mostDays)
	}
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	so, ho := s.o.Series, s.o.History
	age, ok := ages(&so, &ho)[name]
	switch {
	case !ok:
		return fmt.Errorf("%w: unknown setting %q; keep, keep-minutes, keep-states and keep-classes can be set",
			ErrBadRetention, name)
	case slices.Contains(s.o.Fixed, name):
		return fmt.Errorf("%w: dyno serve was started with --%s; change it there, or start without it",
			ErrFixedRetention, name)
	}
	if *age = ofDays(days); so.MinuteRetention < so.Retention && name == "keep-minutes" {
		return fmt.Errorf("%w: minutes cannot be kept shorter than seconds", ErrBadRetention)
	}
	so.MinuteRetention = max(so.MinuteRetention, so.Retention)
	kept, err := retention(s.app)
	if err != nil {
		return err
	}
	kept[name] = days
	if err := putRetention(s.app, kept); err != nil {
		return err
	}
	s.o.Series, s.o.History, s.desk.kept = so, ho, nil
	s.Series.Keep(so.Retention, so.MinuteRetention)
	s.History.Keep(ho.StateAge, ho.ClassAge)
	return nil
}
