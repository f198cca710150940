package page

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/browser"
)

// inBoth looks at a page in both themes: a picture of each, and what hinders people.
func inBoth(b *browser.Tab, name string) {
	b.Light()
	b.Settle()
	b.ShotAll(name + "-light")
	b.Axe()
	b.Dark()
	b.Settle()
	b.ShotAll(name + "-dark")
	b.Axe()
	b.Light()
}

// words returns a text without the difference between kinds of space.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestSettingsAddTarget adds a server by hand, with a password in a file, looks at what it lacks, sees it filled, and
// removes it.
func TestSettingsAddTarget(t *testing.T) {
	s := stage(t)
	s.Exec("CREATE USER IF NOT EXISTS adder@localhost IDENTIFIED BY 'not told 7'")
	home := folder(t)
	p := serve(t, home)
	if err := os.Mkdir(home+"/credentials", 0o700); err != nil {
		t.Fatal(err)
	}
	file := home + "/credentials/adder.cnf" // of those that a page may name
	if err := os.WriteFile(file, []byte("[client]\nuser=adder\npassword='not told 7'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := tab(t, p.URL)
	visit(b, "/settings")
	b.Wait("No server is watched yet")
	inBoth(b, "settings-empty")
	b.ClickText("Add server")
	b.Fill("dialog input[name=address]", s.Server.Socket)
	b.Fill("dialog input[name=name]", "byhand")
	b.Eval(`document.querySelectorAll('dialog input[name=way]')[2].click()`, nil)
	b.Fill("dialog input[name=file]", file)
	b.Key("Tab") // leaving the field has the server looked at
	b.WaitText("dialog .badge", "connected")
	b.WaitText("dialog", "adder@localhost")
	b.WaitText("dialog", "GRANT PROCESS")
	inBoth(b, "settings-add")
	b.Click("dialog .b-main")
	b.Wait("Now watching byhand")
	b.Until("it is up", func() error {
		if text := b.Text("table.table tbody tr"); !strings.Contains(text, "byhand") || !strings.Contains(text, "up") ||
			!strings.Contains(text, "MariaDB") && !strings.Contains(text, "mariadb") {
			return fmt.Errorf("the row says %q", text)
		}
		return nil
	})
	if text := b.Text("main"); strings.Contains(text, "not told 7") {
		t.Error("the password is on the page")
	}
	if out := try(t, home, "target", "ls", "--output", "json"); !strings.Contains(out, `"defaults_file":"`+file) ||
		strings.Contains(out, "not told 7") {
		t.Errorf("the inventory is %s", out)
	}
	b.WaitText("main", "data sources are unavailable") // adder has no privileges, and that is told
	inBoth(b, "settings-target")
	b.ClickText("Open")
	b.WaitURL("/overview")
	b.WaitURL("target=byhand")
	b.Back()
	refusals(b, "404", `sources\?target=byhand`) // a question under way when it goes
	b.ClickText("Remove")
	b.Wait("Stop watching byhand?")
	b.Click("dialog .b-danger")
	b.Wait("No server is watched yet")
	if out := try(t, home, "target", "ls"); strings.Contains(out, "byhand") {
		t.Errorf("the inventory is %s", out)
	}
}

// TestSettingsKeepsPasswordsOut types a password into the address: it is not even sent.
func TestSettingsKeepsPasswordsOut(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/settings")
	b.ClickText("Add server")
	b.Settle()
	before := len(b.Requests())
	b.Fill("dialog input[name=address]", "mysql://u:sesame9@127.0.0.1:1")
	b.Key("Enter")
	b.Wait("Take the password out of the address")
	b.Shot("settings-password")
	b.Click("dialog .b-main")
	b.Settle()
	b.WaitText("dialog", "Take the password out of the address")
	for _, r := range b.Requests()[before:] {
		if strings.Contains(r, "target/") || strings.Contains(r, "sesame9") {
			t.Errorf("it asked %s", r)
		}
	}
	// Without the password the same keys do ask: otherwise nothing above would mean anything.
	b.Fill("dialog input[name=address]", "mysql://u@127.0.0.1:1")
	b.Key("Enter")
	b.Until("the address is tried", func() error {
		for _, r := range b.Requests()[before:] {
			if strings.Contains(r, "target/check") {
				return nil
			}
		}
		return errNotYet
	})
}

// TestSettingsGrants holds the statements of the page to those of the command line.
func TestSettingsGrants(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/settings?open=shop")
	b.Wait(".grants .sql-text")
	// The statements are for the account that the server took Dyno for, as the command has it.
	if at, command := words(b.Text(".grants .sql-text")), s.Dyno("target", "grants", "shop", "--task",
		"watch"); !strings.Contains(words(command), at) {
		t.Errorf("the page has %q, the command %q", at, command)
	}
	b.Fill(".grants label:nth-of-type(3) input", "dyno@localhost")
	f := func(task, flavor, schemas string) {
		t.Helper()
		args := []string{"target", "grants", "--task", task, "--flavor", flavor, "--user", "dyno@localhost"}
		if schemas != "" {
			args = append(args, "--schema", schemas)
		}
		var grants []string // the page has those of an account that is there
		for l := range strings.Lines(s.Dyno(args...)) {
			if strings.HasPrefix(l, "GRANT ") {
				grants = append(grants, l)
			}
		}
		want := words(strings.Join(grants, ""))
		b.Select(".grants label:nth-of-type(1) select", task)
		b.Select(".grants label:nth-of-type(2) select", flavor)
		b.Until("the grants for "+task+" on "+flavor, func() error {
			if got := words(b.Text(".grants .sql-text")); got != want {
				return fmt.Errorf("the page has %q, the command %q", got, want)
			}
			return nil
		})
	}
	f("watch", "mariadb", "")
	f("watch", "mysql", "")
	f("explain", "percona", "shop")
	f("change", "mariadb", "shop")
	f("load", "mysql", "shop")
	inBoth(b, "settings-grants")
}

// TestSettingsRetention holds what is told of the disk to the program's own count.
func TestSettingsRetention(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/settings?tab=retention")
	b.Wait("series, every second")
	row := func(kind string) string {
		var text string
		b.Eval(
			fmt.Sprintf(
				`[...document.querySelectorAll('table.table tbody tr')].find((r) => r.innerText.startsWith(%q))?.innerText ?? ''`, kind), &text)
		return words(text)
	}
	if got := row("series, every second"); !strings.Contains(got, "15 d") || !strings.Contains(got, "Change") ||
		!strings.Contains(got, "not measured yet") {
		t.Errorf("the row of the series is %q", got)
	}
	if got := row("states"); !strings.Contains(got, "3 d") || !strings.Contains(got, "2.00") {
		t.Errorf("the row of the states is %q", got)
	}
	b.WaitText("main", "shop")
	inBoth(b, "settings-retention")
	b.ClickText("About")
	b.WaitText("main", s.Home)
	inBoth(b, "settings-about")
}

// TestSettingsEditTarget gives a target another account with a password that Dyno keeps, then a wrong one, and changes
// the retention.
func TestSettingsEditTarget(t *testing.T) {
	s := stage(t)
	s.Exec("CREATE USER IF NOT EXISTS edited@localhost IDENTIFIED BY 'kept here 7'")
	p := serve(t, folder(t))
	refused := exec.Command(dyno, "target", "add", "edit", s.Server.URL("nobody7"))
	refused.Env = append(os.Environ(), "DYNO_HOME="+p.home)
	if out, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(out), "Added edit") {
		t.Fatalf("a refused login is remembered, and no success: %v\n%s", err, out)
	}
	b := tab(t, p.URL)
	visit(b, "/settings")
	b.WaitText("table.table tbody tr", "login refused")
	b.ClickText("Edit")
	b.Fill("dialog input[name=address]", s.Server.URL("edited"))
	b.Click("dialog input[name=way]") // Dyno keeps it
	b.Fill("dialog input[name=password]", "kept here 7")
	inBoth(b, "settings-edit")
	b.ClickText("Save")
	b.Wait("edit was changed")
	b.WaitText("table.table tbody tr", "up")
	b.WaitText("table.table tbody tr", "stored by Dyno")
	// Another address asks for it again.
	b.ClickText("Edit")
	b.Fill("dialog input[name=address]", "mysql://edited@"+deadPort+"/")
	if why := b.Attr("dialog .b-main", "title"); !strings.Contains(why, "enter the password again") {
		t.Errorf("with another address Save says %q", why)
	}
	b.Key("Escape")
	if text := b.Text("body"); strings.Contains(text, "kept here 7") {
		t.Error("the password is on the page")
	}
	for _, r := range b.Requests() {
		if strings.Contains(r, "kept") && !strings.Contains(r, "states") {
			t.Errorf("it asked %s", r)
		}
	}
	if strings.Contains(p.Log(), "kept here 7") {
		t.Error("the password is in the log")
	}

	visit(b, "/settings?tab=retention")
	b.Click(`button[aria-label="Change retention of states"]`)
	b.Fill("dialog input[name=days]", "1")
	b.WaitText("dialog", "within a week")
	inBoth(b, "settings-retention-change")
	b.ClickText("Save")
	b.Wait("Retention was changed")
	days := func() (days float64) {
		t.Helper()
		var x struct {
			Keeping []struct {
				Kind string
				Days float64 `json:"keep_days"`
			}
		}
		if err := getJSON(p.URL, "settings", &x); err != nil {
			t.Fatal(err)
		}
		for _, k := range x.Keeping {
			if k.Kind == "states" {
				days = k.Days
			}
		}
		return days
	}
	if d := days(); d != 1 {
		t.Errorf("states are kept %v days", d)
	}
	// It lasts, and a flag outranks it.
	b.Allow(gone)
	p.Kill()
	p = serve(t, p.home)
	if d := days(); d != 1 {
		t.Errorf("after a start states are kept %v days", d)
	}
	p.Kill()
	p = serve(t, p.home, "--keep-states=2d")
	if d := days(); d != 2 {
		t.Errorf("with --keep-states=2d they are kept %v days", d)
	}
	b = tab(t, p.URL)
	visit(b, "/settings?tab=retention")
	b.WaitText("main", "--keep-states")
	if n := b.Count(`button[aria-label="Change retention of states"]`); n != 0 {
		t.Error("what a flag fixes can be changed on the page")
	}
}
