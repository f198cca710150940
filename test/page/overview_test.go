package page

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/dyno-perf/dyno/test/browser"
	"github.com/dyno-perf/dyno/test/servers"
)

// figures reads the table of a large graph: the columns last, mean, least, most by line.
func figures(b *browser.Tab) map[string][]string {
	var rows [][]string
	b.Eval(
		`[...document.querySelectorAll('.plot-table tbody tr')].map((r) => [...r.cells].map((c) => c.textContent.trim()))`, &rows)
	all := map[string][]string{}
	for _, r := range rows {
		if len(r) == 5 {
			all[r[0]] = r[1:]
		}
	}
	return all
}

// shownAs reads a figure as the page writes it: "29.8/s", "1.2k/s".
func shownAs(s, unit string) (float64, error) {
	n, ok := strings.CutSuffix(s, unit)
	if !ok {
		return 0, fmt.Errorf("%q has no unit %q", s, unit)
	}
	n = strings.TrimSpace(n)
	f := 1.0
	for suffix, by := range map[string]float64{"k": 1e3, "M": 1e6} {
		if x, ok := strings.CutSuffix(n, suffix); ok {
			n, f = x, by
		}
	}
	v, err := strconv.ParseFloat(n, 64)
	return v * f, err
}

// read waits until a target was read after a moment and returns when.
func read(t *testing.T, base, target string, after time.Time) (at time.Time) {
	t.Helper()
	eventually(t, target+" is read", func() error {
		var a struct {
			Targets []struct {
				Name string
				At   time.Time
			}
		}
		if err := getJSON(base, "targets", &a); err != nil {
			return err
		}
		for _, x := range a.Targets {
			if x.Name == target && x.At.After(after) {
				at = x.At
				return nil
			}
		}
		return fmt.Errorf("targets are %+v", a.Targets)
	})
	return at
}

// kept returns the value of a series as it was at a moment, by the query API.
func kept(t *testing.T, base, series string, at int64) (v float64) {
	t.Helper()
	var a struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := getJSON(base, fmt.Sprintf("/api/v1/query?query=%s&time=%d", url.QueryEscape(series), at),
		&a); err != nil {
		t.Fatal(err)
	}
	if len(a.Data.Result) != 1 {
		t.Fatalf("%s at %d is %+v", series, at, a.Data.Result)
	}
	v, err := strconv.ParseFloat(fmt.Sprint(a.Data.Result[0].Value[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestOverview plays with a server of its own, that nobody else uses, and looks for what it did on the page.
func TestOverview(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real server and a real browser")
	}
	db := servers.Start(t, "mariadb", "performance_schema=OFF", "slow_query_log=OFF", "max_connections=77")
	db.Exec(t, "CREATE DATABASE known", "USE known", "CREATE TABLE t (id INT PRIMARY KEY)")
	home := folder(t)
	p := serve(t, home)
	b := tab(t, p.URL)
	b.Laptop()
	b.Light()

	// A server that was just added: the page fills by itself.
	try(t, home, "target", "add", "known", db.URL("root"))
	b.Open("/overview?target=known&from=-5m")
	b.Wait("#panel-throughput canvas")
	b.WaitText("#panel-connections .plot-legend", "limit 77")
	b.WaitText(".sv-strip", "mariadb")

	// What is not observable is told in one line, with what would mend it, and takes no box.
	b.WaitText(`section[aria-label="Is it busy?"]`, "Statement time unavailable: set performance_schema=ON")
	b.WaitText(`section[aria-label="What does it wait for?"]`, "this server is not a replica")
	if b.Count("#panel-latency, #panel-replication") != 0 {
		t.Error("there are boxes for what is not known")
	}

	// So many statements of a kind between two readings, and a reading before and behind them in which there are none.
	const deletes = 600
	first := read(t, p.URL, "known", time.Now())
	read(t, p.URL, "known", first.Add(2*time.Second))
	sqls := []string{"USE known"}
	for range deletes {
		sqls = append(sqls, "DELETE FROM t WHERE id = 1")
	}
	db.Exec(t, sqls...)
	from, to := first.Unix(), read(t, p.URL, "known", time.Now()).Unix()+3
	read(t, p.URL, "known", time.Unix(to, 0))
	const counter = `mysql_global_status_commands_total{target="known",command="delete"}`
	if got := kept(t, p.URL, counter, to) - kept(t, p.URL, counter, from); got != deletes {
		t.Errorf("%v deletes are kept, there were %d", got, deletes)
	}
	// What was not observed, where the machine did not let Dyno read every second, is drawn by nobody; all else is what
	// was done.
	var drawn struct {
		Panels []struct {
			Lines []struct {
				Name string
				Mean []*float64
			}
		}
	}
	if err := getJSON(p.URL, fmt.Sprintf("graphs?target=known&panel=kinds&from=%d&to=%d&step=1", from, to),
		&drawn); err != nil {
		t.Fatal(err)
	}
	sum, least, n := 0.0, math.Inf(1), 0
	for _, l := range drawn.Panels[0].Lines {
		for _, v := range l.Mean {
			if l.Name == "delete" && v != nil {
				sum, least, n = sum+*v, min(least, *v), n+1
			}
		}
	}
	switch seconds := int(to - from); {
	case n < seconds:
		t.Logf("%d of %d seconds were observed", n, seconds)
	case math.Abs(sum-deletes) > 0.001*deletes || least != 0:
		t.Errorf("%v deletes are drawn, %v/s at least; there were %d, and seconds with none", sum, least, deletes)
	}
	b.Open(fmt.Sprintf("/overview?target=known&panel=kinds&from=%d&to=%d", from, to))
	b.Wait(".sv-large canvas")
	b.Key("t")
	b.Wait(".plot-table")
	row := figures(b)["delete"]
	if len(row) != 4 {
		t.Fatalf("there is no line delete: %v", figures(b))
	}
	for i, want := range map[int]float64{1: sum / float64(n), 2: least} { // of three digits
		if got, err := shownAs(row[i], "/s"); err != nil || math.Abs(got-want) > 0.006*want {
			t.Errorf("the page says %q deletes, want %.4g/s: %v", row, want, err)
		}
	}
	if got := figures(b)["update"]; len(got) != 4 || got[1] != "0/s" {
		t.Errorf("updates: %v, there was none", got)
	}
	b.WaitText(".sv-exprs", `mysql_global_status_commands_total{target="known"`)
	b.Key("Escape")
	b.Until("all graphs again", func() error {
		if b.Param("panel") != "" {
			return errNotYet
		}
		return nil
	})
	b.Key("t")

	// Connections that are open: as many as the server says, without Dyno's own.
	for range 13 {
		c, err := db.DB(t, "").Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	var name string
	var connected int
	if err := db.DB(t, "").QueryRow("SHOW GLOBAL STATUS LIKE 'Threads_connected'").Scan(&name, &connected); err != nil {
		t.Fatal(err)
	}
	b.Open("/overview?target=known&from=-5m")
	b.Until("the connections are seen", func() error {
		text := strings.Join(strings.Fields(b.Text("#panel-connections .plot-legend")), " ")
		var seen int
		if m := regexp.MustCompile(`connected (\d+)(\s|$)`).FindStringSubmatch(text); m != nil {
			seen, _ = strconv.Atoi(m[1])
		}
		if seen >= connected-8 && seen < connected { // Dyno's own few are not counted
			return nil
		}
		return fmt.Errorf("the server has %d, the page says %s", connected, text)
	})

	// A note, by the keyboard alone, stands on the timeline and in the list.
	b.Key("a")
	b.Wait("dialog[open]")
	b.Type("deployed <b>4.2</b>")
	b.Key("Enter")
	b.WaitGone("dialog[open]")
	b.WaitText(`section[aria-label="Events"]`, "deployed <b>4.2</b>")

	// The cursor is the same second everywhere, and a click leads to what ran then.
	b.Hover("#panel-throughput .u-over", 0.9, 0.5)
	b.Until("one second everywhere", func() error {
		when := b.Texts(".plot-when")
		if len(when) < 4 { // the others are not drawn yet
			return fmt.Errorf("%v", when)
		}
		seen := map[string]bool{}
		for _, w := range when[:4] {
			seen[w] = true
		}
		if len(seen) != 1 || when[0] == "" {
			return fmt.Errorf("%v", when)
		}
		return nil
	})
	b.Click("#panel-throughput .u-over")
	b.Wait(".sv-pinned")
	if href := b.Attr(".sv-pinned a", "href"); !strings.Contains(href, "activity?") || !strings.Contains(href, "at=") {
		t.Errorf("it leads to %s", href)
	}
	b.Key("Escape")
	b.WaitGone(".sv-pinned")

	// Drag to zoom, Esc to go back.
	before := b.URL()
	b.Drag("#panel-throughput .u-over", 0.5, 0.9)
	b.WaitURL("to=")
	u, err := url.Parse(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	a, _ := strconv.ParseFloat(u.Query().Get("from"), 64)
	z, _ := strconv.ParseFloat(u.Query().Get("to"), 64)
	if z-a < 60 || z-a > 180 {
		t.Errorf("40 %% of five minutes are %v s: %s", z-a, b.URL())
	}
	b.Key("Escape")
	b.Until("back", func() error {
		if b.URL() != before {
			return fmt.Errorf("at %s", b.URL())
		}
		return nil
	})

	// Compared with yesterday, of which nothing is kept: nothing breaks.
	b.Key("c")
	b.WaitURL("compare=1d")
	b.Wait("#panel-throughput canvas")
	b.Settle()
	b.Axe("main")
	b.Shot("server-light")
	b.Dark()
	b.Settle()
	b.Axe("main")
	b.Shot("server-dark")
	b.ShotAll("server-dark-all")
	b.Open("/overview?target=known&from=1000000&to=1003600")
	b.Wait("or the data has expired")
	b.Shot("server-nothing")
	b.Phone()
	b.Open("/overview?target=known&from=-5m")
	b.Wait("#panel-throughput canvas")
	if n := b.Sideways(); n > 0 {
		t.Errorf("on a phone the page is %d px too wide", n)
	}
	b.Shot("server-phone")
}

// TestOverviewPrinted: on paper every graph is drawn, also those that nobody has scrolled to; cards of a row are of one
// height.
func TestOverviewPrinted(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	visit(b, "/overview?target=shop")
	b.Wait(".sv-card canvas")
	b.Settle()
	const empty = `[...document.querySelectorAll('.plot-box')].filter((e) => !e.querySelector('canvas')).length`
	var before, after int
	b.Eval(empty, &before)
	if before == 0 {
		t.Fatal("every graph was in sight: this shows nothing")
	}
	var uneven []string
	b.Eval(`(() => {
		const rows = new Map()
		for (const e of document.querySelectorAll('.sv-card')) {
			const r = e.getBoundingClientRect(), axis = e.querySelector('.plot-box').getBoundingClientRect().bottom
			const y = Math.round(r.top)
			rows.set(y, [...(rows.get(y) ?? []), [Math.round(r.height), Math.round(axis)].join()])
		}
		return [...rows.values()].filter((x) => new Set(x).size > 1).map(String)
	})()`, &uneven)
	if len(uneven) > 0 {
		t.Errorf("cards of a row differ in height or axis: %q", uneven)
	}
	b.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		pdf, _, err := page.PrintToPDF().Do(ctx)
		if err == nil && len(pdf) == 0 {
			err = errors.New("the paper is empty")
		}
		return err
	}))
	if b.Eval(empty, &after); after != 0 {
		t.Errorf("%d of %d graphs that were out of sight are not printed", after, before)
	}
}
