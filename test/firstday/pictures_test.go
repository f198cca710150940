package firstday_test

import (
	"cmp"
	"net/url"
	"os"
	"strings"

	"github.com/dyno-perf/dyno/test/browser"
)

// pictures takes one of every page with what the trial left there, on a laptop and on a phone, in both themes, when
// DYNO_TEST_PICTURES is set: they are for people to look at.
func (v *served) pictures(targets ...string) {
	t := v.t
	if os.Getenv("DYNO_TEST_PICTURES") == "" {
		return
	}
	chromium, err := browser.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer chromium.Close()
	b := chromium.Tab(t, v.url)
	b.Allow(`.`)
	shot := func(name string, width int64) {
		var height int64
		b.Eval(`Math.min(6000, document.documentElement.scrollHeight)`, &height) // graphs are drawn when they are seen
		b.Size(width, max(800, height))
		b.Settle()
		b.Shot(name)
	}
	take := func(name, path string) {
		for _, window := range []struct {
			name  string
			width int64
		}{{"-laptop", 1280}, {"-phone", 390}} {
			b.Light()
			b.Size(window.width, 800)
			b.Open(path)
			b.Wait("h1")
			b.Settle()
			shot(name+window.name+"-light", window.width)
			b.Dark()
			shot(name+window.name+"-dark", window.width)
		}
	}
	for _, page := range []string{
		"", "experiments", "settings", "settings?tab=users", "settings?tab=retention",
		"settings?tab=about", "welcome", "login",
	} {
		take(strings.ReplaceAll(cmp.Or(page, "fleet"), "?tab=", "-"), "/"+page)
	}
	for _, target := range targets {
		for _, page := range []string{"overview", "activity", "queries", "findings", "changes", "overhead"} {
			take(target+"-"+page, "/"+page+"?target="+target)
		}
		take(target+"-compare", "/queries?target="+target+"&before=previous")
		c, err := get[classes](v, "classes", "target", target, "limit", "1")
		if err != nil || len(c.Classes) == 0 {
			t.Fatalf("%+v, %v", c, err)
		}
		take(target+"-query", "/queries?target="+target+"&class="+url.QueryEscape(c.Classes[0].ID))
	}
}
