// Package observe_test runs `dyno serve` as a user does, on real servers, beside a real Prometheus and a real
// VictoriaMetrics.
package observe_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/program"
	"github.com/dyno-perf/dyno/test/servers"
)

var dyno string

func TestMain(m *testing.M) { os.Exit(program.Main(m, &dyno)) }

// patience is how long a fact is waited for: machines that run tests may be slow and busy.
const patience = 2 * time.Minute

func eventually(t *testing.T, what string, ok func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if err = ok(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// process is a program that belongs to the test.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	mu   sync.Mutex
	out  strings.Builder
}

func start(t *testing.T, env []string, path string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() {
		defer close(p.done)
		lines := bufio.NewReader(r)
		for {
			l, err := lines.ReadString('\n')
			p.mu.Lock()
			p.out.WriteString(l)
			p.mu.Unlock()
			if err != nil {
				break
			}
		}
		r.Close()
		p.cmd.Wait()
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// stop ends the program as Ctrl-C does and returns its exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	p.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Errorf("it does not end:\n%s", p.text())
		p.kill()
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// serve starts `dyno serve` and returns where it answers.
func serve(t *testing.T, home string, args ...string) (*process, string) {
	t.Helper()
	p := start(t, []string{"DYNO_HOME=" + home}, dyno, append([]string{
		"serve", "--listen", "127.0.0.1:0",
		"--discover=false",
	}, args...)...)
	base := ""
	eventually(t, "an address", func() error {
		if _, rest, ok := strings.Cut(p.text(), "Dyno answers on "); ok {
			if u, _, ok := strings.Cut(rest, ". Ctrl-C"); ok {
				base = u
				return nil
			}
		}
		return fmt.Errorf("it says %q", p.text())
	})
	return p, base
}

func run(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := exec.Command(dyno, args...)
	cmd.Env = append(os.Environ(), "DYNO_HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("dyno %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func get(t *testing.T, u string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, b)
	}
	return b, err
}

// instant asks a Prometheus API for a vector and returns the values by the label target.
func instant(t *testing.T, base, expr string) (map[string]string, error) {
	t.Helper()
	b, err := get(t, base+"/api/v1/query?query="+url.QueryEscape(expr))
	if err != nil {
		return nil, err
	}
	var a struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, fmt.Errorf("%w: %s", err, b)
	}
	got := map[string]string{}
	for _, r := range a.Data.Result {
		got[r.Metric["target"]] = fmt.Sprint(r.Value[1])
	}
	return got, nil
}

// want returns an error unless a Prometheus API gives each of the values.
func want(t *testing.T, base, expr string, values map[string]string) error {
	t.Helper()
	got, err := instant(t, base, expr)
	if err != nil {
		return err
	}
	if fmt.Sprint(got) != fmt.Sprint(values) {
		return fmt.Errorf("%s is %v, want %v", expr, got, values)
	}
	return nil
}

func peer(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(os.Getenv("DYNO_TEST_PEERS"), "usr/bin", name)
	if os.Getenv("DYNO_TEST_PEERS") == "" {
		t.Fatal("DYNO_TEST_PEERS names no folder with unpacked programs; build/peers fetches them")
	}
	return path
}

// fleet is a home whose inventory has a MariaDB and a MySQL.
func fleet(t *testing.T) (home string, all map[string]*servers.Server) {
	t.Helper()
	home, all = t.TempDir(), map[string]*servers.Server{}
	for _, f := range servers.Flavors {
		all[f] = servers.Start(t, f, "performance_schema=ON")
		run(t, home, "target", "add", f, all[f].URL("root"))
	}
	return home, all
}

// TestServe asks over HTTP what the servers know themselves, lets a Prometheus scrape, restarts a server, and ends with
// sound stores.
func TestServe(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	home, all := fleet(t)
	p, base := serve(t, home)
	both := map[string]string{"mariadb": "1", "mysql": "1"}
	eventually(t, "both servers", func() error { return want(t, base, "mysql_up", both) })

	prom := program.Address(t)
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs: [{job_name: dyno, "+
		"static_configs: [{targets: ['%s']}]}]\n", strings.TrimPrefix(base, "http://"))
	if err := os.WriteFile(dir+"/prometheus.yml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	pr := start(t, nil, peer(t, "prometheus"), "--config.file="+dir+"/prometheus.yml", "--storage.tsdb.path="+dir+
		"/data", "--web.listen-address="+prom)
	eventually(t, "Prometheus has scraped", func() error {
		if err := want(t, "http://"+prom, "mysql_up", both); err != nil {
			return fmt.Errorf("%w\n%s", err, pr.text())
		}
		return want(t, "http://"+prom, `count by (target) (mysql_global_variables_max_connections)`, both)
	})

	// A known number of statements on each: the store, and what Prometheus scraped of it, grow by exactly that.
	for f, s := range all {
		expr := `mysql_global_status_commands_total{command="create_db"}`
		got, err := instant(t, base, expr)
		if err != nil {
			t.Fatal(err)
		}
		before := got[f]
		for i := range 7 {
			s.Exec(t, fmt.Sprintf("CREATE DATABASE known_%d", i))
		}
		for _, api := range []string{base, "http://" + prom} {
			eventually(t, "seven databases on "+f+" at "+api, func() error {
				got, err := instant(t, api, expr)
				if err != nil {
					return err
				}
				a, aerr := strconv.Atoi(before)
				b, berr := strconv.Atoi(got[f])
				if aerr != nil || berr != nil || b != a+7 {
					return fmt.Errorf("%q, before %q", got[f], before)
				}
				return nil
			})
		}
	}

	// A lock, its holder and its victim are in the state, and in the state of that second later.
	s := all["mariadb"]
	s.Exec(t, "CREATE TABLE known_0.t (id INT PRIMARY KEY) ENGINE=InnoDB", "INSERT INTO known_0.t VALUES (1)")
	holder, victim := s.DB(t, ""), s.DB(t, "")
	hold, err := holder.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Exec("UPDATE known_0.t SET id=1 WHERE id=1"); err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Exec("DELETE FROM known_0.t WHERE id=1"); err != nil {
		t.Fatal(err)
	}
	var root uint64
	if err := hold.QueryRow("SELECT CONNECTION_ID()").Scan(&root); err != nil {
		t.Fatal(err)
	}
	freed := make(chan error, 1)
	go func() {
		_, err := victim.Exec("UPDATE known_0.t SET id=2 WHERE id=1")
		freed <- err
	}()
	type state struct {
		At    time.Time
		Waits []struct{ Waiter, Blocker uint64 }
	}
	seen := func(at string) (st state, err error) {
		b, err := get(t, base+"/api/dyno/v1/state?target=mariadb"+at)
		if err == nil {
			err = json.Unmarshal(b, &st)
		}
		if err == nil && (len(st.Waits) == 0 || st.Waits[0].Blocker != root) {
			err = fmt.Errorf("waits %+v, the holder is %d", st.Waits, root)
		}
		return st, err
	}
	var then state
	eventually(t, "the wait", func() (err error) { then, err = seen(""); return err })
	hold.Rollback()
	if err := <-freed; err != nil {
		t.Error(err)
	}
	eventually(t, "the wait, seen later", func() error {
		_, err := seen("&at=" + url.QueryEscape(then.At.Format(time.RFC3339Nano)))
		return err
	})

	// A restart is an event, and figures come again.
	s.Kill(t)
	eventually(t, "the server is down", func() error {
		return want(t, base, `mysql_up{target="mariadb"}`,
			map[string]string{"mariadb": "0"})
	})
	s.Launch(t)
	eventually(t, "the server is back", func() error { return want(t, base, "mysql_up", both) })
	eventually(t, "the restart is an event", func() error {
		b, err := get(t, base+"/api/dyno/v1/events?target=mariadb")
		if err == nil && !strings.Contains(string(b), `"restart"`) {
			err = fmt.Errorf("%s", b)
		}
		return err
	})

	run(t, home, "annotate", "release 4.2", "--target", "mysql")
	if out := run(t, home, "annotate", "--list", "--output", "json"); !strings.Contains(out, "release 4.2") ||
		!strings.Contains(out, `"restart"`) {
		t.Errorf("annotations: %s", out)
	}
	if out := run(t, home, "store", "check"); !strings.Contains(out, "in use") {
		t.Errorf("check beside serve: %s", out)
	}
	if code := p.stop(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.text())
	}
	run(t, home, "store", "check")
}

// TestNothingIsLostOnTheWay kills Dyno and VictoriaMetrics while samples go from one to the other, and then compares
// all of them.
func TestNothingIsLostOnTheWay(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	home, _ := fleet(t)
	vmAddr, vmDir := program.Address(t), t.TempDir()
	startVM := func() *process {
		return start(t, nil, peer(t, "victoria-metrics"), "-storageDataPath="+vmDir, "-httpListenAddr="+vmAddr,
			"-dedup.minScrapeInterval=1ms", "-search.latencyOffset=0s", "-memory.allowedBytes=200MB")
	}
	vm := startVM()
	flags := []string{
		"--remote-write", "http://" + vmAddr + "/api/v1/write", "--remote-write-replay", "15s",
		"--remote-write-backfill",
	}
	p, base := serve(t, home, flags...)
	rounds := func(n int) {
		t.Helper()
		from := ""
		eventually(t, fmt.Sprintf("%d more rounds", n), func() error {
			got, err := instant(t, base, "count_over_time(mysql_up[1h])")
			if err != nil {
				return err
			}
			if from == "" {
				from = got["mysql"]
			}
			a, aerr := strconv.Atoi(from)
			b, berr := strconv.Atoi(got["mysql"])
			if aerr != nil || berr != nil || b < a+n {
				return fmt.Errorf("%q, from %q", got["mysql"], from)
			}
			return nil
		})
	}
	rounds(8)
	vm.kill()
	rounds(4)
	vm = startVM()
	rounds(6)
	p.kill() // not Ctrl-C: a crash
	p, base = serve(t, home, flags...)
	rounds(6)

	// What is stored here up to now must arrive there, each sample once.
	now := time.Now().Add(-2 * time.Second).Truncate(time.Second)
	names := []string{
		"mysql_up", "mysql_global_status_uptime", "mysql_global_variables_max_connections",
		`mysql_global_status_commands_total{command="select"}`, "dyno_server_resident_bytes",
	}
	eventually(t, "all samples are there", func() error {
		for _, n := range names {
			ours, err := raw(t, base, n, now)
			if err != nil {
				return err
			}
			theirs, err := export(t, "http://"+vmAddr, n, now)
			if err != nil {
				return fmt.Errorf("%w\n%s", err, vm.text())
			}
			if len(ours) == 0 {
				return fmt.Errorf("no samples of %s", n)
			}
			for k, v := range ours {
				if w, ok := theirs[k]; !ok || w != v {
					return fmt.Errorf("%s at %s: %q there, %q here; %d there, %d here", n, k, w, v,
						len(theirs), len(ours))
				}
			}
			if len(theirs) != len(ours) {
				return fmt.Errorf("%s: %d samples there, %d here", n, len(theirs), len(ours))
			}
		}
		return nil
	})
	if code := p.stop(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.text())
	}
	run(t, home, "store", "check")
}

// raw returns every stored sample of a series up to a moment, by target and time.
func raw(t *testing.T, base, name string, to time.Time) (map[string]string, error) {
	t.Helper()
	b, err := get(t, fmt.Sprintf("%s/api/v1/query?time=%d&query=%s", base, to.Unix(), url.QueryEscape(name+"[1h]")))
	if err != nil {
		return nil, err
	}
	var a struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, err
	}
	got := map[string]string{}
	for _, r := range a.Data.Result {
		for _, v := range r.Values {
			n, err := number(fmt.Sprint(v[1]))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			got[fmt.Sprintf("%s %.0f", r.Metric["target"], v[0].(float64)*1000)] = n
		}
	}
	return got, nil
}

// export returns the same of a VictoriaMetrics.
func export(t *testing.T, base, name string, to time.Time) (map[string]string, error) {
	t.Helper()
	b, err := get(t, fmt.Sprintf("%s/api/v1/export?start=%d&end=%d&match[]=%s", base, to.Add(-time.Hour).Unix(),
		to.Unix(), url.QueryEscape(name)))
	if err != nil {
		return nil, err
	}
	got := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(b))); ; {
		var x struct {
			Metric     map[string]string
			Values     []*float64
			Timestamps []int64
		}
		if err := d.Decode(&x); err == io.EOF {
			return got, nil
		} else if err != nil {
			return nil, err
		}
		for i, v := range x.Values {
			if v == nil { // the marker of a series' end
				continue
			}
			k := fmt.Sprintf("%s %d", x.Metric["target"], x.Timestamps[i])
			if _, twice := got[k]; twice {
				return nil, fmt.Errorf("%s twice", k)
			}
			if got[k], err = number(fmt.Sprint(*v)); err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
		}
	}
}

// number writes a number in one way, whoever wrote it before.
func number(s string) (string, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return "", err
	}
	return strconv.FormatFloat(f, 'g', 12, 64), nil
}
