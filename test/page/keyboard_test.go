package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/browser"
)

// TestKeyboardReaches walks through every page with Tab alone: everything that a mouse can click must have had the
// focus, and the focus must have been seen. Of a group that arrow keys move in (tabs, rows, options) one member is
// enough.
func TestKeyboardReaches(t *testing.T) {
	s := stage(t)
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			b := s.Browser(t)
			visit(b, p.path)
			const what = `
				const seen = (e) => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length > 0 && !e.closest('[inert]'); // what a closed fold holds has a box, and is not seen
				const say = (e) => e.outerHTML.replace(/\s+/g, ' ').slice(0, 140);
				const focusable = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex], iframe';
				const groups = '[role=tablist], [role=listbox], [role=menu], [role=grid], [role=radiogroup], [role=toolbar], [role=tree], table, [role=rowgroup]';
				const reached = [...(window.reached ?? [])];
				const ok = (e) => window.reached.has(e) || reached.some((r) => e.contains(r) && e.matches('[tabindex="-1"]'));
				const there = () => [...document.querySelectorAll(focusable)].filter((e) => seen(e) && !e.disabled);
				// Of what there was when this round began: a page that lives gets and loses rows, trays and notes while somebody walks through it.
				const missed = () => there().filter((e) => window.begun.has(e) && !ok(e)).filter((e) => {
					if (e.matches('main, dialog, h1, [role=alert]')) return false; // the focus is put there by the page
					const g = e.closest(groups);
					return !((e.tabIndex < 0 || e.matches('tr')) && g && window.entered.has(g));
				}).filter((e) => !(e.type === 'radio' && reached.some((r) => r.name === e.name && r.name !== '')));
			`
			var n int
			b.Eval(`(() => {`+what+`
				window.reached = new Set();
				window.begun = new Set(there());
				window.entered = new Set(); // groups
				document.addEventListener('focusin', (e) => {
					window.reached.add(e.target);
					for (let g = e.target.closest(groups); g; g = g.parentElement?.closest(groups)) window.entered.add(g);
				});
				document.activeElement?.blur?.();
				return window.begun.size;
			})()`, &n)
			if n == 0 {
				t.Fatalf("%s has nothing to act on", p.name)
			}
			var last string
			rounds := 0
			for i := range 8*n + 100 { // a page that grows for as long as somebody walks has no end
				b.Key("Tab")
				var at struct {
					Away bool   // the focus has left the page: the round is complete
					Dim  string // what has the focus, and nobody sees it
					// of There elements now, Stayed were there when the round began, and Left of these were not reached
					Left, Stayed, There int
				}
				b.Eval(`(() => {`+what+`
					const all = there();
					const so = {Left: missed().length, Stayed: all.filter((e) => window.begun.has(e)).length, There: all.length};
					const e = document.activeElement;
					if (!e || e === document.body) return {Away: true, Dim: '', ...so};
					const s = getComputedStyle(e), rings = (s) => (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0) || s.boxShadow !== 'none';
					const near = [e, e.parentElement, e.firstElementChild, e.nextElementSibling].filter(Boolean);
					const dim = !near.some((x) => rings(getComputedStyle(x)) || ['::before', '::after'].some((p) => rings(getComputedStyle(x, p)))) && !e.matches('input, textarea, select, iframe, main, [tabindex="-1"]');
					return {Away: false, Dim: dim ? say(e) : '', ...so};
				})()`, &at)
				if at.Dim != "" && at.Dim != last {
					t.Errorf("%s: the focus is not seen on %s", p.name, at.Dim)
					last = at.Dim
				}
				if !at.Away || i == 0 {
					continue
				}
				// Once more when what had the focus was taken away, and with it the focus; or when much is there by now
				// that was not when the round began.
				if rounds++; rounds == 8 || at.Left == 0 && at.There-at.Stayed <= at.There/4 {
					if at.Stayed < at.There/2 {
						t.Errorf("%s replaces what is on it: of %d elements %d stayed for a round",
							p.name, at.There, at.Stayed)
					}
					break
				}
				b.Eval(`(() => {`+what+` window.begun = new Set(there()) })()`, nil)
			}
			if rounds == 0 {
				t.Errorf("%s: the focus never comes round", p.name)
			}
			var missed []string
			b.Eval(`(() => {`+what+` return missed().map(say); })()`, &missed)
			for _, m := range missed {
				t.Errorf("%s: Tab does not reach %s", p.name, m)
			}
			// What looks as if it could be clicked is an element that a keyboard can use, or is in one.
			var mouse []string
			b.Eval(`(() => {`+what+`
				return [...document.querySelectorAll('main *')].filter((e) => seen(e) && getComputedStyle(e).cursor === 'pointer' && (!e.parentElement || getComputedStyle(e.parentElement).cursor !== 'pointer'))
					.filter((e) => !e.closest(focusable + ', label') && !e.querySelector(focusable) && !e.closest(groups)?.querySelector('[tabindex="0"]')).slice(0, 10).map(say);
			})()`, &mouse)
			for _, m := range mouse {
				t.Errorf("%s: only a mouse can click %s", p.name, m)
			}
		})
	}
}

// goTo presses a pair of keys that leads to a page, again when the machine let the second come too late for a pair.
func goTo(b *browser.Tab, path string, keys ...string) {
	b.Until(strings.Join(keys, " ")+" leads to "+path, func() error {
		b.Key(keys...)
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if strings.HasPrefix(b.URL(), path) {
				return nil
			}
		}
		return fmt.Errorf("it is at %s", b.URL())
	})
}

// TestShortcuts goes from page to page by keys, asks for help, searches, and walks in time.
func TestShortcuts(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/overview?target=shop&from=-5m")
	f := func(keys, path string) {
		t.Helper()
		goTo(b, path, strings.Fields(keys)...)
		b.Wait("h1")
		if got := b.Param("target"); path != "/experiments" && path != "/settings" && got != "shop" {
			t.Errorf("%s leads to %s: the target is lost", keys, b.URL())
		}
	}
	f("g q", "/queries")
	f("g n", "/activity")
	f("g s", "/overview")
	f("g q", "/queries")
	b.Wait("[data-search]") // not in the first minute, whose classes are a table of their own
	b.Key("/")
	b.WaitFor(`document.activeElement?.matches('input')`)
	b.Type("orders")
	b.WaitURL("orders")
	b.Key("g", "s") // into the field
	if got := b.URL(); !strings.HasPrefix(got, "/queries") {
		t.Fatalf("keys that were typed into a field led to %s", got)
	}
	b.Eval(`document.activeElement.blur()`, nil)
	b.Key("?")
	b.Wait("dialog[open]")
	if said := b.Text("dialog[open]"); !strings.Contains(said, "/") || !strings.Contains(said, "[") ||
		!strings.Contains(said, "g") {
		t.Errorf("the help says %q", said)
	}
	b.Axe("dialog[open]")
	b.Shot("help")
	b.Key("Escape")
	b.WaitGone("dialog[open]")

	visit(b, "/overview?target=shop&from=1767225600&to=1767229200")
	b.Key("[")
	b.Until("an earlier hour", func() error { return between(b.Param("to"), 1767225600, 1767229199) })
	b.Key("]")
	b.Until("the hour again", func() error { return between(b.Param("to"), 1767229200, 1767229200) })
}

func between(s string, lo, hi float64) error {
	var x float64
	if _, err := fmt.Sscan(s, &x); err != nil || x < lo || x > hi {
		return fmt.Errorf("got %q, want %v to %v", s, lo, hi)
	}
	return nil
}
