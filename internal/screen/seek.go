package screen

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/dyno-perf/dyno/internal/state"
)

// gapNoted is how far a state may be from the moment that was asked for before that is said.
const gapNoted = 5 * time.Second

var errNoFurther = errors.New("no more data in that direction")

// step goes by d through time from the moment that is shown, or from the one that is being gone to.
func (m *model) step(d time.Duration) tea.Cmd {
	if m.shown == nil {
		return nil
	}
	from := m.shown.At
	if m.seeking {
		from = m.goal
	}
	if m.mode == live && d > 0 {
		m.note = span{"this is the latest", dim}
		return nil
	}
	m.mode = past
	way := 1
	if d < 0 {
		way = -1
	}
	return m.seek(from.Add(d), way)
}

// seek goes to a moment. While the source is being asked, further steps are gathered and asked for at once afterwards.
func (m *model) seek(goal time.Time, way int) tea.Cmd {
	m.goal, m.way = goal, way
	if m.seeking {
		return nil
	}
	if s := nearOf(m.recent, m.shown, goal, way); s != nil {
		return m.show(s, goal, way)
	}
	m.seeking = true
	var from time.Time
	if m.shown != nil {
		from = m.shown.At
	}
	return m.call(func(ctx context.Context) tea.Msg {
		s, err := find(ctx, m.src, goal, from, way)
		return soughtMsg{goal, way, s, err}
	})
}

// nearOf looks for the state of a moment among those that came lately.
func nearOf(recent []*state.State, shown *state.State, goal time.Time, way int) *state.State {
	if len(recent) == 0 || goal.Before(recent[0].At) {
		return nil
	}
	i := len(recent) - 1
	for recent[i].At.After(goal) {
		i--
	}
	if way < 0 && shown != nil && goal.Sub(recent[i].At) > gapNoted && recent[i+1].At.Before(shown.At) {
		i++ // goal lies in a gap: not over it while there is something on this side
	}
	if way > 0 && shown != nil && !recent[i].At.After(shown.At) && i+1 < len(recent) {
		i++ // readings a little more than a second apart
	}
	return recent[i]
}

// find asks the source for a state. A step always moves, over gaps too, but goes over one only when nothing is left on
// this side: back to the one before from, or forward to the one after it.
func find(ctx context.Context, src Source, goal, from time.Time, way int) (*state.State, error) {
	s, err := src.At(ctx, goal)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case way == 0,
		way < 0 && err == nil && s.At.Before(from) && goal.Sub(s.At) <= gapNoted,
		way > 0 && err == nil && s.At.After(from):
		return s, err
	case way < 0:
		if t, terr := next(ctx, src, goal, from.Add(-time.Millisecond), 1); terr == nil && !t.IsZero() {
			return src.At(ctx, t)
		}
		if err == nil && s.At.Before(from) {
			return s, nil
		}
	}
	for _, reach := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 31 * 24 * time.Hour} {
		a, b := from.Add(time.Millisecond), from.Add(reach)
		if way < 0 {
			a, b = from.Add(-reach), from.Add(-time.Millisecond)
		}
		t, err := next(ctx, src, a, b, way)
		if err != nil {
			return nil, err
		}
		if !t.IsZero() {
			return src.At(ctx, t)
		}
	}
	return nil, errNoFurther
}

// next returns the last moment between a and b that has a state when way is less than 0, else the first; zero when
// there is none. Thinning may have left that one out: what lies between it and the end is looked at again until nothing
// is left out.
func next(ctx context.Context, src Source, a, b time.Time, way int) (time.Time, error) {
	const most = 500
	var found time.Time
	for range 16 { // each turn leaves a part of the time; no more are needed for years of seconds
		ts, err := src.Times(ctx, a, b, most)
		if err != nil || len(ts) == 0 {
			return found, err
		}
		if way < 0 {
			a = ts[len(ts)-1].Add(time.Nanosecond)
			found = ts[len(ts)-1]
		} else {
			b = ts[0].Add(-time.Nanosecond)
			found = ts[0]
		}
		if len(ts) < most {
			break
		}
	}
	return found, nil
}

// sought takes in what the source answered.
func (m *model) sought(r soughtMsg) tea.Cmd {
	m.seeking = false
	if m.mode == live { // the user went back meanwhile
		return nil
	}
	switch {
	case errors.Is(r.err, errNoFurther):
		m.goal = r.goal // what was gathered meanwhile leads nowhere either
		m.note = span{"no more data in that direction", dim}
		return nil
	case r.err != nil:
		m.note = span{"nothing to show for " + clock(r.goal, m.now, m.o.Location) + ": " + squeeze(r.err.Error()), bad}
		if m.shown == nil && !m.ended {
			m.mode, m.shown = live, m.newest
		}
		return nil
	}
	more := !m.goal.Equal(r.goal)
	goal, way := m.goal, m.way
	cmd := m.show(r.state, r.goal, r.way)
	if more {
		return tea.Batch(cmd, m.seek(goal, way))
	}
	return cmd
}

// show puts a state of the past on the screen.
func (m *model) show(s *state.State, goal time.Time, way int) tea.Cmd {
	m.shown = s
	switch {
	case m.newest != nil && s == m.newest && way > 0 && !m.ended:
		m.note = span{"this is the latest: l follows the server again", dim}
	case s.At.Sub(goal).Abs() > gapNoted:
		m.note = span{"no data at " + clock(goal, m.now, m.o.Location) + ": this is the nearest", warn}
	}
	return m.cover()
}

// covers reports whether the graphs of a moment can be drawn of the trail.
func (t *trail) covers(at time.Time) bool {
	return !t.to.IsZero() && !t.from.After(at.Add(-graphSpan)) && !at.After(t.to)
}

// cover reads what the graphs of the moment that is shown need, when it is not there and not on its way.
func (m *model) cover() tea.Cmd {
	if m.mode == live || m.shown == nil || m.looking || m.trail.covers(m.shown.At) || m.history.covers(m.shown.At) {
		return nil
	}
	m.looking = true
	return m.look(m.shown.At, false)
}

// look reads what was seen around a moment, for the graphs.
func (m *model) look(at time.Time, live bool) tea.Cmd {
	return m.call(func(ctx context.Context) tea.Msg {
		t := trail{from: at.Add(-3 * graphSpan), to: at.Add(graphSpan)}
		if live {
			t.to = at
		}
		if es, err := m.src.Events(ctx, at.Add(-time.Hour), t.to); err == nil {
			t.note(es...)
		}
		// without them the graphs are empty; who steps there is told why
		times, _ := m.src.Times(ctx, t.from, t.to, 240)
		for _, x := range times {
			if s, err := m.src.At(ctx, x); err == nil {
				t.add(moment{s.At, s.Vitals})
			}
		}
		return trailMsg{t, live}
	})
}

// seen takes in what was read for the graphs.
func (m *model) seen(t trailMsg) tea.Cmd {
	if !t.live {
		m.history, m.looking = t.trail, false
		return m.cover() // of where the user has gone meanwhile
	}
	for _, x := range t.moments {
		m.trail.add(x)
	}
	m.trail.note(t.events...)
	if m.trail.from.IsZero() || t.from.Before(m.trail.from) {
		m.trail.from = t.from
	}
	if t.to.After(m.trail.to) {
		m.trail.to = t.to
	}
	return nil
}
