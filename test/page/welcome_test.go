package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/pgserver"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestFirstMinutes starts the program without any configuration beside a real server: it finds it, watches it, and the
// Server page fills.
func TestFirstMinutes(t *testing.T) {
	s := stage(t)
	home := folder(t)
	p := serve(t, home, "--discover="+s.Server.Socket)
	name := fmt.Sprintf("mariadb-%d", s.Server.Port)
	p.waitUp(t, name)
	if log := p.Log(); !strings.Contains(log, "watching it as "+name) {
		t.Errorf("it does not say what it does:\n%s", log)
	} else if !strings.Contains(log, "WARNING: Dyno is logged in as root@localhost") {
		t.Errorf("it does not say that it is root:\n%s", log)
	}
	b := tab(t, p.URL)
	visit(b, "/overview")
	b.WaitURL("target=" + name) // the only one is chosen
	b.Wait("canvas")
	b.Settle()
	b.ShotAll("first-minutes-server")
	visit(b, "/welcome")
	b.WaitText(".found", name)
	b.WaitText(".found", "watched")
	inBoth(b, "welcome-watched")
}

// TestWelcome takes a server with one button, and tells what another one lacks with the statements to paste.
func TestWelcome(t *testing.T) {
	s := stage(t)
	closed := servers.Start(t, "mariadb")
	closed.Exec(t, "CREATE USER keeper@localhost IDENTIFIED BY 'kept 7'", "GRANT ALL ON *.* TO keeper@localhost WITH "+
		"GRANT OPTION", "ALTER USER root@localhost IDENTIFIED BY 'other 7'")
	home := folder(t)
	// nothing is taken by itself into an inventory that has something
	try(t, home, "target", "add", "down", "mysql://u@127.0.0.1:1")
	p := serve(t, home, "--discover="+s.Server.Socket+","+closed.Socket)
	b := tab(t, p.URL)
	visit(b, "/welcome")
	b.Wait(".found")
	b.WaitFor(`[...document.querySelectorAll('.found .badge')].some((x) => x.innerText.trim() === 'ready')`)
	b.WaitText("main", "no login yet")
	b.WaitText("main", "CREATE USER")
	b.WaitText("main", "GRANT PROCESS, BINLOG MONITOR, SLAVE MONITOR")
	inBoth(b, "welcome")
	if out := try(t, home, "target", "ls"); strings.Contains(out, "mariadb") {
		t.Errorf("it was taken unasked: %s", out)
	}
	b.WaitFor(
		`[...document.querySelectorAll('.found')].some((e) => [...e.querySelectorAll('.badge')].some((x) => x.innerText.trim() === 'ready') && [...e.querySelectorAll('button')].some((x) => x.innerText.trim() === 'Add'))`)
	b.Eval(
		`[...[...document.querySelectorAll('.found')].find((e) => [...e.querySelectorAll('.badge')].some((x) => x.innerText.trim() === 'ready')).querySelectorAll('button')].find((x) => x.innerText.trim() === 'Add').click()`, nil)
	b.WaitURL("/overview")
	name := fmt.Sprintf("mariadb-%d", s.Server.Port)
	b.WaitURL("target=" + name)
	p.waitUp(t, name)
	b.Wait("canvas")
	b.Settle()
}

// TestWelcomePostgres shows a server of PostgreSQL that was found.
func TestWelcomePostgres(t *testing.T) {
	pg := pgserver.Start(t, "17")
	p := serve(t, folder(t), "--discover="+pg.Socket)
	b := tab(t, p.URL)
	visit(b, "/welcome")
	b.WaitText(".found", "PostgreSQL")
	b.WaitText(".found", pg.Socket)
	b.WaitText(".found", fmt.Sprintf("postgres-%d", pg.Port))
}

// TestWelcomeAlone: on a machine without a server the page says what to do.
func TestWelcomeAlone(t *testing.T) {
	stage(t)
	p := serve(t, folder(t))
	b := tab(t, p.URL)
	visit(b, "/welcome")
	b.Wait("No MySQL, MariaDB or PostgreSQL server was found here")
	b.Fill("input[name=address]", "127.0.0.1:1")
	b.Fill("input[name=user]", "joe")
	b.Key("Tab")
	b.Wait("no login")
	b.WaitText("main", "nothing listens")
	inBoth(b, "welcome-alone")
	b.Phone()
	b.Settle()
	b.ShotAll("welcome-phone")
}
