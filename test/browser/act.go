package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// helpers are the functions that the scripts below use, written before each of them: nothing of a test stays in the
// page.
const helpers = `
const seen = (e) => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length > 0; // what a closed fold holds has a box, and is not seen
const find = (css) => { const all = [...document.querySelectorAll(css)]; return all.find(seen) ?? null; };
const flat = (s) => (s ?? '').replace(/\s+/g, ' ').trim();
`

// Open goes to a path with query of the page's host, or to a whole URL, and waits until the document is loaded. What
// the page fetches afterwards is Wait's.
func (b *Tab) Open(path string) {
	b.t.Helper()
	u, err := b.base.Parse(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.do("open "+path, chromedp.Navigate(u.String()))
}

// Reload loads the page anew.
func (b *Tab) Reload() { b.t.Helper(); b.do("reload", chromedp.Reload()) }

// Back goes one step back in the tab's history.
func (b *Tab) Back() { b.t.Helper(); b.step(-1) }

// Forward goes one step forward again.
func (b *Tab) Forward() { b.t.Helper(); b.step(1) }

func (b *Tab) step(n int64) {
	b.t.Helper()
	b.do("walk in the history", chromedp.ActionFunc(func(ctx context.Context) error {
		at, all, err := page.GetNavigationHistory().Do(ctx)
		if err != nil {
			return err
		}
		if at+n < 0 || at+n >= int64(len(all)) {
			return fmt.Errorf("no step %+d from %d of %d", n, at, len(all))
		}
		return page.NavigateToHistoryEntry(all[at+n].ID).Do(ctx)
	}))
}

// URL returns path and query of where the tab is.
func (b *Tab) URL() string {
	b.t.Helper()
	var s string
	b.Eval("location.pathname + location.search", &s)
	return s
}

// Param returns a parameter of the tab's URL, "" when it is not there.
func (b *Tab) Param(name string) string {
	b.t.Helper()
	u, err := url.Parse(b.URL())
	if err != nil {
		b.t.Fatal(err)
	}
	return u.Query().Get(name)
}

// Wait waits until an element that matches a CSS selector is seen, or a text is, in whatever case and wherever lines
// break.
func (b *Tab) Wait(what string) {
	b.t.Helper()
	b.Until("wait for "+what, func() error {
		return b.holds(call(`(what) => {`+helpers+`
			try { if (find(what)) return true; } catch { }
			return flat(document.body?.innerText).toLowerCase().includes(flat(what).toLowerCase());
		}`, what), "not there")
	})
}

// WaitGone waits until neither an element nor a text is seen any more.
func (b *Tab) WaitGone(what string) {
	b.t.Helper()
	b.Until("wait until it is gone: "+what, func() error {
		return b.holds(call(`(what) => {`+helpers+`
			try { if (find(what)) return false; } catch { }
			return !flat(document.body?.innerText).toLowerCase().includes(flat(what).toLowerCase());
		}`, what), "still there")
	})
}

// WaitFor waits until a script is true.
func (b *Tab) WaitFor(script string) {
	b.t.Helper()
	b.Until("wait for "+short(script, 300), func() error { return b.holds("!!("+script+")", "not true") })
}

// WaitURL waits until path and query of the tab contain a text.
func (b *Tab) WaitURL(part string) {
	b.t.Helper()
	b.WaitFor(call(`(part) => (location.pathname + location.search).includes(part)`, part))
}

// WaitText waits until the text of the first seen element that matches css contains a text, as Wait compares it.
func (b *Tab) WaitText(css, part string) {
	b.t.Helper()
	b.Until(fmt.Sprintf("wait for %q in %s", part, css), func() error {
		var got string
		if err := b.try(call(`(css) => {`+helpers+` const e = find(css); return e ? flat(e.innerText) : ''; }`, css),
			&got); err != nil {
			return err
		}
		if !strings.Contains(strings.ToLower(got), strings.ToLower(strings.Join(strings.Fields(part), " "))) {
			return fmt.Errorf("it says %q", short(got, 500))
		}
		return nil
	})
}

// Settle waits until the page has what it asked for: no request has been under way for a moment, and nothing stands in
// for what comes.
func (b *Tab) Settle() {
	b.t.Helper()
	var quiet time.Time
	b.Until("settle", func() error {
		b.mu.Lock()
		n := len(b.flying)
		b.mu.Unlock()
		var bones int
		err := b.try(`(() => {`+helpers+
			` return document.readyState !== 'complete' ? 1 : [...document.querySelectorAll('.loading, [aria-busy=true]')].filter(seen).length; })()`, &bones)
		switch {
		case err != nil:
		case n > 0:
			err = fmt.Errorf("%d requests are under way", n)
		case bones > 0:
			err = fmt.Errorf("%d parts are loading", bones)
		}
		if err != nil {
			quiet = time.Time{}
			return err
		}
		if quiet.IsZero() {
			quiet = time.Now()
		}
		if time.Since(quiet) < 150*time.Millisecond {
			return errors.New("just now")
		}
		return nil
	})
}

func (b *Tab) holds(script, otherwise string) error {
	var ok bool
	if err := b.try(script, &ok); err != nil {
		return err
	}
	if !ok {
		return errors.New(otherwise)
	}
	return nil
}

// Text waits for the first seen element that matches css and returns its text as it is shown.
func (b *Tab) Text(css string) string {
	b.t.Helper()
	var got *string
	b.Until("read "+css, func() error {
		if err := b.try(call(`(css) => {`+helpers+` const e = find(css); return e ? e.innerText.trim() : null; }`, css),
			&got); err != nil {
			return err
		}
		if got == nil {
			return errors.New("not there")
		}
		return nil
	})
	return *got
}

// Texts returns the texts of all seen elements that match css now, with single spaces for whatever stands between
// words.
func (b *Tab) Texts(css string) []string {
	b.t.Helper()
	var all []string
	b.Eval(call(`(css) => {`+helpers+
		` return [...document.querySelectorAll(css)].filter(seen).map((e) => flat(e.innerText)); }`, css), &all)
	return all
}

// Count returns how many elements match css, seen or not.
func (b *Tab) Count(css string) int {
	b.t.Helper()
	var n int
	b.Eval(call(`(css) => document.querySelectorAll(css).length`, css), &n)
	return n
}

// Attr waits for the first element that matches css and returns an attribute of it, "" when it has none.
func (b *Tab) Attr(css, name string) string {
	b.t.Helper()
	b.WaitFor(call(`(css) => document.querySelector(css)`, css))
	var s string
	b.Eval(call(`(css, name) => document.querySelector(css)?.getAttribute(name) ?? ''`, css, name), &s)
	return s
}

type point struct{ X, Y, W, H float64 }

// place waits until a point of the element that a script finds can be hit by a mouse, and returns its rectangle in the
// window.
func (b *Tab) place(what, finder string) point {
	b.t.Helper()
	var p struct {
		point
		Why string
	}
	b.Until("reach "+what, func() error {
		p.Why = ""
		if err := b.try(`(() => {`+helpers+`
			const e = `+finder+`;
			if (!e) return {Why: 'not there'};
			if (e.disabled) return {Why: 'disabled'};
			const inside = (r) => r.top >= 0 && r.left >= 0 && r.bottom <= innerHeight && r.right <= innerWidth;
			if (!inside(e.getBoundingClientRect())) e.scrollIntoView({block: 'center', inline: 'nearest', behavior: 'instant'});
			// A link that is broken into lines has a box on each: the middle of them all may be beside it.
			const r = [...e.getClientRects()].reduce((a, b) => (b.width * b.height > a.width * a.height ? b : a), new DOMRect());
			const x = r.left + r.width / 2, y = r.top + r.height / 2;
			const top = document.elementFromPoint(x, y);
			if (!top || !(e.contains(top) || top.contains(e) || top.closest('label')?.control === e)) return {Why: 'covered by ' + (top ? top.outerHTML.slice(0, 200) : 'nothing in the window')};
			return {X: r.left, Y: r.top, W: r.width, H: r.height};
		})()`, &p); err != nil {
			return err
		}
		if p.Why != "" {
			return errors.New(p.Why)
		}
		return nil
	})
	return p.point
}

func byCSS(css string) string { return call(`(css) => find(css)`, css) }

// byText finds what can be clicked by the words that a person would call it by.
func byText(words string) string {
	return call(`(words) => {
		const name = (e) => flat(e.getAttribute('aria-label') || e.innerText || e.value || e.title).toLowerCase();
		const all = [...document.querySelectorAll('button, a[href], [role=button], [role=tab], [role=option], [role=menuitem], [role=row], summary, label, input[type=submit], th, tr[tabindex]')].filter(seen);
		const w = flat(words).toLowerCase();
		return all.find((e) => name(e) === w) ?? all.find((e) => name(e).startsWith(w)) ?? all.find((e) => name(e).includes(w)) ?? null;
	}`, words)
}

func (b *Tab) mouse(typ input.MouseType, x, y float64, o ...chromedp.MouseOption) chromedp.Action {
	return chromedp.MouseEvent(typ, x, y, o...)
}

func (b *Tab) press(what, finder string) {
	b.t.Helper()
	p := b.place(what, finder)
	for range 20 { // what is still being laid out moves away under the mouse
		q := b.place(what, finder)
		if q == p {
			break
		}
		p = q
	}
	x, y := p.X+p.W/2, p.Y+p.H/2
	one := chromedp.ClickCount(1)
	b.do("click "+what, b.mouse(input.MouseMoved, x, y), b.mouse(input.MousePressed, x, y, chromedp.ButtonLeft, one),
		b.mouse(input.MouseReleased, x, y, chromedp.ButtonLeft, one))
}

// Click clicks the middle of the first seen element that matches css, with the mouse, once it can be reached.
func (b *Tab) Click(css string) { b.t.Helper(); b.press(css, byCSS(css)) }

// ClickText clicks what carries these words, or a label with them: a button, link, tab, row or head of a column. The
// whole words win over their beginning, and that over a part.
func (b *Tab) ClickText(words string) { b.t.Helper(); b.press(words, byText(words)) }

// Hover moves the mouse to a place within an element: 0 is its left or top edge, 1 the other one.
func (b *Tab) Hover(css string, x, y float64) {
	b.t.Helper()
	p := b.place(css, byCSS(css))
	b.do("hover over "+css, b.mouse(input.MouseMoved, p.X+p.W*x-1, p.Y+p.H*y),
		b.mouse(input.MouseMoved, p.X+p.W*x, p.Y+p.H*y))
}

// Drag drags the mouse through an element at half its height from one part of its width to another.
func (b *Tab) Drag(css string, from, to float64) {
	b.t.Helper()
	p := b.place(css, byCSS(css))
	y, x := p.Y+p.H/2, func(f float64) float64 { return p.X + p.W*f }
	one := chromedp.ClickCount(1)
	b.do("drag through "+css, b.mouse(input.MouseMoved, x(from), y), b.mouse(input.MousePressed, x(from), y,
		chromedp.ButtonLeft, one),
		b.mouse(input.MouseMoved, x((from+to)/2), y, chromedp.ButtonLeft), b.mouse(input.MouseMoved, x(to),
			y, chromedp.ButtonLeft),
		b.mouse(input.MouseReleased, x(to), y, chromedp.ButtonLeft, one))
}

// Keys by the names that KeyboardEvent.key has for them.
var keys = map[string]string{
	"Enter": kb.Enter, "Tab": kb.Tab, "Escape": kb.Escape, "Backspace": kb.Backspace, "Delete": kb.Delete,
	"Home": kb.Home, "End": kb.End,
	"PageUp": kb.PageUp, "PageDown": kb.PageDown, "ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown,
	"ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight,
	"Space": " ",
}

var modifiers = map[string]input.Modifier{
	"Shift": input.ModifierShift, "Control": input.ModifierCtrl,
	"Alt": input.ModifierAlt, "Meta": input.ModifierMeta,
}

// Key presses keys one after the other: "g", "Enter", "Shift+Tab", "Control+a". They go to whatever has the focus.
func (b *Tab) Key(names ...string) {
	b.t.Helper()
	for _, name := range names {
		var o []chromedp.KeyOption
		last := name
		for {
			m, rest, ok := strings.Cut(last, "+")
			mod, is := modifiers[m]
			if !ok || !is || rest == "" {
				break
			}
			o, last = append(o, chromedp.KeyModifiers(mod)), rest
		}
		if k, ok := keys[last]; ok {
			last = k
		} else if len([]rune(last)) != 1 {
			b.t.Fatalf("no key is called %q", last)
		}
		for _, k := range stroke([]rune(last)[0], o) {
			b.do("press "+name, k)
		}
	}
}

// stroke is a key pressed and released. The letter comes with the press, as from a keyboard: a page that takes the
// press for itself gets no letter.
func stroke(r rune, o []chromedp.KeyOption) (all []*input.DispatchKeyEventParams) {
	for _, k := range kb.Encode(r) {
		for _, f := range o {
			k = f(k)
		}
		if k.Type == input.KeyChar && len(all) > 0 {
			down := all[len(all)-1]
			down.Type, down.Text, down.UnmodifiedText = input.KeyDown, k.Text, k.UnmodifiedText
			continue
		}
		all = append(all, k)
	}
	return all
}

// Type types a text into what has the focus, as from the clipboard.
func (b *Tab) Type(text string) { b.t.Helper(); b.do("type", input.InsertText(text)) }

// Fill puts a text into a field in place of what is there.
func (b *Tab) Fill(css, text string) {
	b.t.Helper()
	b.Click(css)
	b.Eval(call(`(css) => {`+helpers+` const e = find(css); e.focus(); e.select?.(); }`, css), nil)
	if text == "" {
		b.Key("Delete")
		return
	}
	b.Type(text)
}

// Select chooses an option of a select element by its value or its words.
func (b *Tab) Select(css, option string) {
	b.t.Helper()
	b.Until("choose "+option+" of "+css, func() error {
		return b.holds(call(`(css, option) => {`+helpers+`
			const e = find(css);
			const o = e && [...e.options].find((o) => o.value === option || flat(o.text) === option);
			if (!o) return false;
			e.value = o.value;
			e.dispatchEvent(new Event('input', {bubbles: true}));
			e.dispatchEvent(new Event('change', {bubbles: true}));
			return true;
		}`, css, option), "there is no such option")
	})
}
