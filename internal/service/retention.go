package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// Retention is for how long each kind of data is kept, and how much that is.
type Retention struct {
	app     *app.App
	o       *Options // Series and History, under mu
	series  *series.Store
	history *history.History
	fleet   *Fleet

	mu   sync.Mutex
	at   time.Time
	kept []Keeping // measured at at
}

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

// applyRetention puts into the options of the stores what was set while serving, except what the command line fixes.
func applyRetention(a *app.App, o *Options) error {
	kept, err := retention(a)
	if err != nil {
		return err
	}
	for name, age := range ages(&o.Series, &o.History) {
		if days := kept[name]; days >= leastDays && days <= mostDays && !slices.Contains(o.Fixed, name) {
			*age = ofDays(days)
		}
	}
	fillAges(&o.Series, &o.History)
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
func (s *Retention) SetRetention(name string, days float64) error {
	if !(days >= leastDays && days <= mostDays) {
		return fmt.Errorf("%w: days is from 0.042, which is an hour, to %d", ErrBadRetention, mostDays)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
	s.o.Series, s.o.History, s.kept = so, ho, nil
	s.series.Keep(so.Retention, so.MinuteRetention)
	s.history.Keep(ho.StateAge, ho.ClassAge)
	return nil
}

// measureEvery is how old a measurement of what is kept may be.
const measureEvery = time.Minute

func (s *Retention) keeping(ctx context.Context) ([]Keeping, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept != nil && time.Since(s.at) < measureEvery {
		return s.kept, nil
	}
	kept, err := app.Stores{App: s.app}.Usage(ctx)
	if err != nil {
		return nil, err
	}
	all := keepingOf(kept, s.o.Series, s.o.History)
	for i, k := range all {
		all[i].Fixed = slices.Contains(s.o.Fixed, strings.TrimPrefix(k.Flag, "--"))
	}
	s.share(ctx, all)
	s.kept, s.at = all, time.Now()
	return all, nil
}

// keepingOf puts beside what is kept how long it stays and what that will come to.
func keepingOf(kept []app.Kept, so series.Options, ho history.Options) []Keeping {
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
			x.Flag, x.Days, x.Limit = "--keep-states", days(ho.StateAge),
				known.Of(float64(cmp.Or(ho.StateBytes, 2<<30)))
		case "classes":
			x.Flag, x.Days, x.Limit = "--keep-classes", days(ho.ClassAge),
				known.Of(float64(cmp.Or(ho.ClassBytes, 1<<30)))
		case "locks":
			x.Days, x.Limit = days(cmp.Or(ho.LockAge, 400*24*time.Hour)),
				known.Of(float64(cmp.Or(ho.LockBytes, 64<<20)))
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
func (s *Retention) share(ctx context.Context, all []Keeping) {
	now := time.Now()
	fleet := s.fleet.All()
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
		n, _ := s.fleet.Newest(m.Entry.Name)
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
		_, cover, err := s.history.Classes(ctx, m.Entry.Name, now.Add(-time.Hour), now, 1)
		if err != nil {
			return
		}
		counts[m.Entry.Name] = float64(cover.Classes)
	}
	weigh("classes", "classes of an hour", func(m Member) float64 { return counts[m.Entry.Name] })
}
