package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/browser"
)

// hold keeps back what the page asks for at addresses that have a part, until the returned function lets it go.
func hold(b *browser.Tab, part string) (release func()) {
	b.Eval(fmt.Sprintf(`(() => {
		const fetch = window.fetch;
		const held = new Promise((done) => { window.letGo = done });
		window.fetch = async (url, o) => { if (String(url?.url ?? url).includes(%q)) { window.waiting = true; await held } return fetch(url, o) };
	})()`, part), nil)
	return func() { b.Eval(`window.letGo()`, nil) }
}

// TestRecipeOfAnotherScale chooses another scale while the answer about it is held up: what is on the page is of the
// scale before, and nothing can be run on it.
func TestRecipeOfAnotherScale(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/experiments?recipe=threads")
	b.Wait("Dry run")
	if n := b.Count(".lab-plan"); n != 0 {
		t.Errorf("%d plans are drawn that nobody opened", n)
	}
	b.ClickText("The plan")
	b.WaitText(".lab-plan", "dyno_plan")
	run := ".b-main"
	before := b.Attr(run, "title")
	release := hold(b, "scale=medium")
	b.ClickText("medium")
	b.WaitFor(`window.waiting === true`)
	b.Until("it waits for what the scale takes", func() error {
		if b.Attr(run, "aria-disabled") != "true" || b.Attr(run, "title") != "loading" {
			return fmt.Errorf("the button says %q", b.Attr(run, "title"))
		}
		return nil
	})
	release()
	b.Until("the scale is known", func() error {
		if got := b.Attr(run, "title"); got != before {
			return fmt.Errorf("the button says %q, at the other scale %q", got, before)
		}
		return nil
	})
}

// TestOverheadOfAnother opens the overhead of one target and goes to another one, whose answer is held up: no figure of
// the first appears under the name of the second.
func TestOverheadOfAnother(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/overhead?target=shop")
	b.Wait("global_status")
	release := hold(b, "target=down")
	b.Eval(
		`(() => { const a = document.createElement('a'); a.href = './overhead?target=down'; document.body.append(a); a.click(); a.remove() })()`, nil)
	b.Wait("Overhead on down")
	b.WaitFor(`window.waiting === true`)
	if text := b.Text("main"); strings.Contains(text, "global_status") {
		t.Errorf("of down it says %.300q", text)
	}
	release()
	b.Wait("Not measured in this time range")
}
