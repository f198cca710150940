package testbed

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/platform"
)

const (
	shellTime = 10 * time.Minute // a step may take
	waitTime  = time.Minute      // a condition may take to come true
)

// assign puts global variables in force on the running server, and takes back those that it was given for another
// variant.
func (p *place) assign(ctx context.Context, t *target.Target, vars map[string]string) error {
	want := map[string]string{}
	for name, v := range vars {
		want[strings.ToLower(name)] = literal(v)
	}
	for name, v := range p.was {
		if _, again := want[name]; !again {
			want[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !variable.MatchString(name) {
			return fmt.Errorf("set %q: not a variable's name", name)
		}
		if _, known := p.was[name]; !known {
			var was sql.NullString
			if err := t.DB().QueryRowContext(ctx, "SELECT @@GLOBAL."+name).Scan(&was); err != nil {
				return fmt.Errorf("set %s: %w", name, t.Wrap("change", err))
			}
			if p.was == nil {
				p.was = map[string]string{}
			}
			p.was[name] = literal(was.String)
			if !was.Valid {
				p.was[name] = "DEFAULT"
			}
		}
		if _, err := t.DB().ExecContext(ctx, "SET GLOBAL "+name+" = "+want[name]); err != nil {
			return fmt.Errorf("set %s: %w", name, t.Wrap("change", err))
		}
	}
	return nil
}

var (
	variable = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_.]*$`)
	bare     = lazyregexp.New(`^(-?[0-9]+(\.[0-9]+)?|[A-Za-z_]+)$`)
)

// literal writes a value for SET: sizes with a suffix as numbers, which SET wants, words and numbers bare, the rest
// quoted.
func literal(v string) string {
	if n := len(v); n > 1 && strings.ContainsAny(v[n-1:], "kKmMgGtT") {
		if x, err := strconv.ParseUint(v[:n-1], 10, 40); err == nil {
			shift := map[byte]uint{'k': 10, 'm': 20, 'g': 30, 't': 40}[v[n-1]|0x20]
			return strconv.FormatUint(x<<shift, 10)
		}
	}
	if bare.MatchString(v) {
		return v
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(v) + "'"
}

// use makes a session's schema the one of the plan, which is there from then on.
func use(ctx context.Context, t *target.Target, c *sql.Conn, name string) error {
	for _, q := range []string{"CREATE DATABASE IF NOT EXISTS ", "USE "} {
		if _, err := c.ExecContext(ctx, q+ddl.Quote(name)); err != nil {
			return t.Wrap("prepare", err)
		}
	}
	return nil
}

// takeSteps carries out what the plan wants done beside the measurement.
func takeSteps(ctx context.Context, t *target.Target, p *place, j *job, steps []plan.Step) error {
	if len(steps) == 0 {
		return nil
	}
	c, err := target.Held(ctx, t) // a shell may take its time
	if err != nil {
		return err
	}
	defer func() { _ = target.Discard(c) }()
	if err := use(ctx, t, c, j.schema); err != nil {
		return err
	}
	for _, st := range steps {
		switch {
		case st.SQL != "":
			if _, err := c.ExecContext(ctx, st.SQL); err != nil {
				return fmt.Errorf("%s: %w", brief(st.SQL), t.Wrap("run a step on", err))
			}
		case st.Wait != "":
			if err := wait(ctx, c, st.Wait); err != nil {
				return err
			}
		case st.Shell != "":
			if err := shell(ctx, p, j, st.Shell); err != nil {
				return err
			}
		}
	}
	return nil
}

// wait asks again and again until the answer is a number other than 0.
func wait(ctx context.Context, c *sql.Conn, q string) error {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	for {
		var n float64
		switch err := c.QueryRowContext(ctx, q).Scan(&n); {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("%s: %w", brief(q), err)
		case err == nil && n != 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not true within %v", brief(q), waitTime)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// shell runs a command of the plan. Its environment is small: a plan shall do the same everywhere.
func shell(ctx context.Context, p *place, j *job, command string) error {
	ctx, cancel := context.WithTimeout(ctx, shellTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C.UTF-8",
		"DYNO_SOCKET=" + p.box.Socket, "DYNO_PORT=" + strconv.Itoa(p.box.Port), "DYNO_DATADIR=" + p.dataDir(),
		"DYNO_PID=" + strconv.Itoa(p.box.PID), "DYNO_VARIANT=" + j.key, "DYNO_DATABASE=" + j.schema,
	}
	cmd.SysProcAttr = platform.NewGroup()
	// with everything it started
	cmd.Cancel = func() error { return platform.SignalGroup(cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(out.String())
		if len(said) > 500 {
			said = "…" + said[len(said)-500:]
		}
		return fmt.Errorf("shell %q: %w: %s", brief(command), err, said)
	}
	return nil
}
