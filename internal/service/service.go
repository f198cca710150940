// Package service watches many targets, keeps what it sees, judges it and carries out what users of the API ask for.
package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/discovery"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/remotewrite"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/reserve"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/internal/task"
)

// Options says what a Service does.
type Options struct {
	Watching
	Targets []string // names of the inventory or sandbox:NAME; none means the whole inventory, as it changes
	Series  series.Options
	History history.Options
	// Fixed are the flags, without dashes, whose retention in Series and History outranks what SetRetention kept.
	Fixed []string
	// EventBytes and DiagnosisBytes bound what the ledger keeps, see ledger.Ledger.Limit; 0 is the usual.
	EventBytes, DiagnosisBytes int64

	Reserve reserve.Reserve       // of the disk that all stores leave to others
	Writes  []remotewrite.Options // where samples go besides; Cursor and Log are filled in
	Log     *slog.Logger
	Looking discovery.Options // where Discover looks
	// Judge is the time between two looks at a target that nobody asked for; 0: there are none.
	Judge time.Duration
	// LockWait is how long a session has to wait for a lock to be kept in the history; 0 is a second.
	LockWait time.Duration
	// Publish is given each reading after it was stored.
	Publish func(reading.Reading)
}

// Service watches many targets and keeps what it sees. It alone writes the stores of series and of history.
type Service struct {
	Series  *series.Store
	History *history.History
	Tasks   task.List

	Fleet     *Fleet
	Diagnoses *Diagnoses
	Changes   *Changes
	Metrics   *Metrics
	Classes   *Classes
	Events    *Events
	Incidents *Incidents
	Inventory *Inventory
	Retention *Retention

	app     *app.App
	o       Options
	log     *slog.Logger
	ledger  *ledger.Ledger
	writers []*remotewrite.Writer
	trouble throttle
	started time.Time
	locks   *locks
}

// New opens the stores. Run then watches, Close ends.
func New(ctx context.Context, a *app.App, o Options) (*Service, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Scrape.Meter = scrape.NewMeter() // one for all, so that what the program spends is shared out among its targets
	s := &Service{app: a, o: o, log: o.Log, started: time.Now()}
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
	if err := applyRetention(a, &s.o); err != nil {
		return nil, err
	}
	s.o.Series.Reserve, s.o.History.Reserve = o.Reserve, o.Reserve
	if s.Series, err = series.OpenWith(a.SeriesDir(), s.o.Series); err != nil {
		return nil, err
	}
	if s.History, err = history.Open(ctx, a.HistoryPath(), s.o.History); err != nil {
		return nil, errors.Join(err, s.Series.Close())
	}
	s.wire()
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

// wire makes the parts of a service out of its stores.
func (s *Service) wire() {
	s.Tasks.Hint = app.HintOf
	s.locks = &locks{history: s.History, more: make(chan struct{}, 1)}
	marks, looks := newMarks(), &looks{memories: newMemories()}
	s.Incidents = newIncidents(s)
	s.Fleet = &Fleet{
		app: s.app, ledger: s.ledger, log: s.log, o: &s.o, marks: marks, looks: looks, members: map[string]*member{},
		leaving: map[string]*member{},
		keeper: &keeper{
			series: s.Series, history: s.History, log: s.log, o: &s.o, marks: marks, looks: looks, whole: s.Incidents,
			trouble: &s.trouble, locks: s.locks,
		},
	}
	s.Diagnoses = &Diagnoses{
		app: app.Diagnosing{App: s.app}, ledger: s.ledger, log: s.log, o: &s.o, tasks: &s.Tasks,
		fleet: s.Fleet, looks: looks, whole: s.Incidents,
		trouble: &s.trouble, past: archive{app: s.app, series: s.Series, history: s.History, ledger: s.ledger},
	}
	s.Incidents.fleet, s.Incidents.past = s.Fleet, s.Diagnoses.ofIncident
	s.Changes = &Changes{app: app.Actions{App: s.app}, ledger: s.ledger, tasks: &s.Tasks, fleet: s.Fleet}
	s.Metrics = &Metrics{series: s.Series, fleet: s.Fleet, ledger: s.ledger}
	s.Classes = &Classes{history: s.History, metrics: s.Metrics, ledger: s.ledger}
	s.Events = &Events{
		app: s.app, ledger: s.ledger, log: s.log, reserve: s.o.Reserve, marks: marks, trouble: &s.trouble,
	}
	s.Inventory = &Inventory{
		app: s.app, ledger: s.ledger, log: s.log, looking: s.o.Looking, fleet: s.Fleet, trouble: &s.trouble,
	}
	s.Retention = &Retention{
		app: s.app, o: &s.o, series: s.Series, history: s.History, ledger: s.ledger, fleet: s.Fleet,
	}
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
	last := make(chan struct{})
	var storing sync.WaitGroup
	storing.Go(func() { s.Events.storeMarks(last) })
	storing.Go(func() { s.Incidents.storeAll(last) })
	storing.Go(func() {
		s.locks.store(last, func(err error) {
			s.trouble.say(s.log, "deadlocks and lock waits were not stored; retrying", err)
		})
	})
	defer func() { close(last); storing.Wait() }() // when all who see events have ended
	defer s.Fleet.stopAll()
	defer s.Tasks.End()
	s.Inventory.tidyPasswords(ctx)
	var sending sync.WaitGroup
	defer sending.Wait()
	for _, w := range s.writers {
		sending.Go(func() { s.send(ctx, w) })
	}
	if s.o.Judge > 0 {
		judged := make(chan struct{})
		go func() {
			defer close(judged)
			s.Diagnoses.judgeAll(ctx, s.o.Judge)
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
		if changed, err := s.Retention.follow(); err != nil {
			s.trouble.say(s.log, "the retention stays as it was", err)
		} else if changed {
			tidied = time.Time{}
		}
		if time.Since(tidied) > time.Hour {
			tidied = time.Now()
			s.Events.expire(ctx, clock.Now())
		}
		for _, w := range said.due(s.Warnings(), time.Now()) {
			s.log.Warn("stores", "warning", w)
		}
		if err := s.Fleet.follow(ctx); err != nil && ctx.Err() == nil {
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
