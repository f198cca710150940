package page

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/test/browser"
	"github.com/dyno-perf/dyno/test/program"
	"github.com/dyno-perf/dyno/test/servers"
)

const (
	annasPassword = "three green bottles 7"
	bensPassword  = "hanging on that wall 4"
)

// locked is a program of the test's own that needs a login and has no users yet; token lets the first one in.
func locked(t *testing.T, s *Stage, args ...string) (p *Serve, token string) {
	t.Helper()
	home := folder(t)
	try(t, home, "target", "add", "shop", s.Server.URL("root"))
	p = serve(t, home, append([]string{"--host", "dyno.example.org"}, args...)...)
	text, err := os.ReadFile(home + "/first-run-token")
	if err != nil {
		t.Fatalf("%v:\n%s", err, p.Log())
	}
	return p, strings.TrimSpace(string(text))
}

// with runs the program with a text on standard input.
func with(t *testing.T, home, input string, args ...string) string {
	t.Helper()
	c := exec.Command(dyno, args...)
	c.Env = append(c.Environ(), "DYNO_HOME="+home)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("dyno %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// strict lets the browser itself complain about answers that are refusals.
func strict(b *browser.Tab) {
	refusals(b, "401|403", "")
}

func logIn(b *browser.Tab, name, password string) {
	b.Wait("#password")
	b.Fill("#name", name)
	b.Fill("#password", password)
	b.Key("Enter")
}

func bothThemes(b *browser.Tab, name string) {
	b.Light()
	b.Shot(name + "-light")
	b.Axe()
	b.Dark()
	b.Shot(name + "-dark")
	b.Axe()
	b.Light()
}

// TestFirstLogin goes from the token that the program printed to a session, and through it to the page that was asked
// for.
func TestFirstLogin(t *testing.T) {
	s := stage(t)
	p, token := locked(t, s)
	b := tab(t, p.URL)
	strict(b)
	b.Open("/overview?target=shop&from=-5m")
	b.Wait("First-run token")
	if !strings.Contains(b.URL(), "/login?next=overview") {
		t.Errorf("it is at %s", b.URL())
	}
	bothThemes(b, "login-first")
	b.Fill("#token", strings.Repeat("A", 43))
	b.Fill("#name", "anna")
	b.Fill("#password", annasPassword)
	b.Fill("#again", annasPassword)
	b.Key("Enter")
	b.Wait("the first-run token is wrong")
	b.Fill("#token", token)
	b.Fill("#again", annasPassword)
	b.Key("Enter")
	b.WaitURL("/overview?target=shop&from=-5m")
	b.Wait(".live-live")
	var me struct{ Name, Role string }
	b.Eval(`fetch('./api/dyno/v1/session').then((r) => r.json())`, &me)
	if me.Name != "anna" || me.Role != "operator" {
		t.Errorf("it is %+v", me)
	}
	var cookies string
	b.Eval(`document.cookie`, &cookies)
	if cookies != "" {
		t.Errorf("a script can read the session: %s", cookies)
	}
	// Logged out nothing is shown, and the way in is the login from now on.
	b.Click(".who button")
	b.ClickText("Log out")
	b.WaitURL("/login")
	b.Wait("#password")
	if b.Count("#token") != 0 {
		t.Error("it still asks for the first-run token")
	}
	b.Phone()
	bothThemes(b, "login-phone")
	b.Laptop()
	bothThemes(b, "login")
	logIn(b, "anna", "wrong wrong wrong")
	b.Wait("the name or the password is wrong")
	b.Shot("login-wrong")
	b.Axe()
	logIn(b, "anna", annasPassword)
	b.Wait("shop")
	if r, err := http.Get(p.URL + "/api/dyno/v1/targets"); err != nil || r.StatusCode != http.StatusUnauthorized {
		t.Errorf("whoever has no session: %v, %v", r, err)
	} else {
		r.Body.Close()
	}
}

// TestSessionEndsInTheMiddle ends the session on the server while a note is being typed: a dialog asks for the login
// over the page, then the note is kept, once, as it was typed.
func TestSessionEndsInTheMiddle(t *testing.T) {
	s := stage(t)
	p, _ := locked(t, s)
	with(t, p.home, annasPassword, "user", "add", "anna")
	b := tab(t, p.URL)
	strict(b)
	b.Open("/overview?target=shop&from=-5m")
	logIn(b, "anna", annasPassword)
	b.WaitURL("/overview")
	b.Wait(".live-live")
	b.Settle() // before, nobody hears the key
	b.Key("a")
	b.Wait("dialog input")
	const text = "typed before the session ended"
	b.Fill("dialog input", text)
	with(t, p.home, annasPassword, "user", "password", "anna") // ends all sessions
	// Whatever the page asks for meanwhile may have opened the login already, over this button.
	b.Eval(`[...document.querySelectorAll('dialog button')].find((e) => e.innerText.trim() === 'Add note').click()`,
		nil)
	b.Wait("Your session ended")
	bothThemes(b, "login-dialog")
	b.Fill("#login-password", annasPassword)
	b.Key("Enter")
	b.WaitGone("Your session ended")
	b.Wait("Note added to the timeline")
	if !strings.Contains(b.URL(), "/overview?target=shop&from=-5m") {
		t.Errorf("it is at %s", b.URL())
	}
	var kept struct{ Events []struct{ Kind, Text string } }
	b.Eval(`fetch('./api/dyno/v1/events?target=shop&kind=annotation').then((r) => r.json())`, &kept)
	if len(kept.Events) != 1 || kept.Events[0].Text != text {
		t.Errorf("kept is %+v", kept.Events)
	}
	b.Wait(".live-live") // the stream comes back too
	log := try(t, p.home, "user", "audit", "--output", "json")
	if !strings.Contains(log,
		`"who":"anna","via":"session","from":"127.0.0.1","what":"POST /api/dyno/v1/annotate","detail":"target=shop","outcome":"done"`) {
		t.Errorf("the audit log has\n%s", log)
	}
}

// TestTwoTabsOfOneLogin: a login in one tab makes the other's CSRF token stale, and the other goes on by itself.
func TestTwoTabsOfOneLogin(t *testing.T) {
	s := stage(t)
	p, _ := locked(t, s)
	with(t, p.home, annasPassword, "user", "add", "anna")
	b := tab(t, p.URL)
	strict(b)
	b.Open("/overview?target=shop&from=-5m")
	logIn(b, "anna", annasPassword)
	b.WaitURL("/overview")
	b.Wait(".live-live")
	other := b.Beside()
	strict(other)
	other.Open("/login")
	logIn(other, "anna", annasPassword)
	other.Wait("shop")
	b.Settle() // before, nobody hears the key
	b.Key("a")
	b.Wait("dialog input")
	b.Fill("dialog input", "from the first tab")
	b.ClickText("Add note")
	b.Wait("Note added to the timeline")
}

// worked makes a home of which every page has something to act on: a finding with a change, one that was carried out,
// and beside its target shop a server that is not watched yet and that serve finds with the flags that are returned.
func worked(t *testing.T, s *Stage, table string) (home, action string, flags []string) {
	t.Helper()
	other := servers.Start(t, "mariadb")
	home = folder(t)
	try(t, home, "target", "add", "shop", s.Server.URL("root"))
	s.parcels(t, table)
	s.parcels(t, table+"_done")
	var done string
	eventually(t, "findings", func() error {
		var all []finding.Finding
		for line := range strings.Lines(try(t, home, "diagnose", "shop", "--window", "5s", "--output", "json")) {
			var f finding.Finding
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			all = append(all, f)
		}
		f, ok := findingOn(all, "missing-index", table+"_done")
		if _, open := findingOn(all, "missing-index", table); !ok || !open {
			return fmt.Errorf("there are %d", len(all))
		}
		done = f.ID
		return nil
	})
	var e journal.Entry
	if err := json.Unmarshal([]byte(try(t, home, "apply", "shop", done, "--execute", "--quiet", "--output", "json")),
		&e); err != nil {
		t.Fatal(err)
	}
	return home, e.ID, []string{"--discover=" + other.Socket}
}

// harmlessButton tells by its place or its name a button that changes nothing: it chooses what is shown, or takes it
// along.
const harmlessButton = `(e, name) => e.closest('th, [role=tablist]') !== null || e.matches('[role=tab], [role=option], [aria-haspopup], .finding-head, .tray-head, .link, .lab-cell-button')
	|| /^(Theme: .*|Keyboard \(\?\)|Copy.*|Close|Dismiss|Search again|Compare two periods|Rewind|Play .*|(1 s|Half a window) (back|forward) .*|×\d+: .*|\d+[mh]|small|medium|full|Run|Add expression|Stacked|Remove.*)$/.test(name)`

// mayNot opens every page as somebody who may change nothing and must be told so in these words: each button that is
// not known to be harmless cannot be pressed and says why, but for those that are one's own.
func mayNot(t *testing.T, b *browser.Tab, action, why string, own ...string) {
	t.Helper()
	paths := []string{
		"/changes?target=shop&id=" + action, "/experiments?recipe=threads", "/settings?open=shop",
		"/settings?tab=retention", "/settings?tab=users",
	}
	for _, page := range places {
		if page.name != "login" {
			paths = append(paths, page.path)
		}
	}
	off := map[string]bool{}
	for _, path := range paths {
		visit(b, path)
		var seen []struct {
			Name, Why string
			Off       bool
		}
		b.Eval(`(() => {
			const harmless = `+harmlessButton+`, flat = (s) => s.replace(/\s+/g, ' ').trim();
			return [...document.querySelectorAll('main button, header.bar button, .tray button')].filter((e) => e.getClientRects().length > 0)
				.map((e) => ({e, Name: flat(e.getAttribute('aria-label') || e.innerText || e.outerHTML), Why: e.title, Off: e.disabled || e.getAttribute('aria-disabled') === 'true'}))
				.filter((x) => !harmless(x.e, x.Name)).map(({Name, Why, Off}) => ({Name, Why, Off}));
		})()`, &seen)
		for _, x := range seen {
			switch {
			case slices.Contains(own, x.Name):
			case !x.Off:
				t.Errorf("%s: %q can be pressed", path, x.Name)
			case !strings.Contains(x.Why, why):
				t.Errorf("%s: %q is off, and says %q", path, x.Name, x.Why)
			}
			off[x.Name] = true
		}
	}
	for _, name := range []string{"Diagnose", "Preview and apply…", "Undo…", "Prove it", "Run it"} {
		if !off[name] {
			t.Errorf("%q is on no page: there are %v", name, slices.Sorted(maps.Keys(off)))
		}
	}
}

// TestViewer opens every page as somebody who may only look: no button that changes something can be pressed.
func TestViewer(t *testing.T) {
	s := stage(t)
	home, action, flags := worked(t, s, "sacks")
	with(t, home, annasPassword, "user", "add", "anna")
	with(t, home, bensPassword, "user", "add", "ben")
	p := serve(t, home, append(flags, "--host", "dyno.example.org")...)
	b := tab(t, p.URL)
	strict(b)
	b.Open("/login")
	logIn(b, "ben", bensPassword)
	b.Wait("shop")
	mayNot(t, b, action, "operator", "Change password", "Log out everywhere")
	visit(b, "/settings?tab=users")
	b.Wait("Your sessions")
	for _, words := range []string{"API tokens", "Audit log", "Add user"} {
		if strings.Contains(b.Text("main"), words) {
			t.Errorf("a viewer sees %q", words)
		}
	}
	bothThemes(b, "users-viewer")
	var code int
	b.Eval(
		`fetch('./api/dyno/v1/annotate', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{"text":"x"}'}).then((r) => r.status)`, &code)
	if code != http.StatusForbidden {
		t.Errorf("past the page: %d", code)
	}
}

// TestReadOnly opens every page of a program that changes nothing, as an operator of it.
func TestReadOnly(t *testing.T) {
	s := stage(t)
	home, action, flags := worked(t, s, "boxes")
	p := serve(t, home, append(flags, "--read-only")...)
	p.waitUp(t, "shop")
	b := tab(t, p.URL)
	mayNot(t, b, action, "--read-only")
	visit(b, "/overview?target=shop&from=-5m")
	b.Key("a") // no note can be put either
	b.Settle()
	if b.Count("dialog[open]") != 0 {
		t.Error("a note can be typed")
	}
	refusals(b, "403", "(annotate|diagnose)$")
	for path, body := range map[string]string{"annotate": `{"text":"x"}`, "diagnose": `{"target":"shop"}`} {
		var said struct {
			Status    int
			ErrorType string
		}
		b.Eval(
			fmt.Sprintf(
				`fetch('./api/dyno/v1/%s', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: %q}).then(async (r) => ({...await r.json(), status: r.status}))`, path, body), &said)
		if said.Status != http.StatusForbidden || said.ErrorType != "read_only" {
			t.Errorf("%s past the page: %+v", path, said)
		}
	}
}

// TestTLS opens the page over TLS with the program's own certificate: the session's cookie is one that only this origin
// can set, and the stream of events goes on when nothing happens.
func TestTLS(t *testing.T) {
	s := stage(t)
	home := folder(t)
	try(t, home, "target", "add", "shop", s.Server.URL("root"))
	with(t, home, annasPassword, "user", "add", "anna")
	p := serve(t, home, "--host", "dyno.example.org", "--tls-self-signed")
	b := tab(t, p.URL)
	strict(b)
	b.Do(security.SetIgnoreCertificateErrors(true))
	b.Open("/overview?target=shop&from=-5m")
	logIn(b, "anna", annasPassword)
	b.WaitURL("/overview")
	b.Wait(".live-live")
	b.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		all, err := network.GetCookies().Do(ctx)
		if len(all) != 1 || !strings.HasPrefix(all[0].Name, "__Host-") || !all[0].Secure || !all[0].HTTPOnly ||
			all[0].SameSite != network.CookieSameSiteStrict || all[0].Path != "/" {
			t.Errorf("cookies are %+v", all)
		}
		return err
	}))
	// Of a target that nothing is told of, the stream has only what is sent to keep it open.
	var got struct {
		Protocol string
		Text     string
	}
	b.Eval(`(async () => {
		const r = await fetch('./api/dyno/v1/stream?target=quiet');
		const from = r.body.getReader(), decoder = new TextDecoder();
		let text = '';
		while (!/^:/m.test(text)) {
			const {done, value} = await from.read();
			if (done) throw new Error('the stream ended after ' + text);
			text += decoder.decode(value);
		}
		from.cancel();
		const e = performance.getEntriesByType('navigation')[0];
		return {Protocol: e.nextHopProtocol, Text: text};
	})()`, &got)
	if got.Protocol != "http/1.1" {
		t.Errorf("the page came by %q", got.Protocol)
	}
	b.Settle() // before, nobody hears the key
	b.Key("a")
	b.Wait("dialog input")
	b.Fill("dialog input", "over TLS")
	b.ClickText("Add note")
	b.Wait("Note added to the timeline")
	b.Wait(".live-live")
}

// TestUsersPage adds a user and a token, and finds what was done in the audit log; the command line sees the same.
func TestUsersPage(t *testing.T) {
	s := stage(t)
	p, _ := locked(t, s)
	with(t, p.home, annasPassword, "user", "add", "anna")
	b := tab(t, p.URL)
	strict(b)
	b.Open("/settings?tab=users")
	logIn(b, "anna", annasPassword)
	b.Wait("Audit log")
	b.ClickText("Add user")
	b.Fill("#new-name", "ben")
	b.Fill("#new-password", bensPassword)
	b.Fill("#new-again", bensPassword)
	b.Shot("users-add")
	b.Axe()
	b.Key("Enter")
	b.Wait(`select[aria-label="Role of ben"]`)
	b.Select(`select[aria-label="Role of ben"]`, "operator")
	b.Wait("ben is now an operator")
	b.ClickText("Create token")
	b.Fill("#new-name", "grafana")
	b.Key("Enter")
	b.Wait("It is shown only once")
	token := b.Text(".secret code")
	bothThemes(b, "users-token")
	b.ClickText("Done")
	b.Until("the token is listed and not told", func() error {
		if text := b.Text("main"); !strings.Contains(text, "grafana") || strings.Contains(text, token) {
			return fmt.Errorf("it shows %q", text)
		}
		return nil
	})
	r, err := http.NewRequestWithContext(t.Context(), "GET", p.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode != http.StatusOK {
		t.Errorf("with the token: %d", a.StatusCode)
	}
	b.Reload()
	b.Wait("Audit log")
	b.Until("the audit log tells it", func() error {
		text := b.Text("table.audit, .audit table, .audit")
		for _, words := range []string{
			"user/add", "name=ben role=viewer", "user/role", "name=ben role=operator",
			"token/add", "name=grafana role=viewer", "login",
		} {
			if !strings.Contains(text, words) {
				return fmt.Errorf("no %q in %q", words, text)
			}
		}
		return nil
	})
	b.Size(1280, 1400)
	bothThemes(b, "users")
	b.Phone()
	b.ShotAll("users-phone")
	if n := b.Sideways(); n > 0 {
		t.Errorf("on a phone the page is %d pixels too wide", n)
	}
	var users []struct{ Name, Role string }
	for line := range strings.Lines(try(t, p.home, "user", "ls", "--output", "json")) {
		var u struct{ Name, Role string }
		if err := json.Unmarshal([]byte(line), &u); err != nil {
			t.Fatal(err)
		}
		users = append(users, u)
	}
	if len(users) != 2 || users[1].Name != "ben" || users[1].Role != "operator" {
		t.Errorf("the command line sees %+v", users)
	}
}

// TestTheLinkLogsIn opens the link that the program made in a browser of another account, without users: it lets in
// once, operates, and the page of the one that was used asks for another.
func TestTheLinkLogsIn(t *testing.T) {
	s := stage(t)
	home := folder(t)
	try(t, home, "target", "add", "shop", s.Server.URL("root"))
	p := serve(t, home)
	link, err := os.ReadFile(home + "/first-run-link")
	m := regexp.MustCompile(`^(http://\S+/login)#([A-Za-z0-9_-]{43})\n$`).FindStringSubmatch(string(link))
	if m == nil {
		t.Fatalf("%v, %q:\n%s", err, link, p.Log())
	}
	b := tab(t, stranger(t, p.URL))
	strict(b)
	b.Open("/overview?target=shop&from=-5m")
	b.Wait("Open the link")
	if b.Count("#password") != 0 {
		t.Error("it asks for a password, and nobody has one")
	}
	bothThemes(b, "login-link")
	b.Fill("#token", m[1]+"#"+strings.Repeat("A", 43))
	b.Key("Enter")
	b.Wait("the first-run token is wrong")
	b.Open("/login#" + m[2])
	b.Wait("shop")
	if u := b.URL(); strings.Contains(u, m[2]) || strings.Contains(u, "login") {
		t.Errorf("it is at %s", u)
	}
	var status int
	b.Eval(
		`fetch('./api/dyno/v1/session').then((r) => r.json()).then((me) => fetch('./api/dyno/v1/annotate', {method: 'POST', `+
			`headers: {'Content-Type': 'application/json', 'X-Dyno-CSRF': me.csrf}, body: '{"text":"by the link"}'})).then((r) => r.status)`, &status)
	if status != http.StatusCreated {
		t.Errorf("a change is answered with %d", status)
	}
	eventually(t, "the file has another link", func() error {
		text, err := os.ReadFile(home + "/first-run-link")
		if err == nil && (!strings.HasPrefix(string(text), m[1]+"#") || strings.Contains(string(text), m[2])) {
			err = fmt.Errorf("it is %q", text)
		}
		return err
	})
}

// stranger returns an address at which the account nobody passes connections on to base.
func stranger(t *testing.T, base string) string {
	t.Helper()
	program.AsNobody(t, func() {}) // or the test is skipped here
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	to := strings.TrimPrefix(base, "http://")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			far, err := program.DialAsNobody(t, "tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			pass := func(a, b net.Conn) {
				_, _ = io.Copy(a, b)
				a.Close()
				b.Close()
			}
			go pass(far, c)
			go pass(c, far)
		}
	}()
	return "http://" + l.Addr().String()
}
