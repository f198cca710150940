package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/stat"
)

// digestFlags are the flags of `dyno digest` as typed.
type digestFlags struct {
	logChoice
	target, limit, orderBy, groupBy, id, format, out, state, failOn string
	window, interval                                                time.Duration
	sample                                                          uint64
	margin                                                          float64
	workers                                                         int
	redact, explain, compare, follow, own                           bool
}

// digestJob is what they mean.
type digestJob struct {
	digestFlags
	config digest.Config
	chosen digest.Filter
	show   digest.Options
	write  func(io.Writer, app.Digest) error
}

func newDigestCommand(e *env) *cobra.Command {
	var d digestFlags
	c := &cobra.Command{
		Use: "digest FILE... | --target T | --compare A B",
		Short: "query classes of slow logs, general logs or a live server, in pt-query-digest's layout and with its " +
			"ids",
		Long: `Aggregates statements by class: count, time, rows, and the slowest statement of each. Reads slow logs of MySQL,
Percona Server and MariaDB and general logs, plain, gzip or zstd, - for standard input, several in chronological
order. With --target it observes a server for a window instead, through its own statistics of statements if it keeps them.
Reads only.

The text is pt-query-digest's report with the ids of version 3; every line is a comment or valid SQL.
--compare compares two logs or two reports (--output json --limit 0), class by class.
--follow follows a log while it is written, also through rotation, and with --state continues where an earlier run
ended. If part of the input was skipped, the exit code is 7 and the message says where and why.`,
		Example: `  dyno digest /var/log/mysql/slow.log
  dyno digest slow.log.2.gz slow.log.1 slow.log --since 2h --order-by Rows_examined:sum
  dyno digest slow.log --filter 'Query_time > 1 && db == "shop"' --redact --output json --limit 0
  dyno digest --target shop --time 30s --explain-plans
  dyno digest --compare monday.log tuesday.log --fail-on worse
  dyno digest --follow --state shop.state slow.log`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{outputsOf: "text json md html"},
	}
	f := c.Flags()
	f.StringVar(&d.target, "target", "", "observe this TARGET; with FILE it is used only for --explain-plans")
	f.DurationVar(&d.window, "time", 10*time.Second, "how long to observe --target, 1s to 1h")
	f.StringVar(&d.limit, "limit", "95%:20", "show at most N classes, the top classes that make up this share of the "+
		"--order-by total, or both; 0 = all")
	f.StringVar(&d.orderBy, "order-by", "Query_time:sum", "attribute and sum, cnt, min, max or avg")
	f.StringVar(&d.groupBy, "group-by", "fingerprint",
		"group statements by fingerprint, item, tables, db, user or host")
	d.logChoice.flags(f, "count")
	f.StringVar(&d.id, "id", "", "only this class: an id of 32 hex digits, or 16 as in older tickets")
	f.Uint64Var(&d.sample, "sample", 0, "count only the first N statements of each class; 0 = all")
	f.BoolVar(&d.redact, "redact", false, "hide the literals of all statements")
	f.BoolVar(&d.explain, "explain-plans", false, "get the plans of the worst samples from --target, where EXPLAIN "+
		"is proven harmless")
	f.BoolVar(&d.compare, "compare", false, "compare two logs or reports: B against A")
	f.Float64Var(&d.margin, "margin", 100*digest.DefaultCompareMargin, "with --compare: averages that differ by less "+
		"than this many percent count as the same")
	f.StringVar(&d.failOn, "fail-on", "", "worse: exit with code 5 if B is worse than A")
	f.BoolVar(&d.follow, "follow", false, "follow the log while it is written, until Ctrl-C")
	f.StringVar(&d.state, "state", "",
		"with --follow: store the counts in this file, and continue from there next time")
	f.DurationVar(&d.interval, "interval", 10*time.Second,
		"with --follow: time between two reports; 0 = one at the end")
	f.IntVar(&d.workers, "workers", 0, "number of reader threads; 0 = one per CPU")
	f.BoolVar(&d.own, "leave-own", false, "leave out statements that begin with /* dyno: as Dyno's own do; anyone "+
		"can write that")
	f.StringVar(&d.format, "format", "", "text, json, md or html; the same as --output")
	f.StringVar(&d.out, "out", "", "write to this file instead of standard output")
	e.loginFlags(c)
	e.explainFlag(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		for _, x := range []struct {
			flag, with string
			given      bool
		}{{"time", "target", d.target != ""}, {"margin", "compare", d.compare}, {"interval", "follow", d.follow}} {
			if f.Changed(x.flag) && !x.given {
				return usagef("--%s needs --%s", x.flag, x.with)
			}
		}
		j, err := d.job(e, a, time.Now())
		if err != nil {
			return err
		}
		switch {
		case d.compare:
			return j.compareFiles(c.Context(), e, a)
		case d.follow:
			return j.followLog(c.Context(), e, a[0])
		case len(a) == 0:
			return j.live(c.Context(), e)
		}
		return j.logs(c.Context(), e, a)
	}
	return c
}

// job checks the flags; all of it is done before anything is read.
func (d digestFlags) job(e *env, files []string, now time.Time) (*digestJob, error) {
	j := &digestJob{digestFlags: d, config: digest.Config{Redact: d.redact, Sample: d.sample, LeaveOwn: d.own}}
	switch {
	case d.compare && len(files) != 2:
		return nil, usagef("--compare takes two logs or reports: dyno digest --compare A B")
	case d.compare && (d.target != "" || d.follow || d.explain):
		return nil,
			usagef("--compare reads two files: it cannot be combined with --target, --follow or --explain-plans")
	case d.failOn != "" && d.failOn != "worse":
		return nil, usagef("--fail-on %s: it takes worse", d.failOn)
	case d.failOn != "" && !d.compare:
		return nil, usagef("--fail-on worse judges a comparison: add --compare A B")
	case d.follow && (len(files) != 1 || files[0] == "-"):
		return nil, usagef("--follow takes one FILE")
	case d.follow && (d.target != "" || d.explain):
		return nil, usagef("--follow reads a log: it cannot be combined with --target or --explain-plans")
	case d.state != "" && !d.follow:
		return nil, usagef("--state needs --follow")
	case d.explain && d.target == "":
		return nil, usagef("--explain-plans needs a server to ask: add --target T")
	case d.target != "" && len(files) > 0 && !d.explain:
		return nil, usagef("say what to digest: either FILE or --target (both only with --explain-plans)")
	case d.target == "" && len(files) == 0:
		return nil, usagef("say what to digest: FILE..., - for standard input, or --target T; see `dyno digest --help`")
	case d.explain && d.redact:
		return nil, usagef("--explain-plans needs statements with their literals, which --redact hides")
	case len(files) == 0 && (d.window < digest.MinWindow || d.window > time.Hour):
		return nil, usagef("--time %s: it takes 1s to 1h", d.window)
	case len(files) == 0 && (d.filter != "" || d.since != "" || d.until != "" || d.sample != 0):
		return nil, usagef("--filter, --since, --until and --sample work on logs only: a server reports only sums")
	case len(files) == 0 && d.groupBy != "fingerprint":
		return nil, usagef("--group-by works on logs only: a server groups by fingerprint")
	case d.workers < 0 || d.workers > 64:
		return nil, usagef("--workers %d: it takes 1 to 64, or 0 for one on each CPU", d.workers)
	case d.margin <= 0 || d.margin > 100:
		return nil, usagef("--margin %g: it takes per cent, above 0 and at most 100", d.margin)
	case d.interval < 0 || d.interval > 0 && d.interval < time.Second:
		return nil, usagef("--interval %s: it takes 1s or more, or 0", d.interval)
	}
	var err error
	if j.config.GroupBy, err = digest.ParseGroup(d.groupBy); err != nil {
		return nil, usagef("--group-by: %v", err)
	}
	if j.show.Limit, err = digest.ParseLimit(d.limit); err != nil {
		return nil, usagef("--limit: %v", err)
	}
	if j.show.OrderBy, err = digest.ParseOrder(d.orderBy, app.Attributes()...); err != nil {
		return nil, usagef("--order-by: %v", err)
	}
	if j.chosen, err = d.into(&j.config, now); err != nil {
		return nil, err
	}
	if d.id != "" {
		if _, ok := class.SameID(d.id); !ok {
			return nil, usagef("--id %s: an id has 32 hexadecimal digits, or 16 in older tickets, with or without 0x",
				d.id)
		}
		if d.compare || j.config.GroupBy != digest.ByFingerprint {
			return nil,
				usagef("--id selects a class by fingerprint: it cannot be combined with --compare or --group-by")
		}
		j.show.Limit = digest.Limit{}
	}
	return j, j.settleForm(e)
}

// settleForm settles in which form the report is written.
func (j *digestJob) settleForm(e *env) error {
	form := e.output
	if j.format != "" {
		form = j.format
	}
	render := map[string]func(io.Writer, *digest.Report, report.DigestOptions) error{
		"text": report.DigestText, "json": report.DigestJSON, "md": report.DigestMarkdown,
		"markdown": report.DigestMarkdown, "html": report.DigestHTML,
	}[form]
	if render == nil {
		return usagef("--format %s: it takes text, json, md or html", form)
	}
	j.format = form
	j.write = func(w io.Writer, d app.Digest) error {
		o := app.Reports{App: e.app}.DigestHead(time.Now())
		o.GroupBy, o.OrderBy, o.Redact, o.Classes = j.config.GroupBy.String(), j.orderBy, j.redact, d.Each
		if j.id != "" {
			c, ok := classOf(d, j.id)
			if !ok {
				return fmt.Errorf("class %s: no such statement in the input; --limit 0 lists all ids", j.id)
			}
			d.Classes, o.Classes = []digest.Row{c}, nil
		}
		return render(w, &d.Report, o)
	}
	return nil
}

// classOf finds a class by its id.
func classOf(d app.Digest, id string) (digest.Row, bool) {
	for c := range d.Each {
		if class.MatchID(c.ID, id) {
			return c, true
		}
	}
	return digest.Row{}, false
}

// momentForms are the times that parseMoment reads, for the help of flags.
const momentForms = "2h or 7d (ago), 14:00 (the last time it was), 2026-11-21, '2026-11-21 14:00:00' (local time), " +
	"or RFC 3339"

// parseMoment reads a time as people write it; without a zone it is local.
func parseMoment(s string, now time.Time) (time.Time, error) {
	s, _ = strings.CutPrefix(s, "-")
	ago, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		ago = time.Duration(n * 24 * float64(time.Hour))
	}
	switch {
	case err == nil && ago <= 0:
		return time.Time{}, errors.New("must be a time before now, such as 2h")
	case err == nil:
		return now.Add(-ago), nil
	}
	for _, l := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime,
		"2006-01-02 15:04", time.DateOnly,
	} {
		if t, err := time.ParseInLocation(l, s, now.Location()); err == nil {
			return t, nil
		}
	}
	for _, l := range []string{time.TimeOnly, "15:04"} { // the last such time
		t, err := time.ParseInLocation(l, s, now.Location())
		if err != nil {
			continue
		}
		y, m, d := now.Date()
		t = time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		if t.After(now) {
			t = time.Date(y, m, d-1, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		}
		return t, nil
	}
	return time.Time{}, errors.New("write 2h (ago), 14:00, 2026-11-21, '2026-11-21 14:00:00' or 2026-11-21T14:00:00Z")
}

func (j *digestJob) logOptions(e *env, files []string) digest.Logs {
	return digest.Logs{
		Paths: files, Stdin: e.In, Workers: j.workers, Config: j.config,
		Progress: e.progress(),
	}
}

func (j *digestJob) logs(ctx context.Context, e *env, files []string) error {
	if len(files) == 1 && files[0] != "-" { // of several the others are read
		if _, err := os.Stat(files[0]); err != nil {
			return fmt.Errorf("read log: %w", err)
		}
	}
	d, err := app.DigestLogs(ctx, j.logOptions(e, files), j.show)
	if err != nil && d.Global.Entries == 0 {
		return err
	}
	if err == nil && j.explain {
		r := d.Whole()
		err = j.plans(ctx, e, &r)
		d = app.Digest{Report: r, Each: slices.Values(r.Classes)}
	}
	if err != nil {
		d.Global.Notes = append(d.Global.Notes, "stopped early: these figures cover only what was read")
		return errors.Join(j.print(e, d), err)
	}
	return cmp.Or(j.print(e, d), skippedOf(&d.Report)) // what was not written failed, whatever was skipped
}

// plans asks the target for plans.
func (j *digestJob) plans(ctx context.Context, e *env, r *digest.Report) (err error) {
	t, err := e.app.Open(ctx, j.target, e.login)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	return app.ExplainDigest(ctx, t, r)
}

func (j *digestJob) live(ctx context.Context, e *env) (err error) {
	t, err := e.app.Open(ctx, j.target, e.login)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	r, denied, err := app.DigestLive(ctx, t, family.Listen{
		Window: j.window, Progress: e.progress(), Redact: j.redact, Explain: j.explain,
	}, j.show)
	if err != nil && len(r.Classes) == 0 {
		return err
	}
	if denied != "" {
		e.remark("%s", denied)
	}
	return errors.Join(j.print(e, app.Digest{Report: r, Each: slices.Values(r.Classes)}), err, ctx.Err())
}

func (j *digestJob) compareFiles(ctx context.Context, e *env, files []string) error {
	var side [2]digest.Report
	for i, f := range files {
		r, err := app.DigestSide(ctx, j.logOptions(e, []string{f}))
		if err != nil {
			return err
		}
		side[i] = r
	}
	c := digest.Compare(side[0], side[1], files[0], files[1], digest.CompareOptions{Margin: j.margin / 100})
	err := e.toOut(j.out, func(w io.Writer) error {
		switch j.format {
		case "json":
			return report.DigestComparisonJSON(w, &c)
		case "md", "markdown":
			return report.DigestComparisonMarkdown(w, &c)
		case "html":
			o := app.Reports{App: e.app}.DigestHead(time.Now())
			o.Redact = j.redact
			return report.DigestComparisonHTML(w, &c, o)
		}
		return report.DigestComparisonText(w, &c, report.Options{Width: e.width(), Color: e.color() && j.out == ""})
	})
	if err != nil {
		return err
	}
	switch {
	case j.failOn == "worse" && c.Result == stat.Worse:
		return &exitError{exitWorse, nil}
	case j.failOn == "worse" && (c.Result == stat.Unstable || c.Result == stat.Invalid):
		return &exitError{exitUndecided, nil}
	}
	return errors.Join(skippedOf(&side[0]), skippedOf(&side[1]))
}

func (j *digestJob) print(e *env, d app.Digest) error {
	if err := e.toOut(j.out, func(w io.Writer) error { return j.write(w, d) }); err != nil {
		return err
	}
	if j.chosen != nil {
		for _, name := range j.chosen.Unmet() {
			e.remark("The filter uses %s, which no statement has.", name)
		}
	}
	return nil
}

// skippedOf is the error, for the exit code, of a report whose input was read in part only.
func skippedOf(r *digest.Report) error {
	if r.Global.Skipped == 0 {
		return nil
	}
	s := fmt.Sprintf("%d parts of the input were skipped", r.Global.Skipped)
	if r.Global.Skipped == 1 {
		s = "part of the input was skipped"
	}
	if len(r.Skipped) > 0 {
		x := r.Skipped[0]
		at := fmt.Sprintf("at byte %d: %s", x.Offset, x.Reason)
		if x.File != "" {
			at = x.File + " " + at
		}
		s += ", the first " + at
	}
	return &exitError{exitSkipped, errors.New(s)}
}
