package screen

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/state"
)

// view is one of the screen's pages.
type view int

const (
	overview view = iota
	sessionView
	lockView
	classView
	serverView
	sourceView
	views
)

// mode says what moment is shown.
type mode int

const (
	live   mode = iota // the newest, always
	paused             // the one at which the user stopped
	past               // one that the user went to
)

// What is kept in memory, for graphs and for steps back by seconds that need not ask the source.
const (
	keepStates  = 60
	keepMoments = 900
	keepEvents  = 200
)

// model is everything that the screen shows. It is used by one goroutine; what takes time is done by commands, which
// send a message.
type model struct {
	ctx   context.Context
	src   Source
	o     Options
	calls *calls

	theme         *theme
	colour        bool
	width, height int
	now           time.Time // of the last message that told it

	mode    mode
	newest  *state.State // the last one that the source sent
	heard   time.Time    // when it came
	shown   *state.State
	ended   bool  // no more updates will come
	failed  error // why
	recent  []*state.State
	trail   trail // of what came live
	history trail // of the moment gone to
	looking bool  // history is being read
	goal    time.Time
	way     int // of the last step: -1 back, 1 forward, 0 to a moment
	seeking bool

	page         view
	cursor       [views]ref
	moved        [views]bool // by the user; before, the cursor is on what is on top
	line         [views]int  // the row that the cursor stood on last
	top          [views]int  // first row shown
	sessionOrder int
	classOrder   int
	filter       string
	prompt       *prompt
	note         span
	over         *overlay
	asked        int // counts questions for plans: the answer to an older one is not shown
}

// trail is what was seen over a while: figures for graphs, and events.
type trail struct {
	from, to time.Time // what it covers
	moments  []moment
	events   []event.Event
}

// add puts a moment behind the others, or where it belongs.
func (t *trail) add(m moment) {
	i, dup := slices.BinarySearchFunc(t.moments, m, func(a, b moment) int { return a.at.Compare(b.at) })
	if dup {
		t.moments[i] = m
		return
	}
	t.moments = slices.Insert(t.moments, i, m)
	if n := len(t.moments) - keepMoments; n > 0 {
		t.moments = slices.Delete(t.moments, 0, n)
		t.from = t.moments[0].at
	}
	if m.at.After(t.to) {
		t.to = m.at
	}
}

// note adds events in the order of time, each once.
func (t *trail) note(es ...event.Event) {
	for _, e := range es {
		if slices.ContainsFunc(t.events, func(o event.Event) bool {
			return o.At.Equal(e.At) && o.Kind == e.Kind && o.Text == e.Text
		}) {
			continue
		}
		i, _ := slices.BinarySearchFunc(t.events, e, func(a, b event.Event) int { return a.At.Compare(b.At) })
		t.events = slices.Insert(t.events, i, e)
	}
	if n := len(t.events) - keepEvents; n > 0 {
		t.events = slices.Delete(t.events, 0, n)
	}
}

// until returns the events that had begun at a moment, of the hour before.
func (t *trail) until(at time.Time) []event.Event {
	var out []event.Event
	for _, e := range t.events {
		if !e.At.After(at) && e.At.After(at.Add(-time.Hour)) {
			out = append(out, e)
		}
	}
	return out
}

type (
	updateMsg struct {
		Update
		at time.Time
	}
	endMsg  struct{ err error }
	tickMsg time.Time
	// soughtMsg is the answer to a step through time.
	soughtMsg struct {
		goal  time.Time
		way   int
		state *state.State
		err   error
	}
	// trailMsg is what was seen before a moment.
	trailMsg struct {
		trail
		live bool
	}
	planMsg struct {
		n    int
		text string
		err  error
	}
)

func newModel(ctx context.Context, src Source, o Options, now time.Time) *model {
	if o.Location == nil {
		o.Location = time.Local
	}
	m := &model{ctx: ctx, src: src, o: o, now: now, width: 80, height: 24, colour: !noColour(o.Env), calls: newCalls()}
	m.theme = newTheme(true, m.colour)
	return m
}

// Init asks for what is needed first.
func (m *model) Init() tea.Cmd { return tea.Batch(tick(), m.begin()) }

func (m *model) begin() tea.Cmd {
	cmds := []tea.Cmd{m.look(m.now, true)}
	if m.colour {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	if !m.o.At.IsZero() {
		m.mode = past
		cmds = append(cmds, m.seek(m.o.At, 0))
	}
	return tea.Batch(cmds...)
}

// tick tells the time each second: how old what is shown is.
func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) }) }

// call makes a command that Run waits for.
func (m *model) call(f func(ctx context.Context) tea.Msg) tea.Cmd {
	ctx, calls := m.ctx, m.calls
	return func() tea.Msg {
		if !calls.begin() {
			return nil
		}
		defer calls.end()
		return f(ctx)
	}
}

// Update takes in what happened.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		m.theme = newTheme(msg.IsDark(), m.colour)
	case tickMsg:
		m.now = time.Time(msg)
		cmd = tea.Batch(tick(), m.cover())
	case updateMsg:
		cmd = m.news(msg)
	case endMsg:
		cmd = m.end(msg)
	case soughtMsg:
		cmd = m.sought(msg)
	case trailMsg:
		cmd = m.seen(msg)
	case planMsg:
		planText(m.over, m.width, msg)
	case tea.PasteMsg:
		if m.prompt != nil {
			m.prompt.text += clean(msg.Content)
		}
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	default:
		return m, nil
	}
	m.settle()
	return m, cmd
}

// news takes in an update of the source.
func (m *model) news(u updateMsg) tea.Cmd {
	m.now = u.at
	m.trail.note(u.Events...)
	s := u.State
	if s == nil {
		return nil
	}
	if m.newest != nil && !s.At.After(m.newest.At) && m.newest.At.Sub(s.At) < time.Minute {
		return nil // late: what is newer is known; more than a minute back is a clock that was set
	}
	if m.newest != nil && s.At.Before(m.newest.At) {
		m.recent, m.trail.moments, m.trail.from = nil, nil, s.At
	}
	m.newest, m.heard = s, u.at
	m.recent = append(m.recent, s)
	if n := len(m.recent) - keepStates; n > 0 {
		m.recent = slices.Delete(m.recent, 0, n)
	}
	if m.trail.from.IsZero() {
		m.trail.from = s.At
	}
	m.trail.add(moment{s.At, s.Vitals})
	if m.mode == live || m.shown == nil && !m.seeking {
		m.shown = s
	}
	return nil
}

// end takes in that no more updates will come.
func (m *model) end(e endMsg) tea.Cmd {
	m.ended, m.failed = true, e.err
	if e.err != nil {
		m.note = span{"no more data: " + squeeze(e.err.Error()), bad}
	}
	if m.shown == nil && !m.seeking {
		m.mode = past
		return m.seek(m.now, 0) // the newest that is kept
	}
	return nil
}

// source of graphs for the moment that is shown.
func (m *model) behind() *trail {
	if m.shown != nil && m.mode != live && !m.trail.covers(m.shown.At) && m.history.covers(m.shown.At) {
		return &m.history
	}
	return &m.trail
}
