// Command versions runs the main commands on one server version after the other: demo, load, watch, target check,
// serve, diagnose and digest, each with the released program. It prints a line per version and exits with 1 if anything
// failed on one. make test-servers starts it.
//
// Usage: versions DYNO [SERVER...]. Without SERVER it uses all that `dyno sandbox install --list` offers, and downloads
// them into DYNO_HOME.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 || os.Getenv("DYNO_HOME") == "" {
		fmt.Fprintln(os.Stderr, "usage: DYNO_HOME=DIR versions DYNO [SERVER...]")
		os.Exit(2)
	}
	d := dyno{ctx, os.Args[1]}
	specs := os.Args[2:]
	if len(specs) == 0 {
		out, err := d.run("sandbox", "install", "--list")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for line := range strings.Lines(out) {
			specs = append(specs, strings.Fields(line)[0])
		}
	}
	failed := 0
	for _, spec := range specs {
		began := time.Now()
		said, err := d.version(spec)
		if ctx.Err() != nil {
			os.Exit(130)
		}
		word := "ok  "
		if err != nil {
			word = "FAIL"
			failed++
		}
		fmt.Printf("%s %-16s %4.0f s  %s\n", word, spec, time.Since(began).Seconds(), strings.Join(said, ", "))
		if err != nil {
			fmt.Printf("     %s\n", strings.ReplaceAll(err.Error(), "\n", "\n     "))
		}
	}
	fmt.Printf("%d passed, %d failed\n", len(specs)-failed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

// dyno is the program.
type dyno struct {
	ctx  context.Context
	path string
}

func (d dyno) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(d.ctx, d.path, args...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	return c
}

// run returns what a command printed; its error has the end of what it said.
func (d dyno) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(d.ctx, 10*time.Minute)
	defer cancel()
	var out, said bytes.Buffer
	c := dyno{ctx, d.path}.command(args...)
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("dyno %s: %w\n%s", strings.Join(args, " "), err,
			tail(said.String()+out.String()))
	}
	return out.String(), nil
}

func tail(s string) string { return strings.TrimSpace(s[max(0, len(s)-1500):]) }

// version tries one version, and returns in a few words each what worked.
func (d dyno) version(spec string) (said []string, err error) {
	say := func(format string, a ...any) { said = append(said, fmt.Sprintf(format, a...)) }
	if _, err := d.run("sandbox", "install", spec, "--quiet"); err != nil {
		return said, err
	}
	out, err := d.run("demo", "missing-index", "--no-cure", "--server", spec, "--output", "json")
	if err != nil {
		return said, err
	}
	var demo struct {
		Found    bool    `json:"found"`
		Seconds  float64 `json:"finding_s"`
		Findings []struct {
			Confidence string `json:"confidence"`
		} `json:"findings"`
	}
	if err := last(out, &demo); err != nil || !demo.Found || len(demo.Findings) == 0 {
		return said, fmt.Errorf("demo: the missing index was not found (%w)\n%s", err, tail(out))
	}
	say("demo %s after %.0f s", demo.Findings[0].Confidence, demo.Seconds)

	name := fmt.Sprintf("versions-%d", os.Getpid())
	defer func() {
		left := dyno{context.WithoutCancel(d.ctx), d.path}
		_, gone := left.run("sandbox", "rm", name)
		err = errors.Join(err, gone)
	}()
	if _, err := d.run("sandbox", "up", name, "--server", spec, "--set", "local_infile=ON"); err != nil {
		return said, err
	}
	target := "sandbox:" + name
	if _, err := d.run("load", "missing-index", "prepare", "--target", target); err != nil {
		return said, err
	}
	load := d.command("load", "missing-index", "run", "--target", target, "--threads", "4", "--time", "600")
	if err := load.Start(); err != nil {
		return said, err
	}
	defer func() {
		_ = load.Process.Signal(os.Interrupt) // what it has to say is of no interest
		_ = load.Wait()
	}()

	out, err = d.run("watch", target, "--output", "json", "--count", "12")
	if err != nil {
		return said, err
	}
	n := 0
	for line := range strings.Lines(out) {
		var s answer
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			return said, fmt.Errorf("watch: %w: %s", err, line)
		}
		if err := s.check(); err != nil || !s.Up {
			return said, fmt.Errorf("watch, second %d: up %v, %w", n, s.Up, err)
		}
		n++
	}
	say("watch %d s", n)

	if out, err = d.run("target", "check", target, "--output", "json"); err != nil {
		return said, err
	}
	var c answer
	if err := errors.Join(last(out, &c), c.check()); err != nil {
		return said, fmt.Errorf("target check: %w", err)
	}
	say("%d of %d sources", len(c.Sources)-c.missing(), len(c.Sources))

	series, err := d.serve(target)
	if err != nil {
		return said, fmt.Errorf("serve: %w", err)
	}
	say("serve %d series", series)

	if out, err = d.run("diagnose", target, "--output", "json"); err != nil {
		return said, err
	}
	if !strings.Contains(out, `"rule":"missing-index"`) {
		return said, fmt.Errorf("diagnose: no finding missing-index\n%s", tail(out))
	}
	say("diagnose")

	if out, err = d.run("digest", "--target", target, "--time", "5s", "--output", "json"); err != nil {
		return said, err
	}
	var r struct {
		Classes []json.RawMessage `json:"classes"`
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Classes) == 0 {
		return said, fmt.Errorf("digest: no classes (%w)\n%s", err, tail(out))
	}
	say("digest %d classes", len(r.Classes))
	return said, nil
}

// answer is what states and checks have in common.
type answer struct {
	Up      bool `json:"up"`
	Sources []struct {
		Name, State, Reason string
	} `json:"sources"`
}

// check returns an error when a source is neither there nor missing for a good reason.
func (a answer) check() (err error) {
	for _, s := range a.Sources {
		if s.State != "ok" && s.State != "missing" {
			err = errors.Join(err, fmt.Errorf("%s is %s: %s", s.Name, s.State, s.Reason))
		}
	}
	return err
}

func (a answer) missing() (n int) {
	for _, s := range a.Sources {
		if s.State == "missing" {
			n++
		}
	}
	return n
}

// last reads the last line of an output.
func last(out string, x any) error {
	out = strings.TrimSpace(out)
	return json.Unmarshal([]byte(out[strings.LastIndexByte(out, '\n')+1:]), x)
}

// serve has it watched for some seconds, and returns how many series there are then.
func (d dyno) serve(target string) (series int, err error) {
	dir, err := os.MkdirTemp("", "dyno-versions-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	c := d.command("serve", target, "--listen", "unix:"+socket)
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = c.Process.Signal(os.Interrupt)
		if end := c.Wait(); end != nil || strings.Contains(said.String(), "level=ERROR") {
			err = errors.Join(err, fmt.Errorf("exited with %w\n%s", end, tail(said.String())))
		}
	}()
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _,
		_ string,
	) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	// What it takes until a rate is known: some seconds of one server.
	query := `http://localhost/api/v1/query?query=` +
		url.QueryEscape(
			`count({instance=~".+"}) and on () rate(mysql_global_status_commands_total{command="select"}[10s]) > 0`)
	for end := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		err := d.ask(&client, query, &series)
		if err == nil && series > 300 {
			return series, nil
		}
		if d.ctx.Err() != nil || time.Now().After(end) {
			return series, fmt.Errorf("it has %d series after a minute (%w)", series, err)
		}
	}
}

// ask reads the one number that answers a query, 0 for none.
func (d dyno) ask(client *http.Client, query string, n *int) error {
	r, err := http.NewRequestWithContext(d.ctx, http.MethodGet, query, nil)
	if err != nil {
		return err
	}
	w, err := client.Do(r)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	var a struct {
		Error string
		Data  struct{ Result []struct{ Value [2]any } }
	}
	if err := json.NewDecoder(w.Body).Decode(&a); err != nil {
		return fmt.Errorf("%s: %w", w.Status, err)
	}
	*n = 0
	if len(a.Data.Result) > 0 {
		_, err = fmt.Sscan(fmt.Sprint(a.Data.Result[0].Value[1]), n)
	} else if a.Error != "" {
		err = errors.New(a.Error)
	}
	return err
}
