package cli

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/userfile"
)

func newDiagnoseCommand(e *env) *cobra.Command {
	var from, save, failOn, at string
	var why, recent bool
	o := family.Look{Progress: nil}
	c := &cobra.Command{
		Use: "diagnose TARGET | ls [TARGET]",
		Short: "observe a server for a few seconds and print what slows it down, worst first; ls lists the stored " +
			"diagnoses",
		Long: `Observes the server for a window and prints findings with their evidence, worst first. Reads only.
With --at the window is a past one that begins then, and comes from what "dyno serve" stored, whether or not it or the server
runs: at most 10 minutes, 1 minute unless --window says otherwise, widened to full minutes. The report lists what is
missing, and says when the data from outside the window was read.
With --recent the window is the last minute that "dyno serve" stored, which ended up to two minutes ago, and the
server is asked only for what is not stored, such as plans.
With --from the window comes from a snapshot that --save wrote: the same snapshot always gives the same findings.
JSON has one finding per line, and none if there are no findings. ls lists the stored diagnoses, newest first: dyno report ID
shows one.`,
		Example: "  dyno diagnose mysql://dyno@db1:3306\n  dyno diagnose shop --window 30s --save shop.json\n  dyno " +
			"diagnose shop --at 03:12 --window 5m\n  dyno diagnose --from shop.json --why\n  dyno diagnose ls shop",
		Args: args(0, 2),
	}
	f := c.Flags()
	f.DurationVar(&o.Window, "window", app.DefaultWindow, "how long to observe, 3s to 10m")
	f.StringVar(&at, "at", "", "diagnose the stored window that begins then: "+momentForms)
	f.BoolVar(&recent, "recent", false, "diagnose the last minute that dyno serve stored instead of observing the "+
		"server")
	f.StringVar(&from, "from", "", "diagnose this snapshot, plain or gzip, instead of a server (- for standard input)")
	f.StringVar(&save, "save", "", "write the snapshot to this file")
	f.StringVar(&failOn, "fail-on", "", "exit with code 3 if there is a finding of this severity or above: critical, "+
		"warning, notice")
	f.BoolVar(&why, "why", false, "show the reasoning step by step")
	f.BoolVar(&o.Redact, "redact", false, "store no literals of statements")
	e.loginFlags(c)
	e.explainFlag(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		limit := finding.Severity(failOn)
		if len(a) > 0 && a[0] == "ls" {
			return listDiagnoses(e, c, a[1:])
		}
		switch {
		case len(a) > 1:
			return usagef("one TARGET at a time; usage: %s", c.UseLine())
		case failOn != "" && limit.Rank() == 0:
			return usagef("--fail-on %s: it takes critical, warning or notice", failOn)
		case (from == "") == (len(a) == 0):
			return usagef("say what to diagnose: either a TARGET or --from FILE; usage: %s", c.UseLine())
		case o.Window < family.MinWindow || o.Window > 10*time.Minute:
			return usagef("--window %s: it takes 3s to 10m", o.Window)
		case at != "" && from != "":
			return usagef("--at diagnoses what is stored of a TARGET: without --from")
		case recent && (at != "" || from != "" || f.Changed("window")):
			return usagef("--recent diagnoses the last minute that is stored of a TARGET: without --at, --from and " +
				"--window")
		case from != "" && save != "":
			return usagef("--save writes the snapshot of a TARGET; with --from there is nothing new to save")
		}
		var d app.Diagnosis
		var err error
		switch {
		case recent:
			d, err = judgedRecent(c.Context(), e, a[0], o, save)
		case at != "":
			if !f.Changed("window") {
				o.Window = pastWindow
			}
			begin, perr := parseMoment(at, time.Now())
			if perr != nil {
				return usagef("--at %s: %v", at, perr)
			}
			d, err = judgedPast(c.Context(), e, a[0], begin, begin.Add(o.Window), o.Redact, save)
		default:
			d, err = judged(e, c, a, from, save, o, nil)
		}
		if err != nil {
			return err
		}
		if err := printDiagnosis(e, d, why); err != nil {
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

// listDiagnoses prints the diagnoses that are kept of a target, or of all.
func listDiagnoses(e *env, c *cobra.Command, targets []string) error {
	bad := ""
	c.Flags().Visit(func(f *pflag.Flag) {
		if c.LocalNonPersistentFlags().Lookup(f.Name) != nil {
			bad = f.Name
		}
	})
	if bad != "" {
		return usagef("--%s does not apply to ls; usage: dyno diagnose ls [TARGET]", bad)
	}
	name := ""
	if len(targets) > 0 {
		name = targets[0]
	}
	all, err := app.Diagnosing{App: e.app}.Diagnoses(c.Context(), name, mostStored)
	if err != nil {
		return err
	}
	if len(all) > 0 && !e.json() {
		fmt.Fprintf(e.Out, "%-10s %-20s %-20s %-16s %-9s %8s  %s\n", "ID", "TIME (UTC)", "TARGET", "STARTED BY",
			"SEVERITY", "FINDINGS", "WORST")
	}
	return list(e, all, func(v app.DiagnosisSummary) string {
		return fmt.Sprintf("%-10s %-20s %-20s %-16s %-9s %8d  %s", v.ID, v.At.UTC().Format(time.DateTime), v.Target,
			startedBy(v), cmp.Or(string(v.Severity), "-"), v.Count, v.Worst)
	}, "No diagnosis is stored: `dyno diagnose TARGET` runs one.")
}

// startedBy says who or what asked for a diagnosis.
func startedBy(v app.DiagnosisSummary) string {
	switch {
	case len(v.Advice) > 0:
		return "dyno advise"
	case v.Incident != "":
		return "incident"
	case v.Background:
		return "schedule"
	}
	return cmp.Or(v.By, "command line")
}

// judged takes the snapshot from a file or a server and judges it: as diagnose does, or by the kinds of advice that are
// asked for. What then does with a server and its diagnosis is kept with it.
func judged(e *env, c *cobra.Command, a []string, from, save string, o family.Look,
	then func(context.Context, family.Server, *app.Diagnosis) error, kinds ...advise.Kind,
) (d app.Diagnosis, err error) {
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
		if b, err = unzipped(b); err != nil {
			return d, fmt.Errorf("%s: %w", from, err)
		}
		if d.Snapshot, err = snapshot.Decode(b); err != nil {
			return d, fmt.Errorf("%s: %w", from, err)
		}
		d.Judge(kinds...)
		return d, nil
	}
	if save != "" { // before ten seconds of looking, not after
		if err := userfile.Check(save); err != nil {
			return d, fmt.Errorf("save snapshot: %w", err)
		}
	}
	t, err := e.app.Open(c.Context(), a[0], e.login)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	o.Progress = e.progress()
	if d, err = (app.Diagnosing{App: e.app}).Diagnose(c.Context(), t, o, kinds...); err != nil {
		return d, err
	}
	if then != nil {
		if err := then(c.Context(), t, &d); err != nil {
			return d, err
		}
		if err := (app.Diagnosing{App: e.app}).Keep(c.Context(), d); err != nil {
			return d, err
		}
	}
	return d, saveSnapshot(d.Snapshot, save)
}

// pastWindow is how long a stored window is unless --window says otherwise: query classes are stored by the minute.
const pastWindow = time.Minute

// judgedPast judges a window that is over from what is stored of it, and keeps the diagnosis.
func judgedPast(
	ctx context.Context, e *env, target string, from, to time.Time, redact bool, save string,
) (app.Diagnosis, error) {
	return judgedStored(ctx, e, save, func() (*snapshot.Snapshot, error) {
		x, err := service.PastSnapshot(ctx, e.app, target, from, to, redact)
		if err != nil {
			return nil, e.unlessUnknown(ctx, target, err)
		}
		return x, nil
	})
}

// judgedRecent is judgedPast of the last minute that is stored of a target, with what its server is asked for now.
func judgedRecent(ctx context.Context, e *env, target string, o family.Look, save string) (app.Diagnosis, error) {
	return judgedStored(ctx, e, save, func() (x *snapshot.Snapshot, err error) {
		t, err := e.app.Open(ctx, target, e.login)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, t.Close()) }()
		o.Home = e.app.Home
		return service.RecentSnapshot(ctx, e.app, target, t, o)
	})
}

// judgedStored judges what take makes of the store, and keeps the diagnosis, and its snapshot in the file save.
func judgedStored(
	ctx context.Context, e *env, save string, take func() (*snapshot.Snapshot, error),
) (d app.Diagnosis, err error) {
	if save != "" {
		if err := userfile.Check(save); err != nil {
			return d, fmt.Errorf("save snapshot: %w", err)
		}
	}
	if d.Snapshot, err = take(); err != nil {
		return d, err
	}
	d.Judge()
	if d, err = (app.Diagnosing{App: e.app}).KeepNew(ctx, d); err != nil {
		return d, err
	}
	return d, saveSnapshot(d.Snapshot, save)
}

// saveSnapshot writes a snapshot to the file that --save names.
func saveSnapshot(s *snapshot.Snapshot, file string) error {
	if file == "" {
		return nil
	}
	b, err := s.Encode()
	if err != nil {
		return err
	}
	err = userfile.Replace(file, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	if err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	return nil
}

// largest is how much a packed snapshot may hold.
const largest = 1 << 30

// unzipped returns what gzip packed, or b itself when it is not packed.
func unzipped(b []byte) ([]byte, error) {
	if len(b) < 2 || b[0] != 0x1f || b[1] != 0x8b {
		return b, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(z, largest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read snapshot: the gzip file is damaged: %v", err) //nolint:errorlint // an end of this file is no end of a connection
	case len(out) > largest:
		return nil, errors.New("read snapshot: uncompressed it is larger than 1 GiB")
	}
	return out, nil
}

func printDiagnosis(e *env, d app.Diagnosis, why bool) error {
	findings := plain(d.Findings, why)
	if e.json() {
		return list(e, findings, func(finding.Finding) string { return "" }, "")
	}
	doc := d.Document(findings, e.app.Version)
	doc.Charts = nil
	if why {
		doc.Reasoning = report.Reasoning(d.Snapshot, d.Symptoms, d.Findings)
		for i := range doc.Findings { // told in the tree
			doc.Findings[i].Why = nil
		}
	}
	if err := report.Text(raw(e.Out), &doc, report.Options{Width: e.width(), Color: e.color()}); err != nil {
		return err
	}
	if d.ID != "" {
		e.remark("%s", strings.TrimSpace("Stored as "+d.ID+": `dyno report "+d.ID+" --format html` writes it as HTML."))
	}
	return nil
}
