package page

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/browser"
)

// TestDraggingWritesLittle drags the timeline at pointer rate: what is shown follows, the browser's history is written
// a few times only. Browsers allow few changes in a time, and throw for those beyond.
func TestDraggingWritesLittle(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/activity?target=shop&from=-15m")
	refusals(b, "404", `state\?`) // nothing is kept of before the test
	b.Wait(".track")
	var calls int
	b.Eval(`(() => {
		let calls = 0;
		for (const name of ['pushState', 'replaceState']) {
			const f = history[name].bind(history);
			history[name] = (...x) => { calls++; return f(...x); };
		}
		const track = document.querySelector('.track'), r = track.getBoundingClientRect();
		const send = (type, share) => track.dispatchEvent(new PointerEvent(type, {bubbles: true, button: 0, pointerId: 1, clientX: r.left + r.width * share, clientY: r.top + 10}));
		track.setPointerCapture = () => {}; // there is no such pointer
		send('pointerdown', 0.2);
		for (let i = 0; i < 400; i++) send('pointermove', 0.2 + 0.5 * i / 400);
		send('pointerup', 0.7);
		return calls;
	})()`, &calls)
	if calls > 8 {
		t.Errorf("the history was written %d times", calls)
	}
	b.Until("the address follows", func() error {
		if at, slider := b.Param("at"), b.Attr(".track", "aria-valuenow"); at != slider {
			return fmt.Errorf("at is %q, the slider is at %q", at, slider)
		}
		return nil
	})
	b.Back() // the drag is one step
	b.Until("it is the present", func() error {
		if at := b.Param("at"); at != "" {
			return fmt.Errorf("at is %q", at)
		}
		return nil
	})
}

// TestZoomAndBack zooms, goes back by the browser, and then presses Escape: the page is not left for it.
func TestZoomAndBack(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	s.watchedFor(10 * time.Second)
	visit(b, "/?view=rows")
	visit(b, "/overview?target=shop&from=-5m")
	b.Wait("#panel-throughput canvas")
	first := b.URL()
	at := func(what string, ok func(url string) bool) {
		t.Helper()
		b.Until(what, func() error {
			if got := b.URL(); !ok(got) {
				return fmt.Errorf("it is at %s", got)
			}
			return nil
		})
	}
	zoom := func() {
		t.Helper()
		b.Settle()
		b.Drag("#panel-throughput .u-over", 0.4, 0.98) // until six seconds ago
		at("a part of the time", func(u string) bool { return b.Param("to") != "" })
	}
	zoom()
	b.Key("Escape")
	at("Escape undoes the zoom", func(u string) bool { return u == first })
	zoom()
	b.Settle()
	twice(b, "#panel-throughput .u-over")
	at("a double click undoes it", func(u string) bool { return u == first })
	b.WaitGone(".sv-pinned")
	zoom()
	b.Back()
	at("the way back undoes it too", func(u string) bool { return u == first })
	b.Key("Escape")
	at("without a zoom Escape takes the range away", func(u string) bool { return u == "/overview?target=shop" })
}

// twice double-clicks the middle of an element.
func twice(b *browser.Tab, css string) {
	b.Wait(css) // it may be drawn in a moment
	b.Eval(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q), r = e.getBoundingClientRect();
		const send = (type, detail) => e.dispatchEvent(new MouseEvent(type, {bubbles: true, detail, button: 0, clientX: r.left + r.width / 2, clientY: r.top + r.height / 2}));
		for (const n of [1, 2]) { send('mousedown', n); send('mouseup', n); send('click', n); }
		send('dblclick', 2);
	})()`, css), nil)
}

// TestEscapeClosesTheMenuOnly: what is behind a menu does not hear the keys that are the menu's.
func TestEscapeClosesTheMenuOnly(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	end := time.Now().Unix()
	path := fmt.Sprintf("/overview?target=shop&from=%d&to=%d", end-600, end-300)
	visit(b, path)
	b.Click(".range .menu-button")
	b.Wait(".menu-sheet")
	b.Key("Escape")
	b.WaitGone(".menu-sheet")
	b.Settle()
	if got := b.URL(); got != path {
		t.Errorf("Escape in a menu leads to %s", got)
	}
	visit(b, "/activity?target=shop")
	b.Click(".range .menu-button")
	b.Wait(".menu-sheet")
	b.Key("Tab")
	b.WaitFor(`document.activeElement?.closest('.menu-sheet')`)
	b.Key("ArrowLeft", "Escape")
	b.WaitGone(".menu-sheet")
	if got := b.URL(); got != "/activity?target=shop" {
		t.Errorf("arrows in a menu lead to %s", got)
	}
}

// TestEscapeClosesTheSession: the focus is back on its row.
func TestEscapeClosesTheSession(t *testing.T) {
	s := stage(t)
	c, err := s.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var id string
	if err := c.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = c.ExecContext(ctx, "DO SLEEP(600)") // it ends with the test
	}()
	defer func() { cancel(); <-ended }()
	b := s.Browser(t)
	visit(b, "/activity?target=shop&q="+id)
	row := "main tr[data-key='" + id + "']"
	b.Wait(row)
	b.Eval(fmt.Sprintf(`document.querySelector(%q).focus()`, row), nil)
	b.Key("Enter")
	b.WaitURL("session=" + id)
	b.Wait("aside.session")
	b.Key("Escape")
	b.WaitGone("aside.session")
	if got := b.Param("session"); got != "" {
		t.Errorf("session is %q", got)
	}
	b.WaitFor(fmt.Sprintf(`document.activeElement?.dataset.key === %q`, id))
}

// TestBackScrolls: the way back leads to where the page was, though it is made anew.
func TestBackScrolls(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/overview?target=shop&from=-5m")
	b.Wait("#panel-throughput canvas")
	b.Settle()
	var y float64
	b.Eval(`(scrollTo(0, 700), scrollY)`, &y)
	if y < 300 {
		t.Fatalf("the page scrolls to %v only", y)
	}
	near := func(what string, want float64) {
		t.Helper()
		b.Until(what, func() error {
			var now float64
			if b.Eval(`scrollY`, &now); math.Abs(now-want) > 1 {
				return fmt.Errorf("it is at %v, was at %v", now, want)
			}
			return nil
		})
	}
	goTo(b, "/queries", "g", "q")
	near("another page begins at its top", 0)
	b.Back()
	b.WaitURL("/overview")
	near("back where it was", y)
	b.Reload()
	b.Wait("#panel-throughput canvas")
	near("loaded anew it is there too", y)
}

// TestUnknownGraph: an address that asks for a graph that there is not leads to those that there are.
func TestUnknownGraph(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	refusals(b, "400", `\S*panel=nonsense`)
	visit(b, "/overview?target=shop&from=-5m&panel=nonsense")
	b.Wait(".problem")
	b.ClickText("All graphs")
	b.Wait("#panel-throughput canvas")
	b.WaitGone(".problem")
}

// TestWorkThatEndedWithDyno kills the program while it looks at a server and starts it again: the page does not go on
// saying that it runs.
func TestWorkThatEndedWithDyno(t *testing.T) {
	s := stage(t)
	p := own(t, s)
	b := tab(t, p.URL)
	b.Allow(gone)
	refusals(b, "404|503", `(state|task)\?`)
	visit(b, "/findings?target=shop")
	b.Eval(
		`fetch('api/dyno/v1/diagnose', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({target: 'shop', window: 300})}).then((r) => { if (r.status !== 202) throw new Error(r.status) })`, nil)
	b.Wait(".tray")
	p.Kill()
	b.Wait("connection lost")
	p.Again(t)
	b.Wait(".live-live")
	b.Click(".tray-head")
	b.WaitText(".tray", "restarted meanwhile")
}

// TestAnothersChange ends a session under a note that is being typed, and somebody else logs in: the note is not kept
// in their name.
func TestAnothersChange(t *testing.T) {
	s := stage(t)
	p, _ := locked(t, s)
	with(t, p.home, annasPassword, "user", "add", "anna")
	with(t, p.home, bensPassword, "user", "add", "ben", "--role", "operator")
	b := tab(t, p.URL)
	strict(b)
	b.Open("/overview?target=shop&from=-5m")
	logIn(b, "anna", annasPassword)
	b.WaitURL("/overview")
	b.Wait(".live-live")
	b.Settle() // before, nobody hears the key
	b.Key("a")
	b.Wait("dialog input")
	b.Fill("dialog input", "annas note")
	with(t, p.home, annasPassword, "user", "password", "anna")
	b.Eval(`[...document.querySelectorAll('dialog button')].find((e) => e.innerText.trim() === 'Add note').click()`,
		nil)
	b.Wait("Your session ended")
	b.Fill("#login-name", "ben")
	b.Fill("#login-password", bensPassword)
	b.Key("Enter")
	b.WaitGone("Your session ended")
	b.Wait("this browser is now logged in as ben")
	var kept struct{ Events []struct{ Text string } }
	b.Eval(`fetch('./api/dyno/v1/events?target=shop&kind=annotation').then((r) => r.json())`, &kept)
	if len(kept.Events) != 0 {
		t.Errorf("kept is %+v", kept.Events)
	}
	if log := try(t, p.home, "user", "audit", "--output", "json"); strings.Contains(log,
		`"who":"ben","via":"session","from":"127.0.0.1","what":"POST /api/dyno/v1/annotate"`) {
		t.Errorf("the audit log has\n%s", log)
	}
}
