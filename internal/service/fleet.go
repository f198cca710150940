package service

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/internal/lockwait"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Member is one target of the fleet as it is now.
type Member struct {
	Entry   ledger.Target
	State   *state.State // nil until the first reading
	Sources []source.Source
	// Incidents are the conditions that go on, in order of their start.
	Incidents []Ongoing
	// Denied is what the account may not see of what judgement needs; nil when it may see all, and while the server is
	// down.
	Denied *diagnose.Denial
	// Account is name@host, as the server took Dyno for; empty until it was logged in to.
	Account string

	health *memberHealth
}

// Fleet is the targets that are watched.
type Fleet struct {
	app    *app.App
	ledger *ledger.Ledger
	log    *slog.Logger
	o      *Options
	marks  *marks
	looks  *looks
	keeper *keeper

	mu      sync.RWMutex
	members map[string]*member
	leaving map[string]*member // those that were stopped and have not ended yet
}

// member is one target of the fleet.
type member struct {
	entry   ledger.Target
	watcher *watcher
	stop    context.CancelFunc
	done    chan struct{}
	waits   lockwait.Follower // used by the goroutine that reads the target
	timed   timed             // of the goroutine that reads classes
	planner planner           // of the goroutine that plans

	detector incident.Detector // of the goroutine that reads
	whole    tracked           // its incidents
	noted    time.Time         // of the goroutine that reads: when open incidents were stored last

	rightsAt    time.Time // of the goroutine that follows the account's privileges: see rightsPause
	rightsTimes int

	fullSince  time.Time // of the goroutine that reads: see lost
	fullRounds int

	counting  sync.Mutex // guards the following, which the goroutine that reads classes alone changes
	minute    minute
	listeners map[*listener]bool

	mu      sync.RWMutex
	server  string // identity of the one that answered last
	account string // name@host that it took Dyno for
	state   *state.State
	sources []source.Source
	hidden  *source.Source             // the source of tables, while the account sees nothing of some schemas
	latest  map[string][]metric.Sample // by source
	// incidents are the newest of each kind, going on or not.
	incidents map[event.Kind]Ongoing
	health    memberHealth
}

// All returns every target that is watched, by name.
func (s *Fleet) All() []Member {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []Member
	for _, m := range s.members {
		m.mu.RLock()
		all = append(all, Member{m.entry, m.state, m.sources, m.open(), m.denied(), m.account, &m.health})
		m.mu.RUnlock()
	}
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Entry.Name, b.Entry.Name) })
	return all
}

// Every is the time between two rounds.
func (s *Fleet) Every() time.Duration { return s.o.every() }

// Find returns one target of the fleet.
func (s *Fleet) Find(name string) (Member, bool) {
	for _, m := range s.All() {
		if m.Entry.Name == name {
			return m, true
		}
	}
	return Member{}, false
}

// Newest returns the newest sample of every live series of a target.
func (s *Fleet) Newest(name string) ([]metric.Sample, bool) {
	m := s.member(name)
	if m == nil {
		return nil, false
	}
	return m.newest(), true
}

// member returns one target of the fleet; nil when it is not watched.
func (s *Fleet) member(name string) *member {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.members[name]
}

// Known reports whether a target is watched or was once.
func (s *Fleet) Known(ctx context.Context, name string) (bool, error) {
	if _, ok := s.Find(name); ok {
		return true, nil
	}
	_, err := s.ledger.Target(ctx, name)
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// open connects to a target that is named. A URL is one only if the service was started with it: what is done there
// stands in the journal under that name, and an administrator's own commands would go there with a login of theirs.
func (s *Fleet) open(ctx context.Context, name string) (family.Server, error) {
	if strings.Contains(name, "://") && !slices.Contains(s.o.Targets, name) {
		return nil, &app.UnknownTargetError{Text: name}
	}
	return s.app.Open(ctx, name, s.login(name))
}

// watched returns an entry of the inventory as it is watched; false when it is not. Of a server that the service was
// started with, only redaction is taken from the inventory: the rest stays as it was then.
func (s *Fleet) watched(t ledger.Target) (ledger.Target, bool) {
	switch {
	case len(s.o.Targets) == 0:
		return t, true
	case slices.Contains(s.o.Targets, t.Name):
		return ledger.Target{Name: t.Name, Redact: t.Redact}, true
	}
	return t, false
}

// follow starts and stops watchers so that they are those of the inventory.
func (s *Fleet) follow(ctx context.Context) error {
	all, err := s.ledger.Targets(ctx)
	if err != nil {
		return err
	}
	want := map[string]ledger.Target{}
	for _, n := range s.o.Targets {
		want[n] = ledger.Target{Name: n}
	}
	for _, t := range all {
		if x, ok := s.watched(t); ok {
			want[t.Name] = x
		}
	}
	s.mu.Lock()
	for name, m := range s.members {
		if t, ok := want[name]; !ok || t != m.entry {
			s.leaving[name] = m
			delete(s.members, name)
			m.stop()
		}
	}
	s.mu.Unlock()
	s.left(leavingTime)
	s.mu.RLock()
	maps.DeleteFunc(want, func(name string, _ ledger.Target) bool {
		return s.members[name] != nil || s.leaving[name] != nil
	})
	s.mu.RUnlock()
	var fresh []*member
	for _, t := range want {
		m := &member{
			entry: t, done: make(chan struct{}), latest: map[string][]metric.Sample{},
			waits: lockwait.Follower{Least: s.o.LockWait},
		}
		s.keeper.whole.resume(ctx, m) // it reads the ledger: nobody waits for that
		fresh = append(fresh, m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range fresh {
		s.start(ctx, m)
		s.members[m.entry.Name] = m
	}
	return nil
}

// leavingTime is how long those that are stopped are waited for before the others are looked after.
const leavingTime = time.Second

// left waits until no member that was stopped is at work any more, or time is up: what one server's answers hold up
// must not hold up the others.
func (s *Fleet) left(most time.Duration) {
	end, stop := context.WithTimeout(context.Background(), most)
	defer stop()
	s.mu.RLock()
	leaving := maps.Clone(s.leaving)
	s.mu.RUnlock()
	for name, m := range leaving {
		select {
		case <-m.done:
		case <-end.Done():
			continue // the next are looked at, too
		}
		s.looks.renew(name, time.Now())
		s.mu.Lock()
		delete(s.leaving, name)
		s.mu.Unlock()
	}
}

// login says how to log in to what has a name: requests over HTTP bring names, but those that the service was started
// with are its owner's.
func (s *Fleet) login(name string) app.Login {
	return app.Login{Remote: !strings.Contains(name, "://") || !slices.Contains(s.o.Targets, name)}
}

func (s *Fleet) start(ctx context.Context, m *member) {
	ctx, m.stop = context.WithCancel(ctx)
	t := m.entry
	w := newWatcher(s.app, t.Name, s.login(t.Name), s.o.Watching, func(r reading.Reading) { s.keeper.keep(ctx, m, r) },
		func(c ClassWindow) { s.keeper.classes(ctx, m, c) })
	w.plan = func(ctx context.Context, tg family.Server, c ClassWindow) { s.keeper.plans(ctx, m, tg, c) }
	w.rights = func(ctx context.Context, tg family.Server) { s.rights(ctx, m, tg) }
	w.open = s.noticing(m, w.open)
	m.watcher = w
	go func() {
		defer close(m.done)
		w.run(ctx)
		s.keeper.flush(m)
		s.keeper.endIncidents(m)
		s.keeper.locks.end(m)
		if spec, err := endpoint.ParseURL(t.URL); err == nil {
			s.app.Leave(spec)
		}
	}()
}

// noticing opens a member's target and keeps which server answered: another one than before is looked at anew.
func (s *Fleet) noticing(m *member, open func(context.Context) (family.Server, error)) func(context.Context) (
	family.Server, error) {
	return func(ctx context.Context) (family.Server, error) {
		t, err := open(ctx)
		if err != nil {
			return t, err
		}
		m.mu.Lock()
		another := m.server != t.About().Server
		m.server, m.account = t.About().Server, t.About().User
		m.mu.Unlock()
		if another {
			s.looks.renew(m.entry.Name, time.Now())
			if reason, fix := app.TooMighty(ctx, t); reason != "" {
				s.log.Warn(reason, "target", m.entry.Name, "fix", fix)
			}
		}
		return t, nil
	}
}

// Family returns the family of a target's server; of a target that nothing is known of it is the first one.
func (s *Fleet) Family(ctx context.Context, name string) family.Family {
	if f, err := (app.Inspection{App: s.app}).Family(ctx, name); err == nil {
		return f
	}
	return app.Families()[0]
}

// serverOf returns the identity of the server that a name stands for; "" when it is not watched or has not answered
// yet.
func (s *Fleet) serverOf(name string) string {
	m := s.member(name)
	if m == nil {
		return ""
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.server
}

func (s *Fleet) stopAll() {
	s.mu.Lock()
	all := slices.Concat(slices.Collect(maps.Values(s.members)), slices.Collect(maps.Values(s.leaving)))
	s.mu.Unlock()
	for _, m := range all {
		m.stop()
	}
	for _, m := range all {
		<-m.done
	}
}

// identities are the servers that were reached, by target, as target.Facts.Server.
func (s *Fleet) identities() map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := map[string]string{}
	for name, m := range s.members {
		m.mu.RLock()
		if m.server != "" {
			all[name] = m.server
		}
		m.mu.RUnlock()
	}
	return all
}

// followed waits until an entry of the inventory is watched as it is now: whoever wrote it asks for it next. Run looks
// at the inventory every two seconds.
func (s *Fleet) followed(ctx context.Context, t ledger.Target) {
	t, ok := s.watched(t)
	if !ok {
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
func (s *Fleet) Ready(ctx context.Context) {
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
