package page

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/browser"
)

// card returns what the fleet shows of one server: its figures by name, and all its words.
func card(t *testing.T, b *browser.Tab, name string) (figures map[string]string, words string) {
	t.Helper()
	var seen struct {
		Found   bool
		Words   string
		Figures map[string]string
	}
	b.Until("the card of "+name, func() error {
		b.Eval(fmt.Sprintf(`(() => {
			const c = [...document.querySelectorAll('.card')].find((c) => c.querySelector('h2').innerText === %q);
			if (!c) return {Found: false};
			return {Found: true, Words: c.innerText, Figures: Object.fromEntries([...c.querySelectorAll('dl > div')].map((d) => [d.querySelector('dt').innerText, d.querySelector('dd').innerText]))};
		})()`, name), &seen)
		if !seen.Found {
			return errNotYet
		}
		return nil
	})
	return seen.Figures, seen.Words
}

// status reads one status variable of the server itself.
func status(t *testing.T, s *Stage, name string) (v float64) {
	t.Helper()
	if err := s.DB.QueryRow("SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(new(string), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// number reads "1.23k/s" and the like. What is not known yet is no figure.
func number(text string) (float64, error) {
	f := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '/' || r == '\n' })
	if len(f) == 0 {
		return 0, fmt.Errorf("%q is no figure", text)
	}
	times := 1.0
	if n, ok := strings.CutSuffix(f[0], "k"); ok {
		f[0], times = n, 1000
	}
	v, err := strconv.ParseFloat(f[0], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no figure: %w", text, err)
	}
	return v * times, nil
}

// TestFleet holds what the fleet says of each server to the servers themselves.
func TestFleet(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	b.Laptop()
	visit(b, "/")
	b.Wait("shop")

	var version string
	if err := s.DB.QueryRow("SELECT VERSION()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	version, _, _ = strings.Cut(version, "-")
	if _, words := card(t, b, "shop"); !strings.Contains(words, "mariadb "+version) {
		t.Errorf("the server is %s, its card says %q", version, words)
	}

	// Sessions: seven more that do nothing, three of them that run a statement.
	for i := range 7 {
		c, err := s.DB.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _, _ = c.ExecContext(ctx, "DO SLEEP(600)") }()
		}
	}
	b.Until("the sessions of the server", func() error {
		f, _ := card(t, b, "shop")
		running, connected, ok := strings.Cut(strings.Join(strings.Fields(f["running"]), ""), "/")
		if n, err := strconv.Atoi(running); !ok || err != nil || n < 3 {
			return fmt.Errorf("%q run a statement", f["running"])
		}
		var own int // which are not counted
		if err := s.DB.QueryRow("SELECT COUNT(DISTINCT PROCESSLIST_ID) FROM performance_schema.session_connect_attrs " +
			"WHERE ATTR_NAME = 'program_name' AND ATTR_VALUE = 'dyno'").Scan(&own); err != nil {
			return err
		}
		all := int(status(t, s, "Threads_connected"))
		if own == 0 || connected != strconv.Itoa(all-own) {
			return fmt.Errorf("%q are connected, the server says %d, of which %d are Dyno's", f["running"], all, own)
		}
		return nil
	})

	// Statements: the mean of what is shown over some seconds is what the server counts in them, on a machine that lets
	// both of them work all the while.
	b.Until("statements a second", func() error {
		begin, questions := time.Now(), status(t, s, "Questions")
		sum, n := 0.0, 0
		for time.Since(begin) < 8*time.Second {
			f, _ := card(t, b, "shop")
			if f["statements"] != "–" {
				if !strings.HasSuffix(f["statements"], "/s") {
					t.Fatalf("statements are %q: a rate has its unit", f["statements"])
				}
				v, err := number(f["statements"])
				if err != nil {
					return err
				}
				sum, n = sum+v, n+1
			}
			time.Sleep(500 * time.Millisecond)
		}
		want := (status(t, s, "Questions") - questions) / time.Since(begin).Seconds()
		if got := sum / float64(max(1, n)); n < 5 || got < want/2 || got > want*2 {
			return fmt.Errorf("%v a second are shown in %d looks, the server counted %v", got, n, want)
		}
		return nil
	})

	// The one that is down comes first, says why, and has no figures.
	if h := b.Texts(".card h2"); len(h) != 2 || h[0] != "down" {
		t.Errorf("cards are %q, want down first", h)
	}
	if f, words := card(t, b, "down"); len(f) != 0 || !strings.Contains(words, "connection refused") {
		t.Errorf("down says %q with figures %v", words, f)
	}
	if got := strings.Join(strings.Fields(b.Text(".summary")), " "); !strings.Contains(got, "2 servers") ||
		!strings.Contains(got, "1 down") {
		t.Errorf("the summary is %q", got)
	}
	if got := b.Attr(`.card:not(.card-down) .course svg`, "aria-label"); !strings.Contains(got,
		"statements per second of shop over 15 minutes") {
		t.Errorf("the small graph is read as %q", got)
	}
	b.Axe()
	b.Shot("fleet")
	b.Dark()
	b.Axe()
	b.Shot("fleet-dark")
	b.Phone()
	b.Shot("fleet-phone-dark")
	b.Light()
	b.Laptop()
}

// TestFleetFinding asks for a look at a server where there was none: the fleet shows what the newest found, the worst
// of it by its title.
func TestFleetFinding(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/")
	type diagnosis struct {
		ID, Target, Worst, Severity string
		Count                       int
	}
	b.Until("the newest diagnosis", func() error {
		var all struct{ Diagnoses []diagnosis }
		s.Get("diagnoses", &all)
		for _, v := range all.Diagnoses {
			if v.Target != "shop" {
				continue
			}
			_, words := card(t, b, "shop")
			switch {
			case v.Count == 0 && strings.Contains(words, "no open findings"):
				return nil
			case v.Count > 0 && strings.Contains(words, v.Worst) && strings.Contains(words, v.Severity):
				return nil
			}
			return fmt.Errorf("it is %+v, the card says %q", v, words)
		}
		// Nobody has looked yet: the card says so, and its button asks for it.
		if _, words := card(t, b, "shop"); !strings.Contains(words, "not diagnosed yet") &&
			!strings.Contains(words, "Diagnosing") {
			return fmt.Errorf("nobody has judged, the card says %q", words)
		}
		b.Eval(
			`[...document.querySelectorAll('.card:not(.card-down) .button')].find((e) => e.innerText.trim() === 'Diagnose')?.click()`, nil)
		return errNotYet
	})
	b.Click(".card:not(.card-down) .card-foot a")
	b.WaitURL("/findings?target=shop")
}

// TestFleetRows finds, filters, sorts and opens servers without a mouse.
func TestFleetRows(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/?view=rows")
	b.Wait("main table tbody tr")
	names := func() string { return strings.Join(b.Texts("main table tbody tr .fleet-name a"), " ") }
	want := func(what string) {
		t.Helper()
		b.Until("the rows "+what, func() error {
			if got := names(); got != what {
				return fmt.Errorf("they are %q", got)
			}
			return nil
		})
	}
	want("down shop")
	b.Click("main table th button")
	b.WaitURL("sort=name")
	want("down shop")
	if got := b.Attr("main table th", "aria-sort"); got != "ascending" {
		t.Errorf("the order is said to be %q", got)
	}
	b.Click("main table th button")
	b.WaitURL("sort=-name")
	want("shop down")
	b.Key("/")
	b.Type("refus")
	b.WaitURL("q=refus")
	b.Wait("No server matches") // a reason is no name
	b.ClickText("Show all 2")
	want("shop down")
	b.ClickText("Down or silent")
	b.WaitURL("show=down")
	want("down")
	b.Back()
	want("shop down")
	b.Axe()
	b.Shot("fleet-rows")
	b.Key("j")
	b.Key("j")
	b.Key("k")
	b.Key("Enter")
	b.WaitURL("/overview?target=shop")
}

// TestFleetIsSilent ends the program: the fleet must not go on looking alive, and lives again by itself.
func TestFleetIsSilent(t *testing.T) {
	s := stage(t)
	p := own(t, s)
	b := tab(t, p.URL)
	b.Allow(gone)
	visit(b, "/")
	b.Until("figures", func() error {
		if f, _ := card(t, b, "shop"); f["statements"] == "" || f["statements"] == "–" {
			return errNotYet
		}
		return nil
	})
	p.Kill()
	b.Wait("No data is arriving")
	b.Until("old figures are no figures", func() error {
		f, words := card(t, b, "shop")
		if f["statements"] != "–" || !strings.Contains(words, "last reading") {
			return fmt.Errorf("the card says %q", words)
		}
		return nil
	})
	b.Shot("fleet-silent")
	p.Again(t)
	b.WaitGone("No data is arriving")
	b.Until("figures again", func() error {
		if f, _ := card(t, b, "shop"); f["statements"] == "–" {
			return errNotYet
		}
		return nil
	})
}

// TestFleetIsEmpty opens the page of a program that knows no server: it leads to the first steps.
func TestFleetIsEmpty(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real browser")
	}
	p := serve(t, folder(t))
	b := tab(t, p.URL)
	b.Open("/")
	b.WaitURL("/welcome")
	b.Wait("h1")
	b.Settle()
	b.Shot("fleet-empty")
}

// TestIncident plants a pile-up of row locks: the fleet has it while it lasts, and the server's events keep it. A
// password variable that is not set is said on every page, and is no server that is down.
func TestIncident(t *testing.T) {
	s := stage(t)
	p := own(t, s)
	try(t, p.home, "target", "add", "unset", "mysql://u@127.0.0.1:1", "--password-env", "DYNO_NOT_SET")
	b := tab(t, p.URL)
	visit(b, "/findings?target=shop")
	b.WaitText(".notice", "unset is not configured: $DYNO_NOT_SET is not set.")
	visit(b, "/")
	b.WaitText(".summary", "1 not configured")
	b.WaitText(".notice", "unset is not configured")
	if got := b.Text(".summary"); strings.Contains(got, " down") {
		t.Errorf("the summary is %q", got)
	}

	s.Exec("CREATE TABLE piled (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB", "INSERT INTO piled VALUES (1, 1)")
	ctx := t.Context()
	blocker, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	const update = "UPDATE piled SET n = n + 1 WHERE id = 1"
	if _, err := blocker.ExecContext(ctx, update); err != nil {
		t.Fatal(err)
	}
	var waiters sync.WaitGroup
	for range 3 {
		waiters.Go(func() { _, _ = s.DB.ExecContext(ctx, update) })
	}
	t.Cleanup(func() {
		_ = blocker.Rollback()
		waiters.Wait()
		s.Exec("DROP TABLE piled")
	})
	b.WaitText(".incident", "Lock pile-up")
	b.WaitText(".incident", "3 sessions waited, blocked by session")
	b.WaitText(".summary", "1 with an incident")
	b.Axe()
	b.Shot("fleet-incident")
	b.Phone()
	b.Shot("fleet-incident-phone")
	b.Laptop()
	if err := blocker.Rollback(); err != nil {
		t.Fatal(err)
	}
	b.WaitGone(".incident")
	visit(b, "/overview?target=shop")
	b.WaitText(".sv-happened", "Lock pile-up for")
}
