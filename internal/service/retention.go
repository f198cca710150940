package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Retention is for how long each kind of data is kept, and how much that is.
type Retention struct {
	app     *app.App
	o       *Options // Series and History, under mu
	series  *series.Store
	history *history.History
	ledger  *ledger.Ledger
	fleet   *Fleet

	mu   sync.Mutex
	read time.Time // when the file of retention was written that is in effect
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

// sizes are how many bytes of each kind of data are kept, by the name that the file of retention has for it.
func sizes(o *Options) map[string]*int64 {
	return map[string]*int64{
		"max-series": &o.Series.SecondBytes, "max-minutes": &o.Series.MinuteBytes, "max-states": &o.History.StateBytes,
		"max-classes": &o.History.ClassBytes, "max-plans": &o.History.PlanBytes, "max-events": &o.EventBytes,
		"max-diagnoses": &o.DiagnosisBytes,
		"max-incidents": &o.History.PinnedBytes, "max-locks": &o.History.LockBytes,
	}
}

// usualSize is how many bytes of a kind are kept where nothing says; of series 0, no bound.
func usualSize(name string) int64 {
	return map[string]int64{
		"max-states": 2 << 30, "max-classes": 1 << 30, "max-plans": 256 << 20, "max-events": ledger.EventBytes,
		"max-diagnoses": ledger.DiagnosisBytes, "max-incidents": 256 << 20, "max-locks": 64 << 20,
	}[name]
}

// leastSize is the least that a size may be set to: of series the last half hour is always kept, and takes so much.
func leastSize(name string) float64 {
	if name == "max-series" {
		return 100 << 20
	}
	return 1 << 20
}

const mostSize = 1 << 50

// fixed reports whether a flag of dyno serve outranks what is set under a name.
func fixed(flags []string, name string) bool {
	return slices.Contains(flags, name) || (name == "max-series" || name == "max-minutes") &&
		slices.Contains(flags, "max-size")
}

// fill puts the usual ages and sizes where nothing says.
func fill(o *Options) {
	for name, age := range ages(&o.Series, &o.History) {
		*age = cmp.Or(*age, usualAge(name))
	}
	o.Series.MinuteRetention = max(o.Series.MinuteRetention, o.Series.Retention) // as the store does
	o.Series.SecondBytes = cmp.Or(o.Series.SecondBytes, o.Series.MaxBytes/5*4)
	o.Series.MinuteBytes = cmp.Or(o.Series.MinuteBytes, o.Series.MaxBytes/5)
	for name, size := range sizes(o) {
		*size = cmp.Or(*size, usualSize(name))
	}
}

// applyRetention puts into the options of the stores what was set while serving, except what the command line fixes.
func applyRetention(a *app.App, o *Options) error {
	kept, err := retention(a)
	if err != nil {
		return err
	}
	for name, age := range ages(&o.Series, &o.History) {
		if days := kept[name]; days >= leastDays && days <= mostDays && !fixed(o.Fixed, name) {
			*age = ofDays(days)
		}
	}
	for name, size := range sizes(o) {
		if n := kept[name]; n >= leastSize(name) && n <= mostSize && !fixed(o.Fixed, name) {
			*size = int64(n)
		}
	}
	fill(o)
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
	to := retentionPath(a)
	f, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".new-*") // dyno store limit may write as well
	if err == nil {
		_, err = f.Write(append(b, '\n'))
		err = errors.Join(err, f.Sync(), f.Close()) // half a file would keep serve from starting
		if err == nil {
			err = os.Rename(f.Name(), to)
		}
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}
	if err != nil {
		return fmt.Errorf("store the retention: %w", err)
	}
	return nil
}

// SetRetention changes how much of a kind of data is kept, at once and for later starts. name is the flag of dyno serve
// without its dashes and value days, or it is one of sizes and value bytes. Errors: ErrBadRetention, and
// ErrFixedRetention where a flag was given for it.
func (s *Retention) SetRetention(name string, value float64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fixed(s.o.Fixed, name) {
		return fmt.Errorf("%w: dyno serve was started with a flag for it; change it there, or start without it",
			ErrFixedRetention)
	}
	if err := WriteRetention(s.app, name, value); err != nil {
		return err
	}
	return s.apply()
}

// WriteRetention is SetRetention for later starts, and within seconds for a dyno serve that runs.
func WriteRetention(a *app.App, name string, value float64) error {
	var o Options
	age, ok := ages(&o.Series, &o.History)[name]
	size, sized := sizes(&o)[name]
	switch {
	case !ok && !sized:
		return fmt.Errorf("%w: unknown setting %q; %s can be set", ErrBadRetention, name, strings.Join(slices.Sorted(
			maps.Keys(merged(ages(&o.Series, &o.History), sizes(&o)))), ", "))
	case ok && !(value >= leastDays && value <= mostDays):
		return fmt.Errorf("%w: days must be between 0.042 (one hour) and %d", ErrBadRetention, mostDays)
	case sized && !(value >= leastSize(name) && value <= mostSize):
		return fmt.Errorf("%w: the size must be between %s and %s", ErrBadRetention, unit.Bytes(leastSize(name)),
			unit.Bytes(mostSize))
	}
	kept, err := retention(a)
	if err != nil {
		return err
	}
	if err := applyRetention(a, &o); err != nil {
		return err
	}
	if ok {
		if *age = ofDays(value); o.Series.MinuteRetention < o.Series.Retention && name == "keep-minutes" {
			return fmt.Errorf("%w: minutes cannot be kept shorter than seconds", ErrBadRetention)
		}
	} else {
		*size = int64(value)
	}
	kept[name] = value
	if err := os.MkdirAll(filepath.Dir(retentionPath(a)), 0o700); err != nil {
		return fmt.Errorf("store the retention: %w", err)
	}
	return putRetention(a, kept)
}

// merged returns the names of both.
func merged(ages map[string]*time.Duration, sizes map[string]*int64) map[string]bool {
	all := map[string]bool{}
	for name := range ages {
		all[name] = true
	}
	for name := range sizes {
		all[name] = true
	}
	return all
}

// follow puts in effect what another process has written into the file of retention. It reports whether there was
// anything.
func (s *Retention) follow() (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := os.Stat(retentionPath(s.app))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case i.ModTime().Equal(s.read):
		return false, nil
	}
	s.read = i.ModTime()
	return true, s.apply()
}

// apply puts in effect what is in the file of retention. Of s.mu.
func (s *Retention) apply() error {
	if err := applyRetention(s.app, s.o); err != nil {
		return err
	}
	s.kept = nil
	s.series.Keep(s.o.Series)
	s.history.Keep(s.o.History)
	s.ledger.Limit(s.o.EventBytes, s.o.DiagnosisBytes)
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
	all := keepingOf(kept, *s.o)
	for i, k := range all {
		all[i].Fixed = slices.Contains(s.o.Fixed, strings.TrimPrefix(k.Flag, "--"))
		all[i].LimitFixed = fixed(s.o.Fixed, k.LimitName)
	}
	s.share(ctx, all)
	s.kept, s.at = all, time.Now()
	return all, nil
}

// Usage is what is kept with what bounds it, as a dyno serve without flags has it.
func Usage(ctx context.Context, a *app.App) ([]Keeping, error) {
	o := Options{Series: series.Options{MaxBytes: SeriesBytes}}
	if err := applyRetention(a, &o); err != nil {
		return nil, err
	}
	kept, err := app.Stores{App: a}.Usage(ctx)
	if err != nil {
		return nil, err
	}
	return keepingOf(kept, o), nil
}

// SeriesBytes is what series take at most where nothing says, of which minutes have a fifth.
const SeriesBytes = 10 << 30

// keepingOf puts beside what is kept how long it stays and what that will come to.
func keepingOf(kept []app.Kept, o Options) []Keeping {
	fill(&o)
	of, most := ages(&o.Series, &o.History), sizes(&o)
	all := []Keeping{}
	for _, k := range kept {
		x := Keeping{Kept: k}
		if k.PerDay > 0 {
			x.Growth = known.Of(k.PerDay)
		}
		x.PerDay = 0 // reported once
		flag, limit := "", ""
		switch k.Kind {
		case "series, every second":
			flag, limit = "keep", "max-series"
		case "series, by the minute":
			flag, limit = "keep-minutes", "max-minutes"
		case "states":
			flag, limit = "keep-states", "max-states"
		case "classes":
			flag, limit = "keep-classes", "max-classes"
		case "states of incidents":
			flag, limit = "keep-classes", "max-incidents"
		case "locks":
			x.Days, limit = known.Of(cmp.Or(o.History.LockAge, 400*24*time.Hour).Hours()/24), "max-locks"
		case "plans", "examples":
			flag, limit = "keep-classes", "max-plans"
		case "events":
			limit = "max-events"
		case "incidents":
			x.Days, x.Limit = known.Of(ledger.EventAge.Hours()/24), known.Of(float64(ledger.IncidentBytes))
		case "diagnoses and reports":
			limit = "max-diagnoses"
		}
		if age, ok := of[flag]; ok {
			x.Flag, x.Days = "--"+flag, known.Of(age.Hours()/24)
		}
		if n, ok := most[limit]; ok {
			x.LimitName = limit
			if *n > 0 {
				x.Limit = known.Of(float64(*n))
			}
		}
		if g, ok := x.Growth.Get(); ok {
			if l, ok := x.Limit.Get(); ok {
				left := max(0, (l-float64(k.Bytes))/g)
				if d, ok := x.Days.Get(); !ok || float64(k.Bytes)/g+left < d { // else age drops it before
					x.FullIn = known.Of(left)
				}
			}
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
