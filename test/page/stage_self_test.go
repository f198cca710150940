package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
)

// TestStage holds the stage to what it promises: the load runs and is counted by the server, the targets are up and
// down, and a tab sees the page.
func TestStage(t *testing.T) {
	s := stage(t)
	before := s.Server.Status(t, "Com_update")
	n := s.Load.Updates.Load() // one of these may have been under way
	eventually(t, "updates", func() error {
		if s.Load.Updates.Load() < n+5 {
			return errNotYet
		}
		return nil
	})
	if after := s.Server.Status(t, "Com_update"); after < before+4 {
		t.Errorf("the server counted %d updates, then %d", before, after)
	}
	if out := s.Dyno("target", "ls"); !strings.Contains(out, "shop") || !strings.Contains(out, "down") {
		t.Errorf("targets are\n%s", out)
	}
	b := s.Browser(t)
	b.Open("/")
	b.Wait("body")
	b.Shot("stage")
}

// TestTab holds the browser's helpers to a page that is known: otherwise a helper that sees nothing would let every
// test pass.
func TestTab(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	b.Open("/-/healthy") // the page itself would go on living
	b.Eval(`document.body.replaceChildren(Object.assign(document.createElement('main'), {textContent: 'Two  words'}))`,
		nil)
	b.Wait("two words")
	b.Wait("main")
	b.WaitGone("three words")
	if got := b.Text("main"); got != "Two words" {
		t.Errorf("the text is %q", got)
	}
	b.Eval(`(() => {
		const add = (tag, p) => document.body.appendChild(Object.assign(document.createElement(tag), p));
		window.said = [];
		add('button', {textContent: 'Press me', onclick: () => window.said.push('press')});
		add('button', {textContent: 'Press me not', onclick: () => window.said.push('not')});
		add('input', {id: 'field'});
		add('img', {id: 'unnamed', width: 20, height: 20});
		document.onkeydown = (e) => { if (e.target === document.body) window.said.push((e.shiftKey ? 'S-' : '') + e.key); };
	})()`, nil)
	b.ClickText("Press me")
	b.Eval("document.activeElement.blur()", nil)
	b.Key("g", "q", "?", "Escape", "Shift+ArrowUp")
	b.Eval(
		`document.addEventListener('keydown', (e) => { if (e.key === '/') { e.preventDefault(); document.querySelector('#field').focus(); } })`, nil)
	b.Key("/", "x") // the first only leads there
	var typed string
	if b.Eval(`document.querySelector('#field').value`, &typed); typed != "x" {
		t.Errorf("the field has %q", typed)
	}
	b.Fill("#field", "first")
	b.Fill("#field", "a\u202eb<i>")
	var got struct {
		Said  []string
		Field string
	}
	b.Eval(`({Said: window.said, Field: document.querySelector('#field').value})`, &got)
	if want := "press g q S-? Escape S-ArrowUp /"; strings.Join(got.Said, " ") != want || got.Field != "a\u202eb<i>" {
		t.Errorf("got %+v, want %s", got, want)
	}
	found := strings.Join(b.Violations(), "\n")
	if !strings.Contains(found, "image-alt") {
		t.Errorf("axe does not see an image without a name: %q", found)
	}
	if n := b.Sideways(); n != 0 {
		t.Errorf("nothing is wide, and %d pixels are told", n)
	}
	b.Eval(
		`document.body.appendChild(Object.assign(document.createElement('div'), {textContent: 'wide'})).style.width = '5000px'`, nil)
	if n := b.Sideways(); n < 3000 {
		t.Errorf("a wide element, and %d pixels are told", n)
	}
	b.Eval(`console.error("a known complaint")`, nil)
	b.Until("the complaint", func() error {
		if !strings.Contains(strings.Join(b.Console(), "\n"), "a known complaint") {
			return errNotYet
		}
		return nil
	})
	b.Allow("a known complaint")
}

// witness is a test that fails without failing the one that looks on.
type witness struct {
	testing.TB
	said []string
	ends []func()
}

func (w *witness) Helper()                      {}
func (w *witness) Failed() bool                 { return false }
func (w *witness) Cleanup(f func())             { w.ends = append(w.ends, f) }
func (w *witness) Errorf(s string, args ...any) { w.said = append(w.said, fmt.Sprintf(s, args...)) }
func (w *witness) has(words string) (found bool) {
	return slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, words) })
}

// TestTabComplains: what a page complains of fails the test that opened it, unless just that is allowed.
func TestTabComplains(t *testing.T) {
	s := stage(t)
	w := &witness{TB: t}
	b := chromium(t).Tab(w, s.URL)
	b.Allow("a known complaint")
	b.Do(page.SetBypassCSP(true)) // else the policy of this page is all that is heard of
	b.Open("/-/healthy")
	b.Eval(`console.error("a known complaint"), console.error("a complaint")`, nil)
	b.Eval(`setTimeout(() => { throw new Error("not caught") })`, nil)
	b.Eval(`alert("look here")`, nil)
	b.Eval(`fetch("/api/dyno/v1/nosuch").then(() => 0)`, nil)
	b.Eval(`fetch("http://`+deadPort+`/elsewhere", {mode: 'no-cors'}).catch(() => 0)`, nil)
	b.Until("the page has complained", func() error {
		if said := strings.Join(b.Console(), "\n"); !strings.Contains(said, "not caught") ||
			!strings.Contains(said, "404") {
			return fmt.Errorf("it says %q", said)
		}
		return nil
	})
	for _, end := range slices.Backward(w.ends) {
		end()
	}
	for _, words := range []string{"a complaint", "not caught", "look here", "404", "asked other hosts for http://" +
		deadPort + "/elsewhere"} {
		if !w.has(words) {
			t.Errorf("%q fails no test: %q", words, w.said)
		}
	}
	if w.has("a known complaint") {
		t.Errorf("what is allowed fails the test: %q", w.said)
	}
}
