package page

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestBack goes forth and back: each step shows what it showed.
func TestBack(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	end := time.Now().Unix() / 60 * 60
	visit(b, fmt.Sprintf("/overview?target=shop&from=%d&to=%d", end-600, end))
	first := b.URL()
	b.Key("[")
	b.Until("another window", func() error {
		if b.URL() == first {
			return errNotYet
		}
		return nil
	})
	second := b.URL()
	b.Key("g", "q")
	b.WaitURL("/queries")
	b.WaitText("h1", "Queries")
	third := b.URL()
	if q := query(t, third); q.Get("from") != query(t, second).Get("from") || q.Get("target") != "shop" {
		t.Errorf("from %s to %s the window is lost", second, third)
	}
	for _, want := range []string{second, first} {
		b.Back()
		b.Until("back at "+want, func() error {
			if got := b.URL(); got != want {
				return fmt.Errorf("it is at %s", got)
			}
			return nil
		})
		b.WaitText("h1", "Overview")
	}
	b.Forward()
	b.Forward()
	b.WaitURL("/queries")
	b.WaitText("h1", "Queries")
}

func query(t *testing.T, raw string) url.Values {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// TestLink copies the address of a view: a tab of somebody else shows the same.
func TestLink(t *testing.T) {
	s := stage(t)
	var kept struct {
		Classes  []any
		Coverage struct{ From, To time.Time }
	}
	minutes(t, "classes are kept", func() error {
		if err := getJSON(s.URL, "classes?target=shop", &kept); err != nil {
			return err
		}
		if len(kept.Classes) < 3 {
			return fmt.Errorf("there are %d", len(kept.Classes))
		}
		return nil
	})
	b := s.Browser(t) // a window to which nothing is added any more
	visit(b, fmt.Sprintf("/queries?target=shop&from=%d&to=%d", kept.Coverage.From.Unix(), kept.Coverage.To.Unix()))
	b.Wait("main table tbody tr")
	b.Key("/")
	b.Type("orders")
	b.WaitURL("orders")
	b.Settle()
	rows := b.Texts("main table tbody tr")
	if len(rows) < 3 {
		t.Fatalf("rows are %q", rows)
	}
	for _, r := range rows {
		if !strings.Contains(strings.ToLower(r), "orders") {
			t.Errorf("a search for orders leaves %q", r)
		}
	}
	other := s.Browser(t)
	visit(other, b.URL())
	other.Until("the same rows", func() error {
		if got := other.Texts("main table tbody tr"); !reflect.DeepEqual(got, rows) {
			return fmt.Errorf("got %q, want %q", got, rows)
		}
		return nil
	})
}

// TestTwoTabs has one person look at two things at a time: neither disturbs the other.
func TestTwoTabs(t *testing.T) {
	s := stage(t)
	a := s.Browser(t)
	visit(a, "/overview?target=shop&from=-5m")
	b := a.Beside()
	visit(b, "/overview?target=down&from=-15m")
	a.Key("g", "q")
	a.WaitURL("/queries?target=shop")
	if got := b.URL(); !strings.Contains(got, "target=down") || !strings.Contains(got, "from=-15m") {
		t.Errorf("the other tab is at %s", got)
	}
	a.Reload()
	a.WaitText("h1", "Queries")
	b.WaitText("main", "down is down.")
}

// TestHiddenTab hides a tab: it lets go of its connection, of which a browser has few for one server, and is live again
// when it is seen.
func TestHiddenTab(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/overview?target=shop&from=-5m")
	b.Wait(".live-live")
	hide := func(hidden bool) {
		b.Eval(fmt.Sprintf(`(() => {
			Object.defineProperty(document, 'hidden', {configurable: true, get: () => %[1]v});
			Object.defineProperty(document, 'visibilityState', {configurable: true, get: () => %[1]v ? 'hidden' : 'visible'});
			document.dispatchEvent(new Event('visibilitychange'));
		})()`, hidden), nil)
	}
	b.Eval(`(() => {
		const close = EventSource.prototype.close;
		window.letGo = 0;
		EventSource.prototype.close = function () { if (this.readyState !== 2) window.letGo++; close.call(this) };
	})()`, nil)
	hide(true)
	b.WaitFor(`window.letGo === 1`)
	asked := func() (n int) {
		for _, r := range b.Requests() {
			if strings.Contains(r, "/stream") {
				n++
			}
		}
		return n
	}
	before := asked()
	hide(false)
	b.Until("it asks for the stream again", func() error {
		if asked() != before+1 {
			return errNotYet
		}
		return nil
	})
	b.Wait(".live-live")
}
