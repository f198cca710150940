package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/browser"
)

// place is a page of the program and how it is called.
type place struct{ name, path, title string }

// places are all pages, each as a person comes to it.
var places = []place{
	{"fleet", "/", "Fleet"},
	{"overview", "/overview?target=shop&from=-5m", "Overview"},
	{"activity", "/activity?target=shop", "Activity"},
	{"queries", "/queries?target=shop&from=-5m", "Queries"},
	{"explorer", "/explorer?target=shop&from=-5m", "Explorer"},
	{"findings", "/findings?target=shop", "Findings"},
	{"changes", "/changes?target=shop", "Changes"},
	{"experiments", "/experiments", "Experiments"},
	{"overhead", "/overhead?target=shop", "Overhead"},
	{"settings", "/settings", "Settings"},
	{"welcome", "/welcome", ""},
	{"login", "/login", ""},
}

// visit opens a page and waits until it has what it asked for.
func visit(b *browser.Tab, path string) {
	b.Open(path)
	b.Wait("h1")
	b.Settle()
}

// TestEveryPage looks at every page in both themes, on a laptop and on a phone.
func TestEveryPage(t *testing.T) {
	s := stage(t)
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			b := s.Browser(t)
			visit(b, p.path)
			sound(t, b, p)
			b.ShotAll(p.name + "-light")
			b.Axe()
			var before string
			b.Eval(`getComputedStyle(document.body).backgroundColor`, &before)
			b.Dark()
			b.Until("the page is dark", func() error {
				var now string
				b.Eval(`getComputedStyle(document.body).backgroundColor`, &now)
				if now == before {
					return fmt.Errorf("the background is still %s", now)
				}
				return nil
			})
			b.ShotAll(p.name + "-dark")
			b.Phone()
			visit(b, p.path) // it is as well opened there as turned there
			sound(t, b, p)
			b.ShotAll(p.name + "-phone")
			b.Axe()
			b.Light()
			b.Wide()
			b.Settle()
			sound(t, b, p)
		})
	}
}

// sound holds a page to what every one of them promises.
func sound(t *testing.T, b *browser.Tab, p place) {
	t.Helper()
	if n := b.Sideways(); n != 0 {
		var wide []string
		b.Eval(
			`[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map((e) => e.tagName + '.' + e.getAttribute('class'))`, &wide)
		t.Errorf("%s scrolls sideways by %d pixels: %v", p.name, n, wide)
	}
	var seen struct {
		Title string
		H1    []string
		Main  int
		Text  string
		Lang  string
	}
	b.Eval(
		`({Title: document.title, H1: [...document.querySelectorAll('h1')].filter((e) => e.getClientRects().length).map((e) => e.innerText),
		Main: document.querySelectorAll('main').length, Text: document.querySelector('main').innerText, Lang: document.documentElement.lang})`, &seen)
	switch {
	case len(seen.H1) != 1 || strings.TrimSpace(seen.H1[0]) == "":
		t.Errorf("%s has the headings %q, want one", p.name, seen.H1)
	case seen.Main != 1:
		t.Errorf("%s has %d main parts", p.name, seen.Main)
	case seen.Lang == "":
		t.Errorf("%s has no language", p.name)
	case !strings.Contains(seen.Title, "Dyno") || seen.Title == "Dyno":
		t.Errorf("%s has the title %q: many tabs are told apart by it", p.name, seen.Title)
	case !strings.Contains(seen.Title+" "+seen.H1[0], p.title):
		t.Errorf("%s has the title %q and the heading %q", p.name, seen.Title, seen.H1[0])
	case len(strings.Fields(seen.Text)) < 3:
		t.Errorf("%s is as good as blank: %q", p.name, seen.Text)
	}
	for _, bad := range []string{"undefined", "NaN", "[object ", "null"} {
		for _, w := range strings.Fields(seen.Text) {
			if strings.Trim(w, ".,:;()") == bad || bad == "[object " && strings.Contains(w, "[object") {
				t.Errorf("%s shows %q", p.name, w)
			}
		}
	}
}
