package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/mysql/digestsource"
	"github.com/dyno-perf/dyno/internal/mysql/logdigest"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/source"
)

// Digest is a report whose classes come one by one, for there may be very many. Report.Classes is empty.
type Digest struct {
	digest.Report
	Each iter.Seq[digest.Row]
}

// Whole returns the report with its classes in it.
func (d Digest) Whole() digest.Report {
	r := d.Report
	r.Classes = slices.AppendSeq(make([]digest.Row, 0, 20), d.Each)
	return r
}

// DigestLogs sums up logs by class. A log that cannot be read, or only in part, is told in Report.Skipped; an error
// comes with the report of what was read before it.
func DigestLogs(ctx context.Context, o digest.Logs, show digest.Options) (Digest, error) {
	sum, res, err := digestsource.Files(ctx, logOptions(o))
	return digestOf(sum, res, show), err
}

// logOptions are those of logs of MySQL's family, the only one whose logs Dyno reads.
func logOptions(o digest.Logs) digestsource.LogOptions {
	return digestsource.LogOptions{
		Paths: o.Paths, Stdin: o.Stdin, Workers: o.Workers, Config: logdigest.Of(o.Config), Progress: o.Progress,
	}
}

// ParseFilter reads the text of a filter of the statements in logs.
func ParseFilter(text string) (digest.Filter, error) {
	f, err := logdigest.ParseFilter(text)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Attributes lists those that statements of the families' servers and logs are known to have.
func Attributes() []attribute.Info { return slowlog.Attributes() }

// FollowLog sums up a log while it is written, until ctx ends, and hands the digest of all so far to each now and then.
// The last one is returned.
func FollowLog(ctx context.Context, path string, o digest.Following, show digest.Options,
	each func(Digest) error,
) (Digest, error) {
	f := digestsource.FollowOptions{Config: logdigest.Of(o.Config), State: o.State, Mark: o.Mark, Every: o.Every}
	sum, res, err := digestsource.Follow(ctx, path, f, func(u digestsource.Update) error {
		return each(digestOf(u.Total, u.Result, show))
	})
	return digestOf(sum, res, show), err
}

func digestOf(sum *logdigest.Aggregator, res digestsource.Result, show digest.Options) (d Digest) {
	show.Source, show.Files, show.Notes = res.Source, res.Files, res.Notes
	d.Report, d.Each = sum.Classes(show)
	return d
}

// DigestLive sums up what a server executes within a window. Sources that are missing or denied are notes of the
// report. denied says what the account may not see, "" for nothing; that no statement can be seen at all is an error.
// An error beside a report that has classes is of their plans.
func DigestLive(ctx context.Context, t family.Server, o family.Listen, show digest.Options) (
	r digest.Report, denied string, err error,
) {
	x, err := family.Need[family.Digester](t, "digest the statements of")
	if err != nil {
		return r, "", err
	}
	o.Limit, o.OrderBy = show.Limit, show.OrderBy
	r, sources, err := x.Digest(ctx, o)
	denied = diagnose.Denied(sources)
	if err == nil && denied != "" && !slices.ContainsFunc(sources, func(x source.Source) bool {
		return x.State == source.OK
	}) {
		err = fmt.Errorf("no statement of %s is visible. %s", t.Spec().Name, denied)
	}
	return r, denied, err
}

// explains is a server whose family asks for the plans of samples in logs.
type explains interface {
	ExplainDigest(ctx context.Context, r *digest.Report) error
}

// ExplainDigest asks the server for the plans of the report's worst samples where EXPLAIN is proven to be harmless.
func ExplainDigest(ctx context.Context, t family.Server, r *digest.Report) error {
	x, err := family.Need[explains](t, "ask for plans")
	if err != nil {
		return err
	}
	return x.ExplainDigest(ctx, r)
}

// DigestSide returns one side of a comparison of digests: a log, or a report that `dyno digest --output json` wrote.
// All its classes are kept.
func DigestSide(ctx context.Context, o digest.Logs) (digest.Report, error) {
	path := o.Paths[0]
	if path != "-" {
		r, ok, err := readReport(path)
		if ok || err != nil {
			if o.Config.Redact {
				report.RedactDigest(&r)
			}
			return r, err
		}
	}
	d, err := DigestLogs(ctx, o, digest.Options{})
	r := d.Whole()
	if err == nil && len(r.Skipped) > 0 && r.Global.Count == 0 {
		return r, fmt.Errorf("read %s: %s", path, r.Skipped[0].Reason)
	}
	return r, err
}

// readReport reads a report; ok is false when the file does not begin as one does.
func readReport(path string) (r digest.Report, ok bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return r, false, fmt.Errorf("read digest: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return r, false, err
	}
	head := make([]byte, 64)
	n, err := f.Read(head)
	if err != nil && !errors.Is(err, io.EOF) {
		return r, false, fmt.Errorf("read digest: %w", err)
	}
	if !bytes.HasPrefix(bytes.TrimLeft(head[:n], " \t\r\n"), []byte("{")) {
		return r, false, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return r, false, err
	}
	if err := json.NewDecoder(f).Decode(&r); err != nil {
		return r, false, fmt.Errorf("read %s: it is not a report of `dyno digest --output json`: %w", path, err)
	}
	switch {
	case r.Version == 0:
		return r, false, fmt.Errorf("read %s: it is JSON, but not a report of `dyno digest --output json`", path)
	case r.Version > digest.Version:
		return r, false, fmt.Errorf("read %s: its format %d is newer than this Dyno's, %d: use the Dyno that wrote "+
			"it, or a newer one", path, r.Version, digest.Version)
	}
	r.Describe(Attributes())
	if r.Global.Source != string(class.PgStatStatements) {
		r.Dialect = mytext.Dialect{}
	}
	return r, true, nil
}

// DigestHead returns what stands at the head of a digest: when, where and by what it was made, and what that took so
// far.
func (a Reports) DigestHead(now time.Time) report.DigestOptions {
	o := report.DigestOptions{At: now, Dyno: a.Version}
	o.Host, _ = os.Hostname()
	o.User, o.System, _ = platform.CPU()
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			page := uint64(os.Getpagesize())
			o.Virtual, o.RSS = pages(f[0])*page, pages(f[1])*page
		}
	}
	return o
}

func pages(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
