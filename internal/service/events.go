package service

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/reserve"
)

const (
	// maxMarks is how many events may wait to be stored.
	maxMarks = 1000
	// marksAtOnce is how many of them are stored in one transaction.
	marksAtOnce = 200
	// markEvery is the shortest time between two transactions: each waits for the disk.
	markEvery = time.Second
	// longestMark bounds the text of an event, in bytes: names and statements of a server are in it.
	longestMark = 4 << 10
)

// marks are the events that wait to be stored, so that no one who reads a target waits for the disk. What does not fit
// is counted, and told as an event when there is room again.
type marks struct {
	mu       sync.Mutex
	waiting  []event.Event
	lost     int
	from, to time.Time // of the lost
	more     chan struct{}
}

func newMarks() *marks { return &marks{more: make(chan struct{}, 1)} }

// add takes an event that has a time.
func (q *marks) add(e event.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxMarks {
		if q.lost++; q.lost == 1 {
			q.from = e.At
		}
		q.to = e.At
		return
	}
	q.waiting = append(q.waiting, e)
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// flush stores what waits. What put refuses stays.
func (q *marks) flush(put func([]event.Event) error) error {
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 && q.lost > 0 {
			q.waiting = append(q.waiting, event.Event{
				At: q.from, Until: q.to, Kind: event.Gap, Cause: event.TooMany,
				Text: fmt.Sprintf("%d events were dropped: they came faster than they could be stored", q.lost),
			})
			q.lost = 0
		}
		some := q.waiting[:min(len(q.waiting), marksAtOnce)]
		q.mu.Unlock()
		if len(some) == 0 {
			return nil
		}
		if err := put(some); err != nil {
			return err
		}
		q.mu.Lock()
		q.waiting = append([]event.Event(nil), q.waiting[len(some):]...)
		q.mu.Unlock()
	}
}

// Events are the marks on the timeline.
type Events struct {
	app     *app.App
	ledger  *ledger.Ledger
	log     *slog.Logger
	reserve reserve.Reserve
	marks   *marks
	trouble *throttle
}

// Annotate keeps a note, see app.App.Annotate. A target must be of the fleet or of the inventory.
func (s *Events) Annotate(ctx context.Context, e event.Event) (event.Event, error) {
	if e.At.IsZero() {
		e.At = clock.Now()
	}
	return app.Actions{App: s.app}.Annotate(ctx, e)
}

// NewestEvents returns the newest n marks, of some kinds or with none of all, see app.App.Events.
func (s *Events) NewestEvents(ctx context.Context, target string, kinds []string, from, to time.Time,
	n int,
) ([]event.Event, error) {
	return s.ledger.Events.Newest(ctx, target, kinds, from, to, n)
}

// storeTime bounds the writing of marks into the ledger.
const storeTime = 10 * time.Second

// storeMarks stores events as they come until end is closed, and then those that are left.
func (s *Events) storeMarks(end <-chan struct{}) {
	put := func(es []event.Event) error {
		if err := s.reserve.Check(s.app.Home, 0); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), storeTime)
		defer cancel()
		return s.ledger.Events.PutAll(ctx, es)
	}
	store := func() {
		if err := s.marks.flush(put); err != nil {
			s.trouble.say(s.log, "events were not stored; retrying", err)
			select {
			case s.marks.more <- struct{}{}:
			default:
			}
		}
	}
	pause := time.NewTicker(markEvery)
	defer pause.Stop()
	for {
		select {
		case <-s.marks.more:
			store()
		case <-end:
			store()
			return
		}
		select {
		case <-pause.C:
		case <-end:
		}
	}
}

// mark keeps an event soon. One without an id gets one that tells it from all others of its target; n is its number
// among those of the same moment.
func (q *marks) mark(e *event.Event, n int) {
	if e.ID == "" {
		e.ID = fmt.Sprintf("%s-%d-%d-%s", e.Kind, e.At.UnixMilli(), n, e.Target)
	}
	e.Text = state.Clip(e.Text, longestMark)
	q.add(*e)
}

// expire drops what the ledger has of events, runs, reports and diagnoses that is too old or too much.
func (s *Events) expire(ctx context.Context, now time.Time) {
	gone, err := s.ledger.Expire(ctx, now)
	if err != nil && ctx.Err() == nil {
		s.trouble.say(s.log, "old entries of the ledger were not deleted", err)
	}
	for _, id := range gone {
		if err := (app.Reports{App: s.app}).RemoveReport(id); err != nil {
			s.log.Warn("the files of a report were not removed", "report", id, "error", err)
		}
	}
}
