package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/browser"
)

// attack is a text that would set a flag in a page that took it for HTML, in whatever place it came to stand.
const attack = `"'></title></textarea></style><img src=x onerror="window.pwned=1"><svg onload=window.pwned=2><script>window.pwned=3</script>{{7*7}}${window.pwned=4}javascript:window.pwned=5`

// bidi turns the letters behind it round for the eye: access granted as detnarg ssecca.
const bidi = "\u202eevil\u202c \u2066x\u2069 \u200f"

// harmless fails the test when a text was executed.
func harmless(t *testing.T, b *browser.Tab, where string) {
	t.Helper()
	var got struct {
		Pwned  any
		Images int
	}
	b.Eval(
		`({Pwned: window.pwned ?? null, Images: document.querySelectorAll('img[src="x"], svg[onload], script:not([src])').length})`, &got)
	if got.Pwned != nil || got.Images != 0 {
		t.Errorf("%s: a text was executed or became elements: %+v", where, got)
	}
}

// TestHostileTexts runs statements on the real server whose texts are HTML, scripts, controls and a megabyte, notes
// events with such texts, and gives targets such names: they are shown as what they are.
func TestHostileTexts(t *testing.T) {
	s := stage(t)
	home := folder(t)
	l, err := ledger.Open(t.Context(), filepath.Join(home, "store", "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	evil := `<img src=x onerror=window.pwned=9>` + "\u202e&amp;"
	for _, x := range []ledger.Target{
		{Name: "shop", URL: s.Server.URL("root")},
		{Name: evil, URL: "mysql://root@" + deadPort},
	} {
		if err := l.PutTarget(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p := serve(t, home)
	p.waitUp(t, "shop")

	// They run for as long as the test looks, and often enough to be classes.
	ctx := t.Context()
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(attack)
	run := func(statement string) {
		c, err := s.DB.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer c.Close()
			for ctx.Err() == nil {
				if _, err := c.ExecContext(ctx, statement); err != nil && ctx.Err() == nil {
					t.Errorf("%.60s: %v", statement, err)
					return
				}
			}
		}()
		t.Cleanup(func() { <-done })
	}
	run("SELECT SLEEP(3) AS hostileone, '" + quoted + "' AS `<b onclick=window.pwned=6>`")
	run("SELECT SLEEP(2) AS hostiletwo, 'a\x00b\x07\x1b[31m" + bidi + "' /* " + strings.ReplaceAll(attack, "*/", "") +
		" */")
	run("SELECT SLEEP(4) AS hostilethree, LENGTH('" + strings.Repeat("megabyte ", 1<<17) + "')") // 1.1 MiB
	run(
		"SELECT SLEEP(2), `<svg onload=window.pwned=7>` FROM (SELECT 1 AS `<svg onload=window.pwned=7>`) AS " +
			"hostilefour")

	note := func(text string, want int) {
		t.Helper()
		body, err := json.Marshal(map[string]string{"text": text, "target": "shop"})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/api/dyno/v1/annotate",
			bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("the note %.10s is answered with %s, want %d", text, resp.Status, want)
		}
	}
	note("noteone "+attack, http.StatusCreated)
	note("notetwo "+bidi, http.StatusCreated)
	note("notethree a\x00b", http.StatusBadRequest) // it is one line on a graph

	b := tab(t, p.URL)
	refusals(b, "404|503", `\S*target=%3Cimg`)
	visit(b, "/")
	b.Wait("onerror=window.pwned=9")
	harmless(t, b, "fleet")
	b.Shot("hostile-fleet")

	visit(b, "/activity?target=shop")
	b.Wait("SLEEP(")
	b.Wait("onerror")
	harmless(t, b, "activity")
	b.Shot("hostile-now")
	// Each running statement is a row, and is opened. Between two executions its session rests for a moment.
	running := map[string]string{
		"hostileone":   "onerror=",
		"hostiletwo":   "a⟨NUL⟩b⟨U+0007⟩⟨ESC⟩[31m⟨RLO⟩evil⟨PDF⟩ ⟨LRI⟩x⟨PDI⟩ ⟨RLM⟩",
		"hostilethree": "megabyte megabyte",
		"hostilefour":  "<svg onload=window.pwned=7>",
	}
	for name, shown := range running {
		b.Until(name+" is a row", func() error {
			var found bool
			b.Eval(fmt.Sprintf(`(() => {
				const r = [...document.querySelectorAll('main tbody tr')].find((r) => r.innerText.includes(%q));
				if (r && r.getAttribute('aria-selected') !== 'true') r.click();
				return r !== undefined;
			})()`, name), &found)
			if !found {
				return fmt.Errorf("rows are %.300q", b.Texts("main tbody tr"))
			}
			return nil
		})
		b.WaitText("aside.session .sql-text", name)
		b.WaitText("aside.session .sql-text", shown)
		harmless(t, b, "now, opened "+name)
	}
	b.Shot("hostile-now-open")

	classes := map[string]string{} // ids by name
	minutes(t, "the classes are kept", func() error {
		var a struct {
			Classes []struct{ ID, Fingerprint string }
		}
		if err := getJSON(p.URL, "classes?target=shop&limit=1000", &a); err != nil {
			return err
		}
		for _, c := range a.Classes {
			for name := range running {
				if strings.Contains(c.Fingerprint, name) {
					classes[name] = c.ID
				}
			}
		}
		if len(classes) < len(running) {
			return fmt.Errorf("of %d classes these are known: %v", len(a.Classes), classes)
		}
		return nil
	})
	visit(b, "/queries?target=shop&from=-15m")
	for name := range running {
		b.Until(name+" is a row", func() error {
			if rows := strings.Join(b.Texts("main tbody tr"), "\n"); !strings.Contains(rows, name) {
				return fmt.Errorf("rows are %.1000q", rows)
			}
			return nil
		})
	}
	harmless(t, b, "queries")
	b.Shot("hostile-queries")
	for name, id := range classes {
		visit(b, "/queries?target=shop&from=-15m&class="+id)
		b.WaitText(".class-id", id)
		b.WaitText("main .sql-text", name)
		harmless(t, b, "class "+name)
	}
	b.Shot("hostile-class")

	visit(b, "/overview?target=shop&from=-5m")
	b.WaitText(".sv-happened", "noteone "+attack)
	b.WaitText(".sv-happened", "notetwo ⟨RLO⟩evil⟨PDF⟩ ⟨LRI⟩x⟨PDI⟩ ⟨RLM⟩")
	if text := b.Text("main"); strings.ContainsAny(text, bidi[:3]+"\u2066\u200f") ||
		strings.Contains(text, "notethree") {
		t.Errorf("it shows %q", text)
	}
	harmless(t, b, "overview")
	b.Shot("hostile-server")
	for _, path := range []string{
		"/overview?target=", "/activity?target=", "/queries?target=", "/findings?target=",
		"/changes?target=", "/overhead?target=", "/settings?target=",
	} {
		visit(b, path+url.QueryEscape(evil))
		b.Wait("onerror")
		harmless(t, b, path)
	}
	// A person types it into the search of each page that has one.
	for _, path := range []string{"/?q=", "/queries?target=shop&q=", "/experiments?q="} {
		visit(b, path+url.QueryEscape(attack))
		harmless(t, b, path)
	}
	if n := b.Sideways(); n != 0 {
		t.Errorf("it scrolls sideways by %d", n)
	}
	b.Settle() // what an image would do, it does when its request has failed
	for _, r := range b.Requests() {
		if strings.HasSuffix(r, "/x") {
			t.Errorf("it asked %s", r)
		}
	}
	harmless(t, b, "in the end")
}
