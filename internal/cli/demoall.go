package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/demo"
	"github.com/dyno-perf/dyno/internal/fault"
)

func listDemos(e *env) error {
	var all []planted
	for _, f := range app.Faults() {
		all = append(all, planted{
			f.Name, f.Title, f.Kind, slices.Sorted(slices.Values(f.Flavors)),
			f.Until[dbms.MariaDB],
		})
	}
	return list(e, all, func(f planted) string {
		where := ""
		if len(f.Flavors) == 1 {
			where = " (" + string(f.Flavors[0]) + " only)"
		}
		if f.Until != "" {
			where = " (MariaDB before " + f.Until + ", MySQL)"
		}
		return fmt.Sprintf("%-22s %-8s %s%s", f.Fault, f.Kind, f.Title, where)
	}, "")
}

// planted is one line of `demo --list`.
type planted struct {
	Fault   string        `json:"fault"`
	Title   string        `json:"title"`
	Kind    fault.Kind    `json:"kind"`
	Flavors []dbms.Flavor `json:"flavors"`
	Until   string        `json:"mariadb_until,omitzero"` // the first version of MariaDB that makes it none
}

// demoAll plants every fault and prints a line for each.
func demoAll(e *env, c *cobra.Command, o demo.AllOptions, resume string) error {
	if o.Seeds < 1 || o.Seeds > 1000 {
		return usagef("--seeds %d: it takes 1 to 1000", o.Seeds)
	}
	for _, n := range o.Only {
		if err := plantable(strings.Split(n, "+")); err != nil {
			return err
		}
	}
	if resume != "" {
		var err error
		if o.Done, err = accuracyLines(resume); err != nil {
			return err
		}
	}
	if !e.json() {
		fmt.Fprintf(e.Out, "%-4s %-32s %-18s %4s  %4s  %-22s %s\n", "", "fault", "server", "seed", "rank", "gain", "")
		o.Begin = func(fault, server string, seed, number, of int) {
			e.remark("%d of %d: %s on %s, seed %d", number, of, fault, server, seed)
		}
	}
	total, right, early := 0, 0, 0
	err := demo.All(c.Context(), e.app, o, func(l demo.AccuracyLine) error {
		total++
		if l.OK() {
			right++
		}
		if l.Error != "" {
			early++
		}
		if e.json() {
			return e.writeJSON(l)
		}
		_, err := fmt.Fprintln(e.Out, accuracyText(l))
		return err
	})
	if !e.json() && total > 0 {
		fmt.Fprintf(e.Out, "%d of %d as expected.\n", right, total)
	}
	if err == nil && early > 0 {
		err = fmt.Errorf("plant faults: %d of %d failed, see their lines", early, total)
	}
	return err
}

// accuracyText is a line of the table for people.
func accuracyText(l demo.AccuracyLine) string {
	mark := "✓"
	if !l.OK() {
		mark = "✗"
	}
	rank, gain := "-", "-"
	if l.Rank > 0 {
		rank = fmt.Sprint(l.Rank)
	}
	if g := l.Gain; g != nil {
		gain = fmt.Sprintf("×%.2f (%.2f to %.2f)", g.Center, g.Lo, g.Hi)
	}
	var said []string
	if l.Error != "" {
		said = append(said, "failed: "+l.Error)
	}
	if l.Missed != "" {
		said = append(said, "missed: "+l.Missed)
	}
	for _, f := range l.Foreign {
		said = append(said, "false: "+f.Rule+": "+f.Title)
	}
	if g := l.Gain; g != nil && g.Lo <= 1 {
		said = append(said, "no gain proven")
	}
	for _, s := range l.NotLimit {
		said = append(said, "limit not in effect: "+s)
	}
	return strings.TrimRight(fmt.Sprintf("%-4s %-32s %-18s %4d  %4s  %-22s %s", mark, l.Fault, l.Server, l.Seed, rank,
		gain, strings.Join(said, "; ")), " ")
}

// accuracyLines reads what an earlier --all has written. The last line may be cut off.
func accuracyLines(name string) (lines []demo.AccuracyLine, err error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // the first time
	}
	if err != nil {
		return nil, fmt.Errorf("read the file of --resume: %w", err)
	}
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		var l demo.AccuracyLine
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			if !bytes.HasSuffix(b, []byte("\n")) && bytes.HasSuffix(b, s.Bytes()) {
				break
			}
			return nil, fmt.Errorf("read the file of --resume: line %d of %s: %w", n, name, err)
		}
		lines = append(lines, l)
	}
	return lines, s.Err()
}
