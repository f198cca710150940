package testbed

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/platform"
)

const (
	shellTime = 10 * time.Minute // a step may take
	waitTime  = time.Minute      // a condition may take to come true
)

// takeSteps carries out what the plan wants done beside the measurement.
func takeSteps(ctx context.Context, t family.TrialServer, p *place, j *job, steps []plan.Step) error {
	if len(steps) == 0 {
		return nil
	}
	c, err := t.Session(ctx, j.schema, true) // a shell may take its time
	if err != nil {
		return err
	}
	defer c.Close()
	for _, st := range steps {
		switch {
		case st.SQL != "":
			if err := c.Exec(ctx, st.SQL); err != nil {
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
func wait(ctx context.Context, c family.TrialSession, q string) error {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	for {
		var n float64
		v, err := c.Value(ctx, q)
		if err == nil && !v.Valid {
			err = errors.New("it returned NULL, not a number")
		} else if err == nil {
			n, err = strconv.ParseFloat(v.String, 64)
		}
		switch {
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
