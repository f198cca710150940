package page

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"dyno/test/browser"
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

// TestSettingsAddTarget adds a server by hand, with a password in a file, looks at what it lacks, sees it filled, and removes it.
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
	b.ClickText("Add a server")
	b.Fill("dialog input[name=address]", s.Server.Socket)
	b.Fill("dialog input[name=name]", "byhand")
	b.Eval(`document.querySelectorAll('dialog input[name=way]')[1].click()`, nil)
	b.Fill("dialog input[name=file]", file)
	b.Key("Tab") // leaving the field has the server looked at
	b.Wait("reached")
	b.WaitText("dialog", "adder@localhost")
	b.WaitText("dialog", "GRANT PROCESS")
	inBoth(b, "settings-add")
	b.ClickText("Watch it")
	b.Wait("byhand is watched from now on")
	b.Until("it is up", func() error {
		if text := b.Text("table.table tbody tr"); !strings.Contains(text, "byhand") || !strings.Contains(text, "up") || !strings.Contains(text, "MariaDB") && !strings.Contains(text, "mariadb") {
			return fmt.Errorf("the row says %q", text)
		}
		return nil
	})
	if text := b.Text("main"); strings.Contains(text, "not told 7") {
		t.Error("the password is on the page")
	}
	if out := try(t, home, "target", "ls", "--output", "json"); !strings.Contains(out, `"defaults_file":"`+file) || strings.Contains(out, "not told 7") {
		t.Errorf("the inventory is %s", out)
	}
	b.WaitText("main", "sources give nothing") // adder has no privileges, and that is told
	inBoth(b, "settings-target")
	b.ClickText("Open")
	b.WaitURL("/server")
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
	b.ClickText("Add a server")
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
		b.Eval(fmt.Sprintf(`[...document.querySelectorAll('table.table tbody tr')].find((r) => r.innerText.startsWith(%q))?.innerText ?? ''`, kind), &text)
		return words(text)
	}
	if got := row("series, every second"); !strings.Contains(got, "15 d") || !strings.Contains(got, "--keep") || !strings.Contains(got, "not measured yet") {
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
