package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dyno/internal/app"
	"dyno/internal/capture"
	"dyno/internal/finding"
	"dyno/internal/report"
	"dyno/internal/snapshot"
)

func (e *env) diagnose() *cobra.Command {
	var from, save, failOn string
	var why bool
	o := capture.Options{Progress: nil}
	c := &cobra.Command{
		Use:   "diagnose TARGET",
		Short: "look for a few seconds and print what holds the server back, worst first",
		Long: `Looks at the server for a window, judges, and prints findings with their evidence, worst first. Reads only.
With --from the window comes from a snapshot that --save wrote: the same snapshot always gives the same findings.
JSON has one finding a line, and nothing when there is none.`,
		Example: "  dyno diagnose mysql://dyno@db1:3306\n  dyno diagnose shop --window 30s --save shop.json\n  dyno diagnose --from shop.json --why",
		Args:    args(0, 1),
	}
	f := c.Flags()
	f.DurationVar(&o.Window, "window", app.DefaultWindow, "how long to look, 3s to 10m")
	f.StringVar(&from, "from", "", "judge this snapshot instead of a server (- for standard input)")
	f.StringVar(&save, "save", "", "write the snapshot to this file")
	f.StringVar(&failOn, "fail-on", "", "exit with code 3 when there is a finding of this severity or above: critical, warning, notice")
	f.BoolVar(&why, "why", false, "show the reasoning step by step")
	f.BoolVar(&o.Redact, "redact", false, "keep no statement with its literals")
	e.loginFlags(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		limit := finding.Severity(failOn)
		switch {
		case failOn != "" && limit.Rank() == 0:
			return usagef("--fail-on %s: it takes critical, warning or notice", failOn)
		case (from == "") == (len(a) == 0):
			return usagef("say what to judge: either a TARGET or --from FILE; usage: %s", c.UseLine())
		case o.Window < capture.MinWindow || o.Window > 10*time.Minute:
			return usagef("--window %s: it takes 3s to 10m", o.Window)
		case from != "" && save != "":
			return usagef("--save writes what a look at a TARGET saw; with --from there is nothing new to save")
		}
		d, err := e.judged(c, a, from, save, o)
		if err != nil {
			return err
		}
		if err := e.printDiagnosis(d, why); err != nil {
			return err
		}
		for _, x := range d.Findings {
			if failOn != "" && x.Severity.Rank() >= limit.Rank() {
				return &exitError{exitFindings, nil}
			}
		}
		return nil
	}
	return c
}

func (e *env) judged(c *cobra.Command, a []string, from, save string, o capture.Options) (d app.Diagnosis, err error) {
	if from != "" {
		var b []byte
		if from == "-" {
			b, err = io.ReadAll(e.In)
		} else {
			b, err = os.ReadFile(from)
		}
		if err != nil {
			return d, fmt.Errorf("read snapshot: %w", err)
		}
		if d.Snapshot, err = snapshot.Decode(b); err != nil {
			return d, fmt.Errorf("%s: %w", from, err)
		}
		d.Symptoms, d.Findings = app.Judge(d.Snapshot)
		return d, nil
	}
	if save != "" { // before ten seconds of looking, not after
		f, err := os.OpenFile(save, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return d, fmt.Errorf("save snapshot: %w", err)
		}
		if err := f.Close(); err != nil {
			return d, fmt.Errorf("save snapshot: %w", err)
		}
	}
	t, err := e.app.Open(c.Context(), a[0], e.login)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	o.Progress = e.progress()
	if d, err = e.app.Diagnose(c.Context(), t, o); err != nil {
		return d, err
	}
	if save != "" {
		b, err := d.Snapshot.Encode()
		if err != nil {
			return d, err
		}
		if err := writeWhole(save, b); err != nil {
			return d, fmt.Errorf("save snapshot: %w", err)
		}
	}
	return d, nil
}

// writeWhole replaces a file by way of a temporary one, so that a full disk leaves no half of it.
func writeWhole(path string, b []byte) error {
	tmp := path + ".part"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}

func (e *env) printDiagnosis(d app.Diagnosis, why bool) error {
	findings := slices.Clone(d.Findings)
	for i := range findings {
		if !why {
			findings[i].Why = nil
		}
	}
	if e.json() {
		return list(e, findings, func(finding.Finding) string { return "" }, "")
	}
	doc := app.DiagnosisDocument(d.ID, d.Snapshot, d.Symptoms, findings, e.app.Version)
	doc.Charts = nil
	if err := report.Text(e.Out, &doc, report.Options{Width: e.width(), Color: e.color()}); err != nil {
		return err
	}
	if d.ID != "" {
		e.remark("%s", strings.TrimSpace("Kept as "+d.ID+": `dyno report "+d.ID+" --format html` makes a page of it."))
	}
	return nil
}
