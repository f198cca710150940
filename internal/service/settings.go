package service

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/discovery"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// Settings is how a service is set up, and what that costs.
type Settings struct {
	Version string          `json:"version"`
	Home    string          `json:"home"`
	Listen  string          `json:"listen,omitzero"`
	Started time.Time       `json:"started"`
	Every   float64         `json:"every_seconds"` // between two readings of a target
	Targets []ledger.Target `json:"targets"`       // the inventory
	// the targets were named when the service was started: the inventory is not followed
	Fixed   bool        `json:"fixed,omitzero"`
	Keeping []Keeping   `json:"keeping"`
	Disk    Disk        `json:"disk"`
	Process OwnProcess  `json:"process"`
	Writes  []Elsewhere `json:"remote_writes"`
	// Warnings tell what is wrong with the clock or went wrong inside the stores and did not stop them.
	Warnings []string `json:"warnings"`
}

// Keeping is how long one kind of things is kept, what that takes now and what it will take.
type Keeping struct {
	app.Kept
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
	seek    discovery.Seeker

	mu   sync.Mutex
	at   time.Time
	kept []Keeping
}

// measureEvery is how old a measurement of what is kept may be.
const measureEvery = time.Minute

// Settings returns how the service is set up. What is kept is measured once a minute at most.
func (s *Service) Settings(ctx context.Context) (Settings, error) {
	x := Settings{
		Version: s.app.Version, Home: s.app.Home, Started: s.desk.started, Every: s.Every().Seconds(),
		Targets: []ledger.Target{}, Fixed: len(s.o.Targets) > 0,
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

// Discover looks for servers on this machine; within a few seconds the answer is the one of before. Who was refused a
// login is remembered for longer, until something is added, removed or inspected with success.
func (s *Service) Discover(ctx context.Context) (discovery.Discovery, error) {
	return s.desk.seek.Discover(ctx, s.app, s.o.Looking, s.identities)
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

// Adopt takes what can be logged in to into the inventory, as discovery.Adopt, when that is empty.
func (s *Service) Adopt(ctx context.Context) (taken []discovery.Found, d discovery.Discovery, err error) {
	if d, err = s.Discover(ctx); err != nil {
		return nil, d, err
	}
	if all, err := s.ledger.Targets(ctx); err != nil || len(all) > 0 {
		return nil, d, err
	}
	taken, err = discovery.Adopt(ctx, s.app, d)
	if len(taken) > 0 {
		s.desk.seek.Forget()
	}
	return taken, d, err
}

// AddTarget puts a server into the inventory, see app.App.AddTarget. What it may log in with is what Allow leaves.
func (s *Service) AddTarget(ctx context.Context, t ledger.Target, replace bool) (ledger.Target, error) {
	t, err := s.app.Allow(ctx, t)
	if err == nil {
		t, err = s.app.AddTarget(ctx, t, replace)
	}
	if err != nil {
		return t, err
	}
	s.desk.seek.Forget() // not before, for a search meanwhile would keep the inventory of before
	s.tidyPasswords(ctx)
	s.followed(ctx, t)
	return t, nil
}

// followed waits until an entry of the inventory is watched as it is now: whoever wrote it asks for it next. Run looks
// at the inventory every two seconds.
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

// Ready waits until Run has begun with the targets that there are, so that nobody is told of an empty fleet who asks at
// once.
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
	s.desk.seek.Forget()
	s.tidyPasswords(ctx)
	return nil
}

// Inspect tries to reach a server as app.App.Inspect does. What it logs in with is what Allow leaves.
func (s *Service) Inspect(ctx context.Context, t ledger.Target) (app.Checked, error) {
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
	c, err := s.app.Inspect(ctx, t)
	if !c.Reached && c.Create != nil && t.Defaults != asked.Defaults { // refused for want of a password
		c.Fix = "no password was sent: passwords of ~/.my.cnf, DYNO_PASSWORD and MYSQL_PWD go only to the server " +
			"that the defaults files name. " +
			"Fix: put user, password and host into a file in " + s.app.Credentials() + " and name it, or run `dyno " +
			"target add` on Dyno's machine"
	}
	if c.Reached && t.URL != "" { // a search may have been refused what is granted now
		s.desk.seek.Forget()
	}
	return c, err
}
