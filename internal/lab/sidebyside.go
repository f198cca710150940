package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/compare"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/trials"
	"github.com/dyno-perf/dyno/internal/trial"
)

// LoadResult reads a result from a file: the last line of `compare --output json`, a report's JSON, or a bundle. An id
// (x-…) means an experiment that was run here.
func LoadResult(a *app.App, name string) (r trial.Result, err error) {
	if strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".tgz") {
		b, _, err := LoadBundle(a, name)
		if err != nil {
			return r, err
		}
		if b == nil {
			return r, fmt.Errorf("read %s: the bundle has no result: its experiment was not finished", name)
		}
		return *b, nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) && strings.HasPrefix(name, "x-") {
		k, kerr := keptExperiment(a, name)
		if kerr != nil {
			return r, kerr
		}
		if k.Result == nil {
			return r, fmt.Errorf("experiment %s has no result yet: `dyno compare --resume %s` resumes it", name, name)
		}
		return *k.Result, nil
	}
	if err != nil {
		return r, fmt.Errorf("read result: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, candidate := range []string{string(text), lines[len(lines)-1]} {
		var head struct {
			Result int `json:"dyno_result"`
			Report int `json:"dyno_report"`
		}
		if json.Unmarshal([]byte(candidate), &head) != nil {
			continue
		}
		switch {
		case head.Result > trial.Format:
			return r, fmt.Errorf("read %s: a result of format %d, this dyno knows %d: use a newer dyno", name,
				head.Result, trial.Format)
		case head.Result > 0:
			if err := json.Unmarshal([]byte(candidate), &r); err != nil {
				return r, fmt.Errorf("read %s: %w", name, err)
			}
			return r, nil
		case head.Report > 0:
			d, err := report.Decode([]byte(candidate))
			if err != nil {
				return r, fmt.Errorf("read %s: %w", name, err)
			}
			if d.Comparison == nil {
				return r, fmt.Errorf("read %s: a report of kind %s, not a comparison", name, d.Kind)
			}
			return *d.Comparison, nil
		}
	}
	return r, fmt.Errorf("read %s: not a result, a report of a comparison or a bundle", name)
}

// LoadBundle reads a bundle: its result, nil when there is none, and what its experiment was begun with.
func LoadBundle(a *app.App, file string) (*trial.Result, trials.Header, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, trials.Header{}, fmt.Errorf("read bundle: %w", err)
	}
	defer f.Close()
	dir, err := os.MkdirTemp("", "dyno-bundle-")
	if err != nil {
		return nil, trials.Header{}, fmt.Errorf("read bundle: %w", err)
	}
	defer os.RemoveAll(dir)
	if _, err := trials.Import(f, filepath.Join(dir, "x")); err != nil {
		return nil, trials.Header{}, fmt.Errorf("read %s: %w", file, err)
	}
	k, err := trials.Read(filepath.Join(dir, "x"))
	if err != nil {
		return nil, trials.Header{}, fmt.Errorf("read %s: %w", file, err)
	}
	return k.Result, k.Header, nil
}

// SideBySide compares two results and keeps the report.
func SideBySide(ctx context.Context, a *app.App, x, y trial.Result) (trial.Result, string, error) {
	r, err := compare.Sets(x, y)
	if err != nil {
		return r, "", err
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return r, "", err
	}
	if r.ID, err = l.NewID(ctx, ledger.ExperimentID); err != nil {
		return r, "", err
	}
	html, err := app.Reports{App: a}.StoreReport(ctx, *report.Comparison(&r, time.Now()), a.ReportDir(r.ID))
	return r, html, err
}
