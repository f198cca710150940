package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Reports are the documents that are kept, and their files.
type Reports struct{ *App }

// StoreReport keeps a document in the ledger and writes it as report.html, report.md and report.json into dir. It
// returns the path of the HTML file.
func (a Reports) StoreReport(ctx context.Context, doc report.Document, dir string) (string, error) {
	if err := a.MakeReportDir(dir); err != nil {
		return "", fmt.Errorf("write report: %w", err)
	}
	var stored bytes.Buffer
	for _, f := range []struct {
		name   string
		render func(io.Writer, *report.Document) error
	}{{"report.json", report.JSON}, {"report.md", report.Markdown}, {"report.html", report.HTML}} {
		var b bytes.Buffer
		if err := f.render(&b, &doc); err != nil {
			return "", fmt.Errorf("render %s: %w", f.name, err)
		}
		if f.name == "report.json" {
			stored = *bytes.NewBuffer(bytes.Clone(b.Bytes()))
		}
		if err := os.WriteFile(filepath.Join(dir, f.name), b.Bytes(), 0o600); err != nil {
			return "", fmt.Errorf("write report: %w", err)
		}
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return "", err
	}
	if err := l.Documents.Put(ctx, string(doc.Kind), doc.ID, doc.Place.Target, doc.ActionID(),
		stored.Bytes()); err != nil {
		return "", err
	}
	return filepath.Join(dir, "report.html"), nil
}

// MakeReportDir makes the directory of a report, for us alone: reports hold statements of the
// servers' users.
func (a Reports) MakeReportDir(dir string) error {
	if err := os.MkdirAll(a.Home, 0o755); err != nil { // the servers' account must be able to enter
		return err
	}
	return errors.Join(os.MkdirAll(dir, 0o700), a.closeReports())
}

// closeReports takes reports of earlier versions from others, who could read them.
func (a *App) closeReports() error {
	top := filepath.Join(a.Home, "reports")
	fi, err := os.Stat(top)
	if errors.Is(err, fs.ErrNotExist) || err == nil && fi.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	var files []error
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir():
			files = append(files, root.Chmod(name, 0o700))
		case d.Type().IsRegular():
			files = append(files, root.Chmod(name, 0o600))
		}
		return nil
	})
	return errors.Join(err, errors.Join(files...), root.Chmod(".", 0o700)) // last: it says that all is done
}

// RemoveReport removes the files of a report that is kept no more.
func (a Reports) RemoveReport(id string) error {
	if id != filepath.Base(id) || !filepath.IsLocal(id) {
		return nil // its files, if there are any, are elsewhere
	}
	return os.RemoveAll(a.ReportDir(id))
}

// Stored is something that `dyno report` can show.
type Stored struct {
	ID     string    `json:"id"`
	Kind   string    `json:"kind"`
	At     time.Time `json:"at"`
	Target string    `json:"target"`
	Text   string    `json:"text,omitzero"` // what of a kind it is
}

// Stored lists the newest reports of each kind, newest first.
func (a Reports) Stored(ctx context.Context, n int) ([]Stored, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	docs, err := l.Documents.Heads(ctx, "", n)
	if err != nil {
		return nil, err
	}
	looks, err := l.Diagnoses.List(ctx, "", n)
	if err != nil {
		return nil, err
	}
	runs, err := l.Runs(ctx, "", n)
	if err != nil {
		return nil, err
	}
	var all []Stored
	for _, d := range looks {
		kind := "diagnosis"
		if len(d.Advice) > 0 {
			kind = "advice"
		}
		all = append(all, Stored{ID: d.ID, Kind: kind, At: d.At, Target: d.Target, Text: unit.Plural(len(d.Findings),
			"finding", "findings")})
	}
	for _, r := range runs {
		all = append(all, Stored{ID: r.ID, Kind: "run", At: r.Started, Target: r.Target, Text: r.Workload})
	}
	for _, d := range docs {
		if !slices.ContainsFunc(all, func(x Stored) bool { return x.ID == d.ID }) { // the report of a run bears its id
			all = append(all, Stored{ID: d.ID, Kind: d.Kind, At: d.At, Target: d.Target})
		}
	}
	slices.SortStableFunc(all, func(x, y Stored) int { return y.At.Compare(x.At) })
	return all[:min(n, len(all))], nil
}

// Report returns the document of any id that Dyno has printed: a report's own, or one made of a stored diagnosis or
// run. An unknown id is ledger.ErrNotFound.
func (a Reports) Report(ctx context.Context, id string) (*report.Document, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	if d, err := l.Documents.Get(ctx, id); err == nil {
		return report.Decode(d.JSON)
	} else if !errors.Is(err, ledger.ErrNotFound) {
		return nil, err
	}
	if d, err := l.Diagnoses.Get(ctx, id); err == nil {
		s, err := snapshotOf(d)
		if err != nil {
			return nil, err
		}
		symptoms, _ := Findings(s)
		// the findings as they were told then
		doc := document(d.ID, s, symptoms, d.Findings, a.Version, d.Advice)
		return &doc, nil
	} else if !errors.Is(err, ledger.ErrNotFound) {
		return nil, err
	}
	r, err := l.Run(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, &noReportError{id}
	}
	if err != nil {
		return nil, err
	}
	doc := report.RunDocument(r, nil, a.Version)
	return &doc, nil
}

// noReportError is the answer to an id that nothing which can be shown has.
type noReportError struct{ id string }

func (e *noReportError) Error() string {
	return fmt.Sprintf("no report, diagnosis or run has the id %q", e.id)
}

// Is makes errors.Is(err, ledger.ErrNotFound) true.
func (e *noReportError) Is(err error) bool { return err == ledger.ErrNotFound }

// ReportDir returns the directory of the files of a report.
func (a *App) ReportDir(id string) string { return filepath.Join(a.Home, "reports", id) }
