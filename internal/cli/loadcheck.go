package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/workload"
)

// loadCheck verifies the conditions that a workload's tables meet, and prints each with what became of it.
func loadCheck(e *env, c *cobra.Command, s load.Server, cfg load.Config, o *loadFlags) error {
	plan, err := cfg.Workload.Build(cfg.Options)
	if err != nil {
		return err
	}
	t, err := needs[load.Verifier](s, "check")
	if err != nil {
		return err
	}
	bad, err := t.Verify(c.Context(), o.data(cfg), e.progress())
	if err != nil {
		return err
	}
	broken := map[string]load.Violation{}
	for _, v := range bad {
		broken[v.Check.Name] = v
	}
	e.mu.Lock()
	for _, x := range plan.Checks {
		v, isBad := broken[x.Name]
		if e.json() {
			if err = errors.Join(err, checkJSON(e, x, v, isBad)); err != nil {
				break
			}
			continue
		}
		word := "holds"
		if isBad {
			word = "VIOLATED"
		}
		fmt.Fprintf(e.Out, "%-10s %-8s %s\n", x.Name, word, x.Title)
		if isBad {
			fmt.Fprintf(e.Out, "%s\n", examplesOf(v))
		}
	}
	e.mu.Unlock()
	if err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("check %s: %d of %d conditions do not hold", plan.Workload, len(bad), len(plan.Checks))
	}
	return nil
}

func checkJSON(e *env, x workload.Check, v load.Violation, bad bool) error {
	return e.writeJSON(struct {
		Message string     `json:"message"`
		Name    string     `json:"name"`
		Title   string     `json:"title"`
		Holds   bool       `json:"holds"`
		Columns []string   `json:"columns,omitempty"`
		Rows    [][]string `json:"rows,omitempty"` // examples of what violates it
		More    bool       `json:"more,omitempty"`
	}{"check", x.Name, x.Title, !bad, v.Columns, v.Rows, v.More})
}

func examplesOf(v load.Violation) string {
	var b strings.Builder
	for i, row := range v.Rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("  ")
		for j, x := range row {
			b.WriteString(" " + v.Columns[j] + "=" + x)
		}
	}
	if v.More {
		b.WriteString("\n   and more")
	}
	return b.String()
}

// verified checks the conditions for --verify, before or after a run.
func verified(ctx context.Context, e *env, s load.Server, cfg load.Config, o *loadFlags, when string) error {
	t, err := needs[load.Verifier](s, "--verify")
	if err != nil {
		return err
	}
	bad, err := t.Verify(ctx, o.data(cfg), e.progress())
	if errors.Is(err, load.ErrNoChecks) {
		return usagef("--verify: %v", err)
	}
	if err != nil {
		return err
	}
	if len(bad) == 0 {
		e.remark("All conditions hold %s the run.", when)
		return nil
	}
	var texts []string
	for _, v := range bad {
		texts = append(texts, v.String())
	}
	return fmt.Errorf("%s the run: %s", when, strings.Join(texts, "; "))
}
