//go:build bench

package bench

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"database/sql"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/test/browser"
	"github.com/dyno-perf/dyno/test/servers"
)

// graphsWanted is how many graphs must be painted until a Server page counts as there.
const graphsWanted = 12

// goal prints a figure beside what it should be.
func goal(what string, got, most float64, unit string) {
	word := "reached"
	if !(got <= most) {
		word = "MISSED"
	}
	fmt.Printf("%-58s %8.1f %-5s goal %g: %s\n", what, got, unit, most, word)
}

// TestPage prints what the page costs, each figure beside its goal.
func TestPage(t *testing.T) {
	pageSize(t)
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Printf("load of the machine before: %s", b)
	}
	hours, loads := count(t, "HOURS"), count(t, "LOADS")
	_, base, b := watched(t, hours, count(t, "RECORD"))

	spans := []struct {
		name, from string
		goal       float64
	}{{"1 hour", "-1h", 400}}
	if hours >= 24 {
		spans = append(spans, struct {
			name, from string
			goal       float64
		}{"24 hours", "-24h", 600})
	}
	// The first load fills the caches of the system and of the program.
	openServer(t, b, base, "-1h")
	for _, x := range spans {
		var all []paint
		for range loads {
			all = append(all, openServer(t, b, base, x.from)...)
		}
		for _, kind := range []string{"first visit", "again"} {
			var text, first, twelve, answer, long, thread []float64
			graphs := math.MaxInt
			for _, l := range all {
				if l.kind != kind {
					continue
				}
				text, first, twelve, answer, long = append(text, l.Text), append(first, l.First),
					append(twelve, l.Twelve), append(answer, l.Answer), append(long, l.Long)
				thread = append(thread, l.thread)
				graphs = min(graphs, l.Graphs)
			}
			fmt.Printf("\nServer page, %s at 1 s, %s, %d loads, ms from the click: middle and 95 %% interval\n",
				x.name, kind, len(twelve))
			fmt.Printf("  something is painted %s, the first graph %s, %d graphs %s (of %d); GET graphs takes %s, "+
				"the longest task of the page %s; its main thread uses %s ms of CPU until all is at rest\n",
				show(text), show(first), graphsWanted, show(twelve), graphs, show(answer), show(long), show(thread))
			goal(fmt.Sprintf("%d graphs painted, %s, %s", graphsWanted, x.name, kind), median(twelve), x.goal, "ms")
		}
	}
	interact(t, b, base)
}

// TestPageOpen leaves a Server page of an hour open for MINUTES and prints how memory and CPU go.
func TestPageOpen(t *testing.T) {
	n := count(t, "MINUTES")
	if n == 0 {
		t.Fatal("MINUTES is 0: in no time nothing grows")
	}
	pid, base, b := watched(t, 1, min(count(t, "RECORD"), 30))
	stayOpen(t, b, base, pid, time.Duration(n)*time.Minute)
}

// watched is a server under a small load, the program that watches it with hours of its readings in the store, and a
// browser.
func watched(t *testing.T, hours, record int) (pid int, base string, b *browser.Browser) {
	t.Helper()
	s := servers.Start(t, "mariadb", "performance_schema=ON")
	steady(t, s)
	home := t.TempDir()
	dynoRun(t, home, "target", "add", "shop", s.URL("root"))
	prepareSeries(t, s, home, hours, record)
	pid, base = dynoServe(t, home)
	settleCPU(t, pid) // the store brings what was written into order first, as it would have done hour by hour
	b, err := browser.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return pid, base, b
}

// pageSize prints the size of the built files as they travel.
func pageSize(t *testing.T) {
	t.Helper()
	dist := cmp.Or(os.Getenv("DYNO_PAGE_DIR"), "../internal/web/dist")
	var total, first int
	index, err := os.ReadFile(filepath.Join(dist, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dist, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".js") && !strings.HasSuffix(path, ".css") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var small bytes.Buffer
		w, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		total += small.Len()
		if bytes.Contains(index, []byte(filepath.Base(path))) {
			first += small.Len()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	goal("JS and CSS of all pages, gzip", float64(total)/1000, 120, "kB")
	fmt.Printf("%-58s %8.1f kB\n", "  of these what every page needs", float64(first)/1000)
}

// steady puts a small load on the server, for as long as the test runs.
func steady(t *testing.T, s *servers.Server) {
	t.Helper()
	s.Exec(t, "CREATE DATABASE shop", "USE shop", "CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, customer "+
		"INT NOT NULL, total DECIMAL(10,2) NOT NULL) ENGINE=InnoDB",
		"INSERT INTO orders (customer, total) SELECT seq % 1000, seq FROM seq_1_to_20000")
	db := s.DB(t, "shop")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for i := 1; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			var total sql.NullFloat64
			_ = db.QueryRowContext(ctx, fmt.Sprintf("SELECT total FROM orders WHERE id = %d", i%20000+1)).Scan(&total)
			if i%4 == 0 {
				_, _ = db.ExecContext(ctx, fmt.Sprintf("UPDATE orders SET total = total + 1 WHERE id = %d", i%20000+1))
			}
			if i%20 == 0 {
				_ = db.QueryRowContext(ctx, fmt.Sprintf("SELECT SUM(total) FROM orders WHERE customer = %d", i%1000)).
					Scan(&total)
			}
		}
	}()
}

// prepareSeries reads the server for some seconds and writes hours of it that end now: the same readings again and
// again, with counters that go on from round to round.
func prepareSeries(t *testing.T, s *servers.Server, home string, hours, record int) {
	t.Helper()
	spec, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	sc, err := sources.New(x, scrape.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	type counter struct{ first, last float64 }
	type round struct {
		samples []metric.Sample
		grows   []*counter // of each sample, nil for those that are no counters
		parts   []reading.Part
	}
	var rounds []round
	seen := map[string]*counter{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(record)*time.Second)
	defer cancel()
	err = sc.Run(ctx, time.Second, func(r reading.Reading) {
		one := round{samples: slices.Clone(r.Samples), parts: slices.Clone(r.Parts)}
		for i := range one.samples {
			m := &one.samples[i]
			var c *counter
			if m.Kind == metric.Counter {
				key := fmt.Sprint(m.Name, m.Labels)
				if c = seen[key]; c == nil {
					c = &counter{first: m.Value}
					seen[key] = c
				}
				c.last = m.Value
			}
			one.grows = append(one.grows, c)
		}
		rounds = append(rounds, one)
	})
	if err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	if len(rounds) < 2 {
		t.Fatalf("%d readings in %d s", len(rounds), record)
	}
	dir := filepath.Join(home, "store", "series")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := series.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	at := began.Truncate(time.Second).Add(-time.Duration(hours) * time.Hour)
	for cycle := 0.0; at.Before(time.Now().Add(-time.Second)); cycle++ {
		for i := range rounds {
			r := &rounds[i]
			out := make([]metric.Sample, len(r.samples))
			for k, m := range r.samples {
				m.At = at.UnixMilli()
				if c := r.grows[k]; c != nil {
					m.Value += cycle * (c.last - c.first) * float64(len(rounds)) / float64(len(rounds)-1)
				}
				out[k] = m
			}
			if err := st.AppendRound(reading.Reading{
				Target: "shop", At: at, Samples: out,
				Parts: r.parts,
			}); err != nil {
				t.Fatal(err)
			}
			at = at.Add(time.Second)
			if !at.Before(time.Now().Add(-time.Second)) {
				break
			}
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%d hours of %d series at 1 s were written in %v\n", hours, len(seen),
		time.Since(began).Round(time.Second))
}

func dynoRun(t *testing.T, home string, args ...string) {
	t.Helper()
	cmd := exec.Command(os.Getenv("PROGRAM"), args...)
	cmd.Env = append(os.Environ(), "DYNO_HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("dyno %v: %v\n%s", args, err, out)
	}
}

// dynoServe starts the program and returns its process and where it answers.
func dynoServe(t *testing.T, home string) (pid int, base string) {
	t.Helper()
	// A look that nobody asks for would be charged to the page.
	cmd := exec.Command(os.Getenv("PROGRAM"), "serve", "--listen", "127.0.0.1:0", "--discover=false", "--judge=0")
	cmd.Env = append(os.Environ(), "DYNO_HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var mu sync.Mutex
	var out strings.Builder
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		goruntime.LockOSThread() // Pdeathsig is sent when the thread that started the process ends
		defer goruntime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is ended by a signal
		}
		w.Close()
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			mu.Lock()
			out.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { cmd.Process.Signal(syscall.SIGINT); <-ended })
	said := func() string {
		mu.Lock()
		defer mu.Unlock()
		return out.String()
	}
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if found := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(said()); found != "" {
			return cmd.Process.Pid, found
		}
	}
	t.Fatalf("dyno serve says no address: %s", said())
	return 0, ""
}

// cpuSeconds is the CPU time of a process with all threads it had, in seconds.
func cpuSeconds(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100 // ticks of 10 ms on every Linux
}

// resident is the memory of a process in MB.
func resident(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	f := strings.Fields(rest)
	if len(f) == 0 { // it has just ended
		return 0
	}
	kb, _ := strconv.ParseFloat(f[0], 64)
	return kb * 1024 / 1e6
}

// settleCPU waits until a process has used little for ten seconds, at most five minutes.
func settleCPU(t *testing.T, pid int) {
	t.Helper()
	for range 30 {
		a := cpuSeconds(pid)
		time.Sleep(10 * time.Second)
		if cpuSeconds(pid)-a < 0.5 {
			return
		}
	}
	fmt.Println("the program is still busy with what was stored: the figures below have that in them")
}

// watchPaint notes when things are painted: a frame's callback sees what will be in it, and a message behind it comes
// after it.
const watchPaint = `
window.bench = {graphs: [], long: [], input: [], events: []};
new PerformanceObserver((l) => { for (const e of l.getEntries()) bench.long.push(e.duration); }).observe({type: 'longtask', buffered: true});
new PerformanceObserver((l) => { for (const e of l.getEntries()) bench.events.push([e.name, e.duration]); }).observe({type: 'event', durationThreshold: 16, buffered: true});
(() => {
	const painted = (f) => requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => f(performance.now()); c.port2.postMessage(0); });
	let last = 0;
	const look = () => {
		const n = document.querySelectorAll('.uplot canvas').length;
		if (n > last) { last = n; const c = new MessageChannel(); c.port1.onmessage = () => bench.graphs.push([performance.now(), n]); c.port2.postMessage(0); }
		if (performance.now() < 60000) requestAnimationFrame(look);
	};
	requestAnimationFrame(look);
	for (const name of ['mousemove', 'mouseup', 'click', 'keydown'])
		addEventListener(name, (e) => painted((at) => bench.input.push([name, at - e.timeStamp])), true);
})();
`

type paint struct {
	kind                              string
	Text, First, Twelve, Answer, Long float64 // ms
	Graphs                            int
	thread                            float64 // ms of CPU that the page's main thread used until it was at rest
}

// openServer opens the Server page in a new tab of a new person, and again with what the browser keeps.
func openServer(t *testing.T, b *browser.Browser, base, from string) (all []paint) {
	t.Helper()
	t.Run("load", func(t *testing.T) {
		x := b.Tab(t, base)
		x.Size(1280, 3000) // so that twelve graphs are in sight
		x.Do(chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(watchPaint).Do(ctx)
			return err
		}), log.Disable(), runtime.Disable())
		for _, kind := range []string{"first visit", "again"} {
			before := x.ThreadSeconds() * 1000
			x.Open("/overview?target=shop&from=" + from)
			x.WaitFor(fmt.Sprintf("bench.graphs.some(([, n]) => n >= %d)", graphsWanted))
			x.Settle()
			l := paint{kind: kind, thread: x.ThreadSeconds() * 1000}
			if l.thread > before && kind == "again" { // a new document in the same process
				l.thread -= before
			}
			x.Eval(fmt.Sprintf(`({
				Text: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
				First: bench.graphs[0][0], Twelve: bench.graphs.find(([, n]) => n >= %d)[0], Graphs: bench.graphs[bench.graphs.length - 1][1],
				Answer: Math.max(0, ...performance.getEntriesByType('resource').filter((e) => e.name.includes('/graphs')).map((e) => e.responseEnd - e.startTime)),
				Long: Math.max(0, ...bench.long),
			})`, graphsWanted), &l)
			var blank int // a canvas that nothing was drawn on
			x.Eval(
				`[...document.querySelectorAll('.uplot canvas')].filter((c) => c.width > 0 && !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v !== 0)).length`, &blank)
			if blank > 0 {
				t.Errorf("%d graphs of %d are blank", blank, l.Graphs)
			}
			all = append(all, l)
		}
	})
	if len(all) != 2 {
		t.FailNow()
	}
	return all
}

// interact moves the mouse over graphs, zooms, opens what opens, and walks to another page, and prints how soon each is
// painted.
func interact(t *testing.T, b *browser.Browser, base string) {
	t.Helper()
	t.Run("interact", func(t *testing.T) {
		x := b.Tab(t, base)
		x.Size(1280, 3000)
		x.Do(chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(watchPaint).Do(ctx)
			return err
		}), log.Disable(), runtime.Disable())
		x.Open("/overview?target=shop&from=-1h")
		x.WaitFor(fmt.Sprintf("bench.graphs.some(([, n]) => n >= %d)", graphsWanted))
		x.Settle()
		fmt.Printf("\nInteraction on a Server page of an hour, ms from the event until the next picture: middle, " +
			"95th of 100, largest\n")
		collect := func(event string, ms *[]float64) {
			var all [][2]any
			x.WaitFor(fmt.Sprintf("bench.input.some(([n]) => n === %q)", event))
			x.Settle()
			x.Eval("bench.input.splice(0)", &all)
			for _, e := range all {
				if v, ok := e[1].(float64); ok && e[0] == event {
					*ms = append(*ms, v)
				}
			}
		}
		tell := func(name string, ms []float64) {
			slices.Sort(ms)
			if len(ms) == 0 {
				t.Errorf("%s: no event was seen", name)
				return
			}
			p95 := ms[min(len(ms)-1, len(ms)*95/100)]
			fmt.Printf("  %-50s %6.1f %6.1f %6.1f of %d\n", name, median(ms), p95, ms[len(ms)-1], len(ms))
			goal(fmt.Sprintf("%s, 95 of 100 within, of %d", name, len(ms)), p95, 50, "ms")
		}
		var long []float64
		tasks := func() {
			var more []float64
			x.Eval("bench.long.splice(0)", &more)
			long = append(long, more...)
		}
		x.Eval("bench.input.splice(0), bench.long.splice(0), 0", nil)
		var moves, zooms, keys []float64
		for i := range 100 {
			x.Hover(".uplot .u-over", 0.05+0.009*float64(i), 0.5)
		}
		collect("mousemove", &moves)
		tell("cursor over graphs", moves)
		for i := range 100 {
			x.Drag(".uplot .u-over", 0.2, 0.9)
			collect("mouseup", &zooms) // before the page is opened anew, which forgets it
			if i%3 == 2 {
				tasks()
				x.Open("/overview?target=shop&from=-1h")
				x.WaitFor(fmt.Sprintf("bench.graphs.some(([, n]) => n >= %d)", graphsWanted))
				x.Settle()
				x.Eval("bench.input.splice(0), bench.long.splice(0), 0", nil)
			}
		}
		tell("zoom", zooms)
		for range 50 {
			// At most five keys a second, as people press them: else what is measured is the picture of the key before.
			x.Key("?")
			x.Wait("dialog[open]")
			time.Sleep(200 * time.Millisecond)
			x.Key("Escape")
			x.WaitGone("dialog[open]")
			time.Sleep(200 * time.Millisecond)
		}
		collect("keydown", &keys)
		tell("a key that opens or closes help", keys)
		tasks()
		fmt.Printf("  tasks of more than 50 ms meanwhile: %d, the longest %.0f ms\n", len(long),
			slices.Max(append(long, 0)))
	})
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}

// stayOpen leaves a live page open and prints how memory and CPU go.
func stayOpen(t *testing.T, b *browser.Browser, base string, pid int, span time.Duration) {
	t.Helper()
	t.Run("open", func(t *testing.T) {
		idle := min(span/10, 2*time.Minute)
		before := cpuSeconds(pid)
		time.Sleep(idle)
		alone := (cpuSeconds(pid) - before) / idle.Seconds()

		x := b.Tab(t, base)
		x.Open("/overview?target=shop&from=-1h")
		x.Settle()
		x.Do(log.Disable(), network.Disable()) // nobody listens: the browser need not tell
		time.Sleep(time.Minute)                // it fills its caches
		cpuOf := func() (page, all, rss float64) {
			ps, err := b.Processes()
			if err != nil {
				t.Fatal(err)
			}
			most := 0.0
			for _, p := range ps {
				u := cpuSeconds(p.PID)
				all += u
				if p.Type == "renderer" {
					page += u
					if u > most {
						most, rss = u, resident(p.PID)
					}
				}
			}
			return page, all, rss
		}
		heap := func() (mb float64) {
			x.Do(heapprofiler.CollectGarbage(), heapprofiler.CollectGarbage(),
				chromedp.ActionFunc(func(ctx context.Context) error {
					used, _, _, _, err := runtime.GetHeapUsage().Do(ctx)
					mb = used / 1e6
					return err
				}))
			return mb
		}
		const parts = 6
		fmt.Printf("\nAn open live Server page of an hour, %v after a minute of warming up\n%8s %10s %10s %14s %14s "+
			"%14s\n", span, "minute", "heap MB", "RSS MB", "renderer CPU %", "browser CPU %", "dyno CPU %")
		var heaps, sizes, pages, alls, ours []float64
		h := heap()
		p0, a0, rss := cpuOf()
		d0 := cpuSeconds(pid)
		heaps, sizes = append(heaps, h), append(sizes, rss)
		fmt.Printf("%8d %10.2f %10.1f\n", 0, h, rss)
		for i := range parts {
			began := time.Now()
			time.Sleep(span / parts)
			took := time.Since(began).Seconds()
			p1, a1, rss := cpuOf()
			d1 := cpuSeconds(pid)
			h := heap()
			pages, alls, ours = append(pages, 100*(p1-p0)/took), append(alls, 100*(a1-a0)/took),
				append(ours, 100*(d1-d0)/took)
			fmt.Printf("%8.1f %10.2f %10.1f %14.2f %14.2f %14.2f\n", (span / parts * time.Duration(i+1)).Minutes(), h,
				rss, pages[i], alls[i], ours[i])
			heaps, sizes = append(heaps, h), append(sizes, rss)
			p0, a0, _ = cpuOf() // without what taking the heap cost
			d0 = cpuSeconds(pid)
		}
		// What something grows by in all, in per cent of what it was, from what it grows by in each part.
		grown := func(what string, v []float64) {
			var steps []float64
			for i := range parts {
				steps = append(steps, 100*parts*(v[i+1]-v[i])/v[0])
			}
			x := stat.Center(steps, 0.95)
			name := fmt.Sprintf("%s, grown in %v (%.1f to %.1f)", what, span, x.Lo, x.Hi)
			if total := mean(steps); span >= time.Hour || total > 10 {
				goal(name, total, 10, "%")
			} else {
				fmt.Printf("%-58s %8.1f %%    the goal, 10 in an hour, takes an hour to judge\n", name, total)
			}
		}
		grown("the page's heap", heaps)
		grown("its process", sizes)
		goal("CPU of the page's process, "+show(pages), mean(pages), 3, "%")
		fmt.Printf("  of the whole browser, which draws without a GPU: %s %%\n", show(alls))
		for i := range ours {
			ours[i] -= 100 * alone
		}
		goal("CPU of dyno serve for the page, "+show(ours), mean(ours), 1, "%")
		fmt.Printf("  without a page %.1f %%\n", 100*alone)
	})
}
