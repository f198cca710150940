// Package service watches many targets, keeps what it sees, judges it and carries out what users of the API ask for.
package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/discovery"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/remotewrite"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/reserve"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/internal/target"
	"github.com/dyno-perf/dyno/internal/task"
)

// Options says what a Service does.
type Options struct {
	Watching
	Targets []string // names of the inventory or sandbox:NAME; none means the whole inventory, as it changes
	Series  series.Options
	History history.Options
	// Fixed are the flags, without dashes, whose retention in Series and History outranks what SetRetention kept.
	Fixed   []string
	Reserve reserve.Reserve       // of the disk that all stores leave to others
	Writes  []remotewrite.Options // where samples go besides; Cursor and Log are filled in
	Log     *slog.Logger
	Looking discovery.Options // where Discover looks
	// Judge is the time between two looks at a target that nobody asked for; 0: there are none.
	Judge time.Duration
	// Publish is given each reading after it was stored.
	Publish func(reading.Reading)
}

// Service watches many targets and keeps what it sees. It alone writes the stores of series and of history.
type Service struct {
	app     *app.App
	o       Options
	log     *slog.Logger
	Series  *series.Store
	History *history.History
	Tasks   task.List
	ledger  *ledger.Ledger
	writers []*remotewrite.Writer

	mu    sync.RWMutex
	fleet map[string]*member

	passwords sync.Mutex // held while a file with a password has no target yet

	trouble throttle
	marks   *marks
	desk    desk
	looks   looks
}

// member is one target of the fleet.
type member struct {
	entry   ledger.Target
	watcher *watcher
	stop    context.CancelFunc
	done    chan struct{}
	minute  minute
	timed   timed                    // of the goroutine that reads classes
	planner planner                  // of the goroutine that plans
	names   map[string]metric.Sample // of the goroutine that reads: see rename

	detector incident.Detector // of the goroutine that reads
	noted    time.Time         // of the goroutine that reads: when open incidents were stored last

	rightsAt    time.Time // of the goroutine that follows the account's privileges: see rightsPause
	rightsTimes int

	fullSince  time.Time // of the goroutine that reads: see lost
	fullRounds int

	mu      sync.RWMutex
	server  string // identity of the one that answered last
	account string // name@host that it took Dyno for
	state   *state.State
	sources []snapshot.Source
	hidden  *snapshot.Source           // the source of tables, while the account sees nothing of some schemas
	latest  map[string][]metric.Sample // by source
	// incidents are the newest of each kind, going on or not.
	incidents map[event.Kind]Incident
	health    memberHealth
}

// New opens the stores. Run then watches, Close ends.
func New(ctx context.Context, a *app.App, o Options) (*Service, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Scrape.Meter = scrape.NewMeter() // one for all, so that what the program spends is shared out among its targets
	s := &Service{
		app: a, o: o, log: o.Log, fleet: map[string]*member{}, desk: desk{started: time.Now()}, marks: newMarks(),
	}
	if _, err := a.Yard(); err != nil && !errors.Is(err, sandbox.ErrNeedsLinux) {
		// and with that what a dead program left of other servers' rows is gone
		return nil, err
	}
	var err error
	if s.ledger, err = a.Ledger(ctx); err != nil {
		return nil, err
	}
	for _, name := range o.Targets { // a slip of the pen is told now
		if _, err := a.Locate(ctx, name, &app.Login{}); err != nil {
			return nil, err
		}
	}
	if err := s.keptRetention(); err != nil {
		return nil, err
	}
	s.o.Series.Reserve, s.o.History.Reserve = o.Reserve, o.Reserve
	if s.Series, err = series.OpenWith(a.SeriesDir(), s.o.Series); err != nil {
		return nil, err
	}
	if s.History, err = history.Open(ctx, a.HistoryPath(), s.o.History); err != nil {
		return nil, errors.Join(err, s.Series.Close())
	}
	for _, w := range o.Writes {
		sum := sha256.Sum256([]byte(w.URL))
		w.Cursor = filepath.Join(a.Home, "store", "remote-write-"+hex.EncodeToString(sum[:6]))
		w.Log, w.Rename = o.Log, asScraped
		out, err := remotewrite.New(w, s.Series)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.writers = append(s.writers, out)
	}
	return s, nil
}

// asScraped gives a series the labels that a Prometheus which scrapes would give it, as queries of Dyno's own show it.
func asScraped(s metric.Sample) metric.Sample {
	if t := s.Labels.Get("target"); t != "" {
		kv := []string{"instance", t, "job", "dyno"}
		for _, l := range s.Labels {
			kv = append(kv, l.Name, l.Value)
		}
		s.Labels = metric.L(kv...)
	}
	return s
}

// Writers returns how sending to other stores fares.
func (s *Service) Writers() (all []remotewrite.Status) {
	for _, w := range s.writers {
		all = append(all, w.Status())
	}
	return all
}

// Warnings tell what is wrong with the clock or went wrong inside the stores and did not stop them.
func (s *Service) Warnings() []string {
	all := s.Series.Warnings()
	if err := s.o.Reserve.Check(s.app.Home, 0); err != nil {
		all = append(all, "nothing is stored: "+err.Error())
	}
	if text := stepWarning(); text != "" {
		all = append(all, text)
	}
	return all
}

// stepWarning says that the clock was set; empty when it was not.
func stepWarning() string {
	step := clock.Step()
	if step == 0 {
		return ""
	}
	how := "ahead"
	if step < 0 {
		how = "back"
	}
	return fmt.Sprintf("the system's clock stepped %s by %v; Dyno follows it once that has lasted for some minutes",
		how, step.Abs().Round(time.Second))
}

// Close ends the use of the stores.
func (s *Service) Close() error {
	s.Tasks.End()
	return errors.Join(s.Series.Close(), s.History.Close())
}

// Run watches until ctx ends, which is no error. The inventory is looked at every two seconds.
func (s *Service) Run(ctx context.Context) error {
	last, marked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(marked)
		s.storeMarks(last)
	}()
	defer func() { close(last); <-marked }() // when all who see events have ended
	defer s.stopAll()
	defer s.Tasks.End()
	s.tidyPasswords(ctx)
	var sending sync.WaitGroup
	defer sending.Wait()
	for _, w := range s.writers {
		sending.Go(func() { s.send(ctx, w) })
	}
	if s.o.Judge > 0 {
		judged := make(chan struct{})
		go func() {
			defer close(judged)
			s.judgeAll(ctx, s.o.Judge)
		}()
		defer func() { <-judged }()
	}
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		_ = s.History.Run(ctx, func(err error) { s.trouble.say(s.log, "the history was not written; retrying", err) })
	}()
	defer func() { <-kept }()
	var said warned
	for tidied := (time.Time{}); ; {
		if time.Since(tidied) > time.Hour {
			tidied = time.Now()
			s.expire(ctx, clock.Now())
		}
		for _, w := range said.due(s.Warnings(), time.Now()) {
			s.log.Warn("stores", "warning", w)
		}
		if err := s.follow(ctx); err != nil && ctx.Err() == nil {
			s.trouble.say(s.log, "the inventory cannot be read; the targets stay as they are", err)
		}
		if !wait(ctx, 2*time.Second) {
			return nil
		}
	}
}

// send sends samples elsewhere and keeps the figures of it, until ctx ends.
func (s *Service) send(ctx context.Context, w *remotewrite.Writer) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Run(ctx) // nothing but the end of ctx ends it
	}()
	for wait(ctx, 15*time.Second) {
		if err := s.Series.Append(w.Samples(clock.Now()), nil); err != nil {
			s.trouble.say(s.log, "figures of remote write were not stored", err)
		}
	}
	<-done
}

// follow starts and stops watchers so that they are those of the inventory.
func (s *Service) follow(ctx context.Context) error {
	want := map[string]ledger.Target{}
	for _, n := range s.o.Targets {
		want[n] = ledger.Target{Name: n}
	}
	if len(s.o.Targets) == 0 {
		all, err := s.ledger.Targets(ctx)
		if err != nil {
			return err
		}
		for _, t := range all {
			want[t.Name] = t
		}
	}
	s.mu.Lock()
	var gone []*member
	for name, m := range s.fleet {
		if t, ok := want[name]; !ok || t != m.entry {
			gone = append(gone, m)
			delete(s.fleet, name)
		}
	}
	s.mu.Unlock()
	for _, m := range gone {
		m.stop()
		<-m.done
		s.looks.renew(m.entry.Name, time.Now())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range want {
		if s.fleet[name] == nil {
			s.fleet[name] = s.start(ctx, t)
		}
	}
	return nil
}

// login says how to log in to what has a name: requests over HTTP bring names, but those that the service was started
// with are its owner's.
func (s *Service) login(name string) app.Login {
	return app.Login{Remote: !strings.Contains(name, "://") || !slices.Contains(s.o.Targets, name)}
}

func (s *Service) start(ctx context.Context, t ledger.Target) *member {
	ctx, stop := context.WithCancel(ctx)
	m := &member{
		entry: t, stop: stop, done: make(chan struct{}), latest: map[string][]metric.Sample{},
		names: map[string]metric.Sample{},
	}
	w := newWatcher(s.app, t.Name, s.login(t.Name), s.o.Watching, func(r reading.Reading) { s.keep(ctx, m, r) },
		func(c ClassWindow) { s.classes(ctx, m, c) })
	w.plan = func(ctx context.Context, tg *target.Target, c ClassWindow) { s.plans(ctx, m, tg, c) }
	w.rights = func(ctx context.Context, tg *target.Target) { s.rights(ctx, m, tg) }
	w.open = s.noticing(m, w.open)
	m.watcher = w
	go func() {
		defer close(m.done)
		w.run(ctx)
		s.flush(m)
		s.endIncidents(m)
		if spec, err := target.ParseURL(t.URL); err == nil {
			s.app.Leave(spec)
		}
	}()
	return m
}

// noticing opens a member's target and keeps which server answered: another one than before is looked at anew.
func (s *Service) noticing(m *member, open func(context.Context) (*target.Target, error)) func(context.Context) (
	*target.Target, error) {
	return func(ctx context.Context) (*target.Target, error) {
		t, err := open(ctx)
		if err != nil {
			return t, err
		}
		m.mu.Lock()
		another := m.server != t.Facts().Server
		m.server, m.account = t.Facts().Server, t.Facts().User
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

// serverOf returns the identity of the server that a name stands for; "" when it is not watched or has not answered
// yet.
func (s *Service) serverOf(name string) string {
	s.mu.RLock()
	m := s.fleet[name]
	s.mu.RUnlock()
	if m == nil {
		return ""
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.server
}

func (s *Service) stopAll() {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.fleet))
	s.mu.Unlock()
	for _, m := range all {
		m.stop()
	}
	for _, m := range all {
		<-m.done
	}
}
