package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/browser"
	"github.com/dyno-perf/dyno/test/servers"
)

// own is a program of the test's own that watches the stage's server as "shop", for tests that kill it.
func own(t *testing.T, s *Stage, args ...string) *Serve {
	t.Helper()
	home := folder(t)
	try(t, home, "target", "add", "shop", s.Server.URL("root"))
	p := serve(t, home, args...)
	p.waitUp(t, "shop")
	return p
}

// TestServeRestarts kills the program under an open page and starts it again: the page tells it, keeps what it shows,
// and is live again by itself.
func TestServeRestarts(t *testing.T) {
	s := stage(t)
	p := own(t, s)
	b := tab(t, p.URL)
	b.Allow(gone)
	refusals(b, "503", `state\?`) // the first second after the start is being read
	visit(b, "/overview?target=shop&from=-5m")
	b.Wait(".live-live")
	p.Kill()
	b.Wait("connection lost")
	b.Shot("program-gone")
	if got := b.Text("h1"); got == "" {
		t.Error("without the program the page is blank")
	}
	b.Key("g", "q") // also a page that was not fetched yet answers in words
	b.WaitURL("/queries")
	b.Until("the page says what is wrong", func() error {
		if text := b.Text("main"); len(strings.Fields(text)) < 3 {
			return fmt.Errorf("it shows %q", text)
		}
		return nil
	})
	b.Shot("program-gone-queries")
	b.Back()
	b.WaitURL("/overview")
	p.Again(t)
	p.waitUp(t, "shop")
	b.Wait(".live-live")
	b.WaitGone("connection lost")
	b.Settle()
	before := second(b)
	b.Until("new seconds come", func() error {
		if now := second(b); now <= before {
			return fmt.Errorf("the newest is %d", now)
		}
		return nil
	})
}

// second asks the stream of the page's program for its newest second, as the page does.
func second(b *browser.Tab) (at int64) {
	b.Eval(`new Promise((done) => {
		const s = new EventSource('api/dyno/v1/stream?target=shop');
		s.addEventListener('vitals', (e) => { s.close(); done(Math.floor(Date.parse(JSON.parse(e.data).at) / 1000)); });
	})`, &at)
	return at
}

// talk sends statements to a server until the test ends, whether it answers or not: there is nothing to be seen of one
// that has no clients.
func talk(t *testing.T, s *servers.Server) {
	t.Helper()
	db, done := s.DB(t, ""), make(chan struct{})
	go func() {
		defer close(done)
		for t.Context().Err() == nil {
			_, _ = db.ExecContext(t.Context(), "DO 1") // one that is down answers with an error
			time.Sleep(20 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { <-done })
}

// TestServerRestarts kills a database server under the page and starts it again: the page says that it is down and why,
// that it is up again, when it was restarted, and the time without figures stays a gap.
func TestServerRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	db := servers.Start(t, "mariadb", "performance_schema=ON")
	talk(t, db)
	home := folder(t)
	try(t, home, "target", "add", "frail", db.URL("root"))
	p := serve(t, home)
	p.waitUp(t, "frail")
	b := tab(t, p.URL)
	visit(b, "/overview?target=frail&from=-5m")
	began := time.Now()
	eventually(t, "some seconds of figures", func() error {
		known := drawn(t, p.URL, began.Unix(), time.Now().Unix()+1) // of what is asked for in the end
		if n := len(known["throughput statements"]); n < 3 {
			return fmt.Errorf("%d seconds have figures", n)
		}
		return nil
	})
	b.WaitGone("is down")
	db.Kill(t)
	down := time.Now()
	b.Wait("frail is down")
	b.Shot("server-down")
	for time.Since(down) < 8*time.Second { // so that the gap is wider than what graphs bridge
		time.Sleep(100 * time.Millisecond)
	}
	back := time.Now() // it may be read from now on, and is for sure from up on
	db.Launch(t)
	up := time.Now()
	p.waitUp(t, "frail")
	b.WaitGone("frail is down")
	eventually(t, "the restart is an event", func() error {
		var a struct{ Events []struct{ Kind string } }
		if err := getJSON(p.URL, "events?target=frail&kind=restart", &a); err != nil {
			return err
		}
		if len(a.Events) != 1 {
			return fmt.Errorf("there are %d", len(a.Events))
		}
		return nil
	})
	visit(b, "/overview?target=frail&from=-5m")
	b.Wait("restart")
	b.Shot("server-restarted")
	// The graphs' own figures: each line that was there before is there again, and none goes through the time without a
	// server.
	eventually(t, "figures after the restart", func() error {
		known := drawn(t, p.URL, began.Unix(), time.Now().Unix()+1)
		lines := 0
		for name, at := range known {
			if at[0] > float64(down.Unix())-1 {
				continue // it was not there before
			}
			lines++
			if last := at[len(at)-1]; last < float64(up.Unix()) {
				return fmt.Errorf("%s has no figure after %s", name, time.Unix(int64(last), 0).Format(time.TimeOnly))
			}
		}
		if known["throughput statements"] == nil || lines < 10 {
			return fmt.Errorf("only %d lines have figures", lines)
		}
		if at := known["throughput statements"]; len(at) < 3 || at[len(at)-3] < float64(up.Unix()) {
			return fmt.Errorf("a line takes more seconds than there are of %v", at)
		}
		return nil
	})
	for name, at := range drawn(t, p.URL, began.Unix(), time.Now().Unix()+1) {
		for _, x := range at {
			if x > float64(down.Unix())+2 && x < float64(back.Unix()) {
				t.Errorf("%s has a figure of %s, when there was no server: it was gone from %s to %s", name,
					time.Unix(int64(x), 0).Format(time.TimeOnly), down.Format(time.TimeOnly),
					back.Format(time.TimeOnly))
				break
			}
		}
	}
	// Nor does the picture: no column of the throughput's lines is painted there.
	visit(b, fmt.Sprintf("/overview?target=frail&panel=throughput&from=%d&to=%d", began.Unix()-5, up.Unix()+10))
	b.Wait(".sv-large canvas")
	b.Settle()
	f := func(what string, from, to int64, want bool) {
		t.Helper()
		if n := painted(b, began.Unix()-5, up.Unix()+10, from, to); (n > 0) != want {
			t.Errorf("%s %d columns of the picture have a line", what, n)
		}
	}
	f("before the gap", began.Unix()-5, down.Unix()-1, true)
	f("in the gap", down.Unix()+3, back.Unix(), false)
	f("behind the gap", up.Unix(), up.Unix()+10, true)
	b.Shot("server-gap")
}

// ofMachine are panels about the machine, which was there when the server was not.
var ofMachine = []string{"cpu", "diskops", "diskbytes", "diskbusy", "memory", "pressure"}

// drawn returns the seconds in which each line of the server frail has a figure, by panel and line, in order.
func drawn(t *testing.T, base string, from, to int64) map[string][]float64 {
	t.Helper()
	var a struct {
		From, Step float64
		Panels     []struct {
			ID    string
			Lines []struct {
				Name string
				Mean []*float64
			}
		}
	}
	if err := getJSON(base, fmt.Sprintf("graphs?target=frail&from=%d&to=%d&points=2000", from, to), &a); err != nil {
		t.Fatal(err)
	}
	known := map[string][]float64{}
	for _, x := range a.Panels {
		if slices.Contains(ofMachine, x.ID) {
			continue
		}
		for _, l := range x.Lines {
			for i, v := range l.Mean {
				if v != nil {
					known[x.ID+" "+l.Name] = append(known[x.ID+" "+l.Name], a.From+float64(i)*a.Step)
				}
			}
		}
	}
	return known
}

// painted counts the columns of the large graph's picture, which shows from to to, that have a line in the colour of
// its first between two moments.
func painted(b *browser.Tab, from, to, begin, end int64) (n int) {
	b.Eval(fmt.Sprintf(`(() => {
		const canvas = document.querySelector('.sv-large .uplot canvas');
		const c = canvas.getBoundingClientRect(), o = document.querySelector('.sv-large .u-over').getBoundingClientRect();
		const f = canvas.width / c.width;
		const x = (t) => Math.round((o.left - c.left + o.width * (t - %[1]d) / (%[2]d - %[1]d)) * f);
		const colour = getComputedStyle(document.documentElement).getPropertyValue('--c1').trim().match(/[0-9a-f]{2}/gi).map((h) => parseInt(h, 16));
		let n = 0;
		for (let i = x(%[3]d); i < x(%[4]d); i++) {
			const d = canvas.getContext('2d').getImageData(i, Math.round((o.top - c.top) * f), 1, Math.round(o.height * f)).data;
			for (let k = 0; k < d.length; k += 4)
				if (d[k + 3] > 80 && colour.every((v, j) => Math.abs(v - d[k + j]) < 24)) { n++; break; }
		}
		return n;
	})()`, from, to, begin, end), &n)
	return n
}
