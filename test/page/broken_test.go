package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/browser"
)

// TestBrokenLinks follows links to what is not there, or not any more, or never was: each is answered in words, with a
// way on.
func TestBrokenLinks(t *testing.T) {
	s := stage(t)
	// sentence is what the page must say; without one it need only say something.
	f := func(path string, sentence ...string) {
		t.Helper()
		t.Run(strings.ReplaceAll(path, "/", "_"), func(t *testing.T) {
			b := s.Browser(t)
			refusals(b, "400|404|422", "")
			b.Allow(`status of 404 \([A-Za-z ]*\) http://[^/]+/nosuchpage$`) // so is the page itself
			b.Open(path)
			b.Wait("main")
			b.Settle()
			b.Until(path+" is answered", func() error {
				text := words(b.Text("main"))
				for _, w := range sentence {
					if !strings.Contains(text, w) {
						return fmt.Errorf("%q is not in %q", w, text)
					}
				}
				if len(strings.Fields(text)) < 3 {
					return fmt.Errorf("it shows %q", text)
				}
				return nil
			})
			if b.Count("main a[href], main button, nav a[href]") == 0 {
				t.Errorf("%s: there is no way on", path)
			}
			for _, bad := range []string{"undefined", "NaN", "[object"} {
				if strings.Contains(b.Text("body"), bad) {
					t.Errorf("%s shows %q", path, bad)
				}
			}
		})
	}
	f("/nosuchpage", "Page not found")
	for _, page := range []string{"overview", "activity", "queries", "findings", "overhead"} {
		f("/"+page+"?target=nosuch", `The inventory has no target "nosuch"`)
	}
	f("/queries?target=shop&class=ffffffffffffffff", "This class did not run in this time range")
	f("/findings?target=shop&finding=nosuch")
	f("/findings?target=shop&diagnosis=nosuch", `diagnosis "nosuch": not found`)
	f("/changes?target=shop&id=999999", `action "999999": not found`)
	f("/experiments?id=nosuch", "Nothing here has the id nosuch")
	f("/experiments?id=x-nosuch", "No experiment has the id x-nosuch")
	f("/experiments?recipe=nosuch")
	f("/settings?tab=nosuch")
	f("/overview?target=shop&from=abc&to=xyz")
	f("/overview?target=shop&from=now&to=-1h")
	f("/overview?target=shop&from=-1e99&to=1e308")
	f("/overview?target=shop&from=-90000d")
	f("/overview?target=%00%ff&from=%E0%A4%A")
	f("/queries?target=shop&sort=__proto__&q=%5B%28*")
	f("/queries?target=shop&sort=constructor:desc")
	f("/activity?target=shop&at=1")
	f("/activity?target=shop&at=-1e400")
	f("/?q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
	tomorrow := time.Now().Add(24 * time.Hour).Unix()
	f(fmt.Sprintf("/overview?target=shop&from=%d&to=%d", tomorrow, tomorrow+3600))
	f(fmt.Sprintf("/queries?target=shop&from=%d&to=%d", tomorrow, tomorrow+3600))
	f(fmt.Sprintf("/activity?target=shop&at=%d", tomorrow))
}

// TestDown looks at every page of a target that does not answer: the reason is told, and nothing is shown as if it had
// been measured.
func TestDown(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	refusals(b, "404|503", `\S*target=down`)
	visit(b, "/")
	b.Wait("down")
	b.Wait("refused")
	f := func(page, sentence string, figures ...string) {
		t.Helper()
		visit(b, "/"+page+"?target=down")
		// The frame tells on each page that the server is down, and why.
		if page != "changes" { // which is the journal of all servers
			b.WaitText("main", "down is down.")
			b.WaitText("main", "refused")
		}
		// The page tells it for its own part.
		b.Until(page+" tells it", func() error {
			if text := within(b); !strings.Contains(text, sentence) {
				return fmt.Errorf("%q is not in %q", sentence, text)
			}
			return nil
		})
		for _, css := range figures {
			all := b.Texts(css)
			if len(all) == 0 {
				t.Errorf("%s has no %s", page, css)
			}
			for _, x := range all {
				if x != "–" {
					t.Errorf("%s shows a figure of a server that was never reached: %q", page, all)
					break
				}
			}
		}
		b.Shot("down-" + page)
	}
	f("overview", "No data for down in this time range yet", ".sv-strip .figure-value")
	f("activity", "No session data for this time")
	f("queries", "No query data yet")
	f("findings", "down has not been diagnosed yet")
	f("changes", "No changes yet")
	// the last is its series: that it is down is one
	f("overhead", "Not measured in this time range",
		"main section:first-of-type .figure:not(:last-child) .figure-value")
}

// within returns the words of the page's content without what the frame says above it.
func within(b *browser.Tab) string {
	var text string
	b.Eval(
		`[...document.querySelector('main').children].filter((e) => !e.matches('.notice.tone-bad')).map((e) => e.innerText).join(' ')`, &text)
	return words(text)
}
