package screen

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// keyOf makes the message of a key by its name.
func keyOf(name string) tea.KeyPressMsg {
	for n, code := range map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
		"backspace": tea.KeyBackspace,
	} {
		if n == name {
			return tea.KeyPressMsg{Code: code}
		}
	}
	if name == "space" {
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	}
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(rest[0]), Mod: tea.ModCtrl}
	}
	if name == "shift+tab" {
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// press gives the screen keys and carries out what they ask for.
func press(m *model, keys ...string) {
	for _, k := range keys {
		_, cmd := m.Update(keyOf(k))
		do(m, cmd)
	}
}

// do carries out commands until nothing is asked for any more; time does not pass.
func do(m *model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil, tickMsg, tea.QuitMsg:
	case tea.BatchMsg:
		for _, c := range msg {
			do(m, c)
		}
	default:
		_, next := m.Update(msg)
		do(m, next)
	}
}

// quits reports whether a key ends the program.
func quits(m *model, key string) bool {
	_, cmd := m.Update(keyOf(key))
	if cmd == nil {
		return false
	}
	_, quit := cmd().(tea.QuitMsg)
	return quit
}

// pastOf is a source with an hour of one state a second up to noon and, in the middle, ten minutes without.
func pastOf() *kept {
	k := &kept{}
	for i := range 3600 {
		at := noon.Add(time.Duration(i-3599) * time.Second)
		if i >= 1500 && i < 2100 {
			continue
		}
		s := &state.State{
			Target: "shop-db1", At: at, Up: true,
			Vitals: []state.Vital{{Name: state.QPS, Value: float64(i)}},
		}
		if i == 1000 {
			s = pileUp(at)
		}
		k.states = append(k.states, s)
	}
	k.events = []event.Event{{At: noon.Add(-time.Hour), Kind: event.DDL, Text: "ALTER TABLE stock"}}
	return k
}

// liveOn is a screen that has shown the last seconds of a source.
func liveOn(t *testing.T, k *kept, last int) *model {
	m := newModel(t.Context(), k, Options{Location: time.UTC}, noon)
	for _, s := range k.states[len(k.states)-last:] {
		m.Update(updateMsg{Update{State: s}, s.At})
	}
	return m
}

func TestRewind(t *testing.T) {
	k := pastOf()
	m := liveOn(t, k, 5)
	at := func(ago time.Duration, wantMode mode) {
		t.Helper()
		if m.shown == nil || !m.shown.At.Equal(noon.Add(-ago)) || m.mode != wantMode {
			t.Fatalf("shows %v in mode %d, want %v in mode %d; note %q", m.shown.At, m.mode,
				noon.Add(-ago), wantMode, m.note.text)
		}
	}
	at(0, live)
	press(m, "right")
	at(0, live)
	press(m, "left", "left")
	at(2*time.Second, past)
	if k.asked != 0 && !m.history.to.IsZero() && m.trail.from.IsZero() {
		t.Fatal("what came lately was asked for")
	}
	press(m, "right")
	at(time.Second, past)
	press(m, "right", "right", "right") // over the newest
	at(0, past)
	if !strings.Contains(m.note.text, "latest") {
		t.Errorf("note %q", m.note.text)
	}
	m.Update(updateMsg{Update{State: calm(noon.Add(time.Second))}, noon.Add(time.Second)})
	at(0, past) // news do not move what is shown
	press(m, "l")
	at(-time.Second, live)

	press(m, "[", "[")
	at(2*time.Minute-time.Second, past)
	press(m, "]")
	at(time.Minute-time.Second, past)

	// A step over the gap moves to its other side; it says so.
	press(m, "g", "1", "1", ":", "3", "5", ":", "0", "1", "enter")
	at(24*time.Minute+59*time.Second, past)
	press(m, "]", "left", "[") // not over the gap while there is something on this side
	at(24*time.Minute+59*time.Second, past)
	press(m, "left")
	at(35*time.Minute, past)
	if !strings.Contains(m.note.text, "no data at") {
		t.Errorf("note %q", m.note.text)
	}
	press(m, "right")
	at(24*time.Minute+59*time.Second, past)

	// The pile-up is shown as it was.
	press(m, "g")
	for _, c := range "11:16:41" {
		press(m, string(c))
	}
	press(m, "enter", "3")
	at(43*time.Minute+19*time.Second, past)
	if got := textOf(m); !strings.Contains(got, "● 41") || !strings.Contains(got, "PAST 11:16:41") {
		t.Errorf("got\n%s", got)
	}
	if len(m.behind().moments) < 100 || len(m.behind().events) == 0 {
		t.Errorf("graphs of %d moments and %d events", len(m.behind().moments), len(m.behind().events))
	}

	// Before everything, and after: said, not shown as something else.
	press(m, "g", "-", "5", "h", "enter")
	at(43*time.Minute+19*time.Second, past)
	if !strings.Contains(m.note.text, errNothing.Error()) {
		t.Errorf("note %q", m.note.text)
	}
	press(m, "g", "1", "1", ":", "0", "0", ":", "0", "1", "enter", "left", "left")
	at(3599*time.Second, past)
	if !strings.Contains(m.note.text, "no more data in that") {
		t.Errorf("note %q", m.note.text)
	}
	press(m, "g", "x", "enter")
	if !strings.Contains(m.note.text, "is not a time") {
		t.Errorf("note %q", m.note.text)
	}
	press(m, "space")
	at(-time.Second, live)
	press(m, "space")
	at(-time.Second, paused)
}

// TestStepsOverLongGaps goes over a month without a state, with more states on both sides than are listed at once.
func TestStepsOverLongGaps(t *testing.T) {
	k := pastOf()
	for _, s := range k.states {
		s.At = s.At.AddDate(0, 0, -20)
	}
	first := k.states[len(k.states)-1].At
	k.states = append(k.states, pastOf().states...)
	m := liveOn(t, k, 1)
	press(m, "g")
	for _, c := range "11:00:01" {
		press(m, string(c))
	}
	press(m, "enter", "left")
	if !m.shown.At.Equal(first) {
		t.Errorf("back over the gap to %v, want %v", m.shown.At, first)
	}
	press(m, "right")
	if want := noon.Add(-3599 * time.Second); !m.shown.At.Equal(want) {
		t.Errorf("forward over the gap to %v, want %v", m.shown.At, want)
	}
}

// TestStepsAreGathered holds back the source's answer while keys are pressed: one more question is asked, not one per
// key.
func TestStepsAreGathered(t *testing.T) {
	k := pastOf()
	m := liveOn(t, k, 1)
	press(m, "[")
	k.asked = 0
	_, first := m.Update(keyOf("["))
	for range 5 {
		if _, cmd := m.Update(keyOf("[")); cmd != nil {
			t.Fatal("asked again while an answer was awaited")
		}
	}
	m.history = trail{from: noon.Add(-time.Hour), to: noon} // graphs need nothing
	do(m, first)
	if want := noon.Add(-7 * time.Minute); !m.shown.At.Equal(want) || k.asked != 2 {
		t.Fatalf("shows %v after %d questions, want %v after 2", m.shown.At, k.asked, want)
	}
	_, late := m.Update(keyOf("["))
	press(m, "l")
	do(m, late)
	if m.mode != live || !m.shown.At.Equal(noon) {
		t.Fatal("an answer that came late took the user away from the live view")
	}
}

func TestStartsInThePast(t *testing.T) {
	k := pastOf()
	k.next = make(chan Update)
	close(k.next)
	f := func(at, want time.Time, note string) {
		t.Helper()
		m := newModel(t.Context(), k, Options{Location: time.UTC, At: at}, noon.Add(time.Minute))
		do(m, m.begin())
		m.Update(endMsg{})
		if m.shown == nil && !want.IsZero() || m.shown != nil && !m.shown.At.Equal(want) ||
			!strings.Contains(m.note.text, note) {
			t.Errorf("%v: shows %+v, note %q", at, m.shown, m.note.text)
		}
	}
	f(noon.Add(-time.Minute), noon.Add(-time.Minute), "")
	f(noon.Add(30*time.Second), noon, "nearest")
	f(noon.Add(-3*time.Hour), time.Time{}, errNothing.Error())

	// No live view and no moment asked for: the newest that is kept.
	m := newModel(t.Context(), k, Options{Location: time.UTC}, noon.Add(time.Minute))
	_, cmd := m.Update(endMsg{})
	do(m, cmd)
	if m.shown == nil || !m.shown.At.Equal(noon) || m.mode != past {
		t.Errorf("shows %+v", m.shown)
	}
}

func TestNewsThatDoNotCome(t *testing.T) {
	m := screenOf(t, 100, 24, pileUp(noon))
	m.Update(tickMsg(noon.Add(3 * time.Second)))
	if !strings.Contains(textOf(m), "LIVE 12:00:00") {
		t.Errorf("got\n%s", textOf(m))
	}
	m.Update(tickMsg(noon.Add(75 * time.Second)))
	if !strings.Contains(textOf(m), "NO DATA for 1:15") {
		t.Errorf("got\n%s", textOf(m))
	}
	m.Update(endMsg{errors.New("access \x1bdenied")})
	if got := textOf(m); !strings.Contains(got, "NO MORE DATA since 12:00:00") ||
		!strings.Contains(got, "access ␛denied") {
		t.Errorf("got\n%s", got)
	}
}

func TestLateAndSetBackClocks(t *testing.T) {
	m := screenOf(t, 80, 24, pileUp(noon))
	m.Update(updateMsg{Update{State: calm(noon.Add(-2 * time.Second))}, noon})
	if !m.shown.At.Equal(noon) {
		t.Error("an older state replaced the newest")
	}
	m.Update(updateMsg{Update{State: calm(noon.Add(-time.Hour))}, noon.Add(-time.Hour)})
	if !m.shown.At.Equal(noon.Add(-time.Hour)) || len(m.recent) != 1 || len(m.trail.moments) != 1 {
		t.Error("the clock was set back and the screen stands still")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := newModel(t.Context(), &kept{}, Options{Location: time.UTC}, noon)
	for i := range keepMoments + 100 {
		at := noon.Add(time.Duration(i) * time.Second)
		m.Update(updateMsg{Update{
			State:  &state.State{Up: true, At: at},
			Events: []event.Event{{At: at, Kind: event.Gap}, {At: at, Kind: event.Gap}},
		}, at})
	}
	if len(m.recent) != keepStates || len(m.trail.moments) != keepMoments || len(m.trail.events) != keepEvents {
		t.Errorf("%d states, %d moments, %d events", len(m.recent), len(m.trail.moments), len(m.trail.events))
	}
	if !m.trail.from.Equal(m.trail.moments[0].at) {
		t.Error("the trail claims to reach further back than it does")
	}
}

func TestCursorStaysOnItsSession(t *testing.T) {
	m := screenOf(t, 100, 30, pileUp(noon))
	press(m, "2", "down")
	on := m.cursor[sessionView]
	if on.id != "42" {
		t.Fatalf("on %v", on)
	}
	s := pileUp(noon.Add(time.Second))
	s.Sessions[3].Seconds = 1 // 51 sinks below it
	m.Update(updateMsg{Update{State: s}, s.At})
	if m.cursor[sessionView] != on {
		t.Errorf("on %v", m.cursor[sessionView])
	}
	s = pileUp(noon.Add(2 * time.Second))
	s.Sessions = s.Sessions[1:] // it has gone
	m.Update(updateMsg{Update{State: s}, s.At})
	if m.cursor[sessionView].kind != aSession || m.cursor[sessionView].id == "42" {
		t.Errorf("on %v", m.cursor[sessionView])
	}
	press(m, "home")
	m.Update(updateMsg{Update{State: pileUp(noon.Add(3 * time.Second))}, noon})
	if m.cursor[sessionView].id != "51" {
		t.Errorf("on %v: not on top", m.cursor[sessionView])
	}
	s = &state.State{Up: true, At: noon.Add(4 * time.Second)}
	m.Update(updateMsg{Update{State: s}, s.At})
	if m.cursor[sessionView] != (ref{}) {
		t.Errorf("on %v", m.cursor[sessionView])
	}
}

func TestCursorIsAlwaysInSight(t *testing.T) {
	s := pileUp(noon)
	for i := range 150 {
		s.Sessions = append(s.Sessions, state.Session{
			ID: uint64(1000 + i), Command: "Query",
			Seconds: float64(i) / 1000,
		})
	}
	m := screenOf(t, 80, 20, s)
	press(m, "2")
	for _, k := range []string{"down", "pgdown", "pgdown", "up", "pgup", "end", "up", "home", "end", "pgup"} {
		press(m, k)
		if strings.Count(textOf(m), "›") != 1 {
			t.Fatalf("after %s:\n%s", k, textOf(m))
		}
	}
	press(m, "home")
	if !strings.Contains(textOf(m), "statement") {
		t.Error("the head of the table is out of sight on its first row")
	}
	press(m, "end")
	if m.cursor[sessionView].id != "41" && !strings.Contains(textOf(m), "›      41") {
		t.Errorf("on %v", m.cursor[sessionView])
	}
}

func TestSortAndFilter(t *testing.T) {
	m := screenOf(t, 130, 30, pileUp(noon))
	press(m, "2")
	first := func() string {
		for _, r := range m.rows() {
			if r.ref.kind != nothing {
				return r.ref.id
			}
		}
		return ""
	}
	var got []string
	for range len(sessionOrders) + 1 {
		got = append(got, first())
		press(m, "s")
	}
	if s := strings.Join(got, " "); s != "51 42 41 42 42 41 51" {
		t.Errorf("first rows %s", s)
	}
	press(m, "/", "S", "T", "o", "c", "k", "x", "backspace", "enter")
	if got := textOf(m); !strings.Contains(got, "filter: STock") || strings.Contains(got, " 42 ") ||
		!strings.Contains(got, " 51 ") {
		t.Errorf("got\n%s", got)
	}
	press(m, "/", "z", "esc") // given up: the filter before holds
	if m.filter != "STock" {
		t.Errorf("filter %q", m.filter)
	}
	press(m, "3")
	if got := textOf(m); strings.Contains(got, "● 41") || !strings.Contains(got, "blocker unknown") {
		t.Errorf("got\n%s", got)
	}
	press(m, "esc")
	if !strings.Contains(textOf(m), "● 41") {
		t.Error("the filter is still there")
	}
	press(m, "/", "n", "o", "n", "e", "enter", "2")
	if !strings.Contains(textOf(m), `nothing matches "none"`) {
		t.Errorf("got\n%s", textOf(m))
	}
}

func TestEmptyIsNotTheSameAsNotSeen(t *testing.T) {
	f := func(key, want string, change func(*state.State)) {
		t.Helper()
		s := &state.State{Target: "t", Up: true, At: noon}
		change(s)
		m := screenOf(t, 100, 30, s)
		press(m, key)
		if got := textOf(m); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in\n%s", key, want, got)
		}
	}
	lost := func(name source.Name) func(*state.State) {
		return func(s *state.State) {
			d := pileUp(noon).Sources[1]
			d.Name = name
			s.Sources = append(s.Sources, d)
		}
	}
	none := func(*state.State) {}
	f("3", "no waiters", none)
	f("3", "not observed: locks: a privilege is missing", lost("locks"))
	f("2", "not observed: processlist: a privilege is missing", lost("processlist"))
	f("4", "the first window is not complete", none)
	f("4", "no statement in the last 5.0 s", func(s *state.State) { s.ClassSeconds = 5; lost("digests")(s) })
	f("4", "not observed: digests: a privilege is missing", lost("digests"))
	f("5", "none is open", none)
	f("5", "not observed: transactions", lost("transactions"))
	f("6", "none: all sources are available", none)
}

func TestExplain(t *testing.T) {
	m := screenOf(t, 100, 40, pileUp(noon))
	press(m, "2", "e")
	if !strings.Contains(textOf(m), "not available here") {
		t.Errorf("got\n%s", textOf(m))
	}
	var sql, db string
	fail := error(nil)
	m.o.Explain = func(_ context.Context, s, d string) (string, error) {
		sql, db = s, d
		return "id\ttable\n1\tord\x1bers", fail
	}
	press(m, "down", "e")
	if sql != "UPDATE orders SET state='paid'\n\tWHERE id = 7" || db != "shop" ||
		!strings.Contains(textOf(m), "1       ord␛ers") {
		t.Errorf("asked for %q in %q:\n%s", sql, db, textOf(m))
	}
	press(m, "esc", "4", "e") // a class: the statement of a session that runs it
	if !strings.HasPrefix(sql, "UPDATE orders") || m.over == nil {
		t.Errorf("asked for %q:\n%s", sql, textOf(m))
	}
	press(m, "esc", "down", "e")
	if m.over != nil || !strings.Contains(textOf(m), "no statement of that class is running") {
		t.Errorf("got\n%s", textOf(m))
	}
	fail = errors.New("SELECT command denied")
	press(m, "2", "e")
	if !strings.Contains(textOf(m), "SELECT command denied") {
		t.Errorf("got\n%s", textOf(m))
	}
	press(m, "esc")
	m.o.Explain = func(ctx context.Context, _, _ string) (string, error) {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("a plan is waited for without end")
		}
		return "", nil
	}
	press(m, "e", "esc")
	m.shown.Sessions[0].SQL = strings.Repeat("x", state.MaxText)
	press(m, "e")
	if !strings.Contains(textOf(m), "only the beginning") {
		t.Errorf("got\n%s", textOf(m))
	}

	// The answer to a question whose window was closed is not shown in the next one.
	m.o.Explain = func(context.Context, string, string) (string, error) { return "a plan", nil }
	m.shown = pileUp(noon)
	_, first := m.Update(keyOf("e"))
	press(m, "esc")
	_, second := m.Update(keyOf("e"))
	m.o.Explain = nil
	do(m, first)
	if !strings.Contains(textOf(m), "asking the server") {
		t.Errorf("got\n%s", textOf(m))
	}
	do(m, second)
	if strings.Contains(textOf(m), "asking the server") {
		t.Errorf("got\n%s", textOf(m))
	}
}

func TestPlanThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := screenOf(t, 100, 40, pileUp(noon))
		m.o.Explain = func(ctx context.Context, _, _ string) (string, error) {
			<-ctx.Done()
			return "", fmt.Errorf("read: %w", ctx.Err())
		}
		press(m, "2", "e")
		if got := textOf(m); !strings.Contains(got, "tables may be locked") {
			t.Errorf("got\n%s", got)
		}
	})
}

// TestGraphsFollow goes on while the past of the graphs is being read: it is read once at a time, and in the end for
// where the user is.
func TestGraphsFollow(t *testing.T) {
	m := liveOn(t, pastOf(), 1)
	_, first := m.Update(keyOf("["))
	seek := first() // the state of a minute ago
	_, looks := m.Update(seek)
	if looks == nil || !m.looking {
		t.Fatal("nothing is read for the graphs")
	}
	for range 10 {
		_, cmd := m.Update(keyOf("["))
		_, again := m.Update(cmd())
		if again != nil {
			t.Fatal("read twice at a time")
		}
	}
	do(m, looks)
	if m.looking || !m.behind().covers(m.shown.At) || m.behind() != &m.history || len(m.behind().moments) < 100 {
		t.Errorf("graphs from %v to %v with %d moments for %v", m.history.from, m.history.to,
			len(m.history.moments), m.shown.At)
	}
	// A long pause: what came live no longer reaches back to it.
	press(m, "l", "p")
	at := m.shown.At
	for i := range keepMoments + 200 {
		s := calm(noon.Add(time.Duration(i+1) * time.Second))
		m.Update(updateMsg{Update{State: s}, s.At})
	}
	do(m, m.cover())
	if !m.shown.At.Equal(at) || !m.behind().covers(at) {
		t.Errorf("paused at %v: graphs from %v to %v", at, m.behind().from, m.behind().to)
	}
}

// TestNearKeepsToItsSideOfAGap is the same for what came lately.
func TestNearKeepsToItsSideOfAGap(t *testing.T) {
	m := newModel(t.Context(), &kept{}, Options{Location: time.UTC}, noon)
	for _, sec := range []int{0, 1, 60, 61, 62, 63} {
		s := calm(noon.Add(time.Duration(sec) * time.Second))
		m.Update(updateMsg{Update{State: s}, s.At})
	}
	f := func(d time.Duration, want int) {
		t.Helper()
		do(m, m.step(d))
		if got := m.shown.At.Sub(noon); got != time.Duration(want)*time.Second {
			t.Errorf("a step of %v: at %v, want %d s", d, got, want)
		}
	}
	f(-time.Second, 62)
	f(-30*time.Second, 60)
	f(-time.Second, 1)
	f(time.Second, 60)
	f(-time.Minute, 0)
	f(time.Minute, 60)
	f(-59*time.Second, 1)
}

func TestKeysThatLeave(t *testing.T) {
	m := screenOf(t, 80, 24, pileUp(noon))
	press(m, "?")
	if quits(m, "q") || m.over != nil {
		t.Error("q does not close what is open first")
	}
	press(m, "/")
	if quits(m, "q") || m.filter != "q" {
		t.Error("q cannot be typed")
	}
	if !quits(m, "ctrl+c") {
		t.Error("Ctrl-C does not leave")
	}
	press(m, "esc")
	if !quits(m, "q") {
		t.Error("q does not leave")
	}
	for range int(views) {
		press(m, "tab")
	}
	press(m, "shift+tab")
	if m.page != sourceView {
		t.Errorf("view %d", m.page)
	}
}
