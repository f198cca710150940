package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

const (
	// mostHoles bounds the times without windows around which states are compared, those nearest to now.
	mostHoles = 40
	// longestChange is how long a change goes on at most whose end no one saw.
	longestChange = 24 * time.Hour
	// uptimeSlack is by how much a server's uptime and the clock may differ between two moments.
	uptimeSlack = 30 * time.Second
)

// changesOf returns what else may have changed how fast a server is: the events of the target, the actions on the
// server with that identity under whatever name, and other servers that had the target's name.
func changesOf(
	ctx context.Context, l *ledger.Ledger, h *history.History, e journal.Entry, server string, spans []proof.Span,
	from, to time.Time,
) ([]event.Event, error) {
	events, err := l.Events.List(ctx, e.Target, from, to)
	if err != nil {
		return nil, err
	}
	events = slices.DeleteFunc(events, func(x event.Event) bool { return x.Kind == event.Action })
	for i, x := range events {
		if x.Replaces() {
			events[i].At, events[i].Until = x.At.Add(-event.ReplacedLate), x.At
		}
	}
	all, err := l.Entries(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	events = append(events, changesBy(all, e, server, time.Now())...)
	seen, err := l.Diagnoses.Between(ctx, e.Target, from, to, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range seen {
		if d.Server != "" && e.Server != "" && !isKeyOf(e.Server, d.Server) {
			events = append(events, replaced(d.At, "at diagnosis "+d.ID))
		}
	}
	unseen, err := unseen(ctx, h, e.Target, spans)
	if err != nil {
		return nil, err
	}
	events = append(events, unseen...)
	slices.SortStableFunc(events, func(x, y event.Event) int { return x.At.Compare(y.At) })
	return events, nil
}

// changesBy returns what else the journal says of a server, known by its own identity, and of the target of an entry:
// the actions, the undos, and that another server had the name. What is not known to have ended may go on.
func changesBy(all []journal.Entry, e journal.Entry, server string, now time.Time) (events []event.Event) {
	for _, x := range all {
		if x.State == journal.Planned || x.State == journal.Failed {
			continue
		}
		if x.Server != e.Server && !(isKeyOf(x.Server, server) && isKeyOf(e.Server, server)) {
			if x.Target == e.Target && x.Server != "" {
				events = append(events, replaced(x.Started, "as action "+x.ID+" was made"))
			}
			continue
		}
		add := func(begun, ended time.Time, text, ref string) {
			if ended.IsZero() {
				text = "not known to have ended: " + text
				if ended = now; now.Sub(begun) > longestChange {
					ended = begun.Add(longestChange)
				}
			}
			events = append(events, event.Event{At: begun, Until: ended, Kind: event.Action, Text: text, Ref: ref})
		}
		if x.Action.Kind != finding.KillSession {
			add(x.Started, x.Ended, x.ID+": "+x.Action.SQL, x.ID)
		}
		// without Ref: an undo of the judged action ends its effect, as another's change would
		if begun := cmp.Or(x.UndoBegan, x.UndoneAt); !begun.IsZero() {
			add(begun, x.UndoneAt, "undo of "+x.ID+": "+x.Action.Undo, "")
		}
	}
	return events
}

// isKeyOf reports whether the journal may know a server by that key: its own identity, without or with a database.
func isKeyOf(key, server string) bool {
	return key == server || server != "" && strings.HasPrefix(key, server+"/")
}

// replaced is the event that another server than the changed one answered at a moment.
func replaced(at time.Time, when string) event.Event {
	return event.Event{At: at, Kind: event.Restart, Text: event.AnotherServer + " had this name " + when}
}

// unseen returns what happened to the server while nothing watched it: the states on both sides of a time without
// windows are of two servers, or of one that was started in between.
func unseen(
	ctx context.Context, h *history.History, target string, spans []proof.Span,
) (events []event.Event, err error) {
	read := func(at time.Time) (*state.State, error) {
		s, err := h.StateAt(ctx, target, at)
		var none *history.NotFoundError
		if errors.As(err, &none) {
			return nil, nil
		}
		return s, err
	}
	holes := 0
	for i := len(spans) - 1; i > 0 && holes < mostHoles; i-- {
		old, now := spans[i-1], spans[i]
		if now.From.Sub(old.To) < time.Second {
			continue
		}
		holes++
		before, err := read(old.To)
		if err != nil {
			return nil, err
		}
		after, err := read(now.To)
		if err != nil {
			return nil, err
		}
		if before == nil || after == nil {
			continue
		}
		x := event.Event{At: old.To, Until: now.From, Target: target, Kind: event.Restart}
		up1, ok1 := before.Get(state.Uptime).Get()
		up2, ok2 := after.Get(state.Uptime).Get()
		grown := time.Duration((up2 - up1) * float64(time.Second))
		switch {
		case before.Server != "" && after.Server != "" && before.Server != after.Server:
			x.Text = fmt.Sprintf("%s answers: %s instead of %s", event.AnotherServer, after.Server, before.Server)
		case ok1 && ok2 && (after.At.Sub(before.At)-grown).Abs() > uptimeSlack:
			x.Text = event.AnotherServer + " answers, or the same one was started"
		default:
			continue
		}
		events = append(events, x)
	}
	return events, nil
}
