package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// Kept is what one kind of the things that Dyno keeps takes on the disk.
type Kept struct {
	Kind   string    `json:"kind"`
	Path   string    `json:"path"`
	Bytes  int64     `json:"bytes"`
	Rows   int64     `json:"rows,omitzero"`
	Oldest time.Time `json:"oldest,omitzero"`
	Newest time.Time `json:"newest,omitzero"`
	// PerDay is the growth that this came from, bytes a day; 0 where it is unknown.
	PerDay float64 `json:"bytes_per_day,omitzero"`
}

// Usage tells what is kept and what it takes. It may be asked while dyno serve writes.
func (a Stores) Usage(ctx context.Context) ([]Kept, error) {
	var all []Kept
	for _, d := range []struct{ kind, path string }{
		{"series, every second", a.SeriesDir()},
		{"series, by the minute", filepath.Join(a.SeriesDir(), "minutes")},
		{"reports", filepath.Join(a.Home, "reports")},
	} {
		n, oldest, newest, err := size(d.path)
		if err != nil {
			return all, err
		}
		if n > 0 {
			all = append(all, Kept{Kind: d.kind, Path: d.path, Bytes: n, Oldest: oldest, Newest: newest})
		}
	}
	// files are written again: their times tell nothing of what is in them
	seconds, minutes := series.Oldest(a.SeriesDir())
	if len(all) > 0 && all[0].Path == a.SeriesDir() {
		all[0].Oldest = seconds
		if len(all) > 1 && all[1].Path == filepath.Join(a.SeriesDir(), "minutes") { // they lie within
			all[1].Oldest = minutes
			all[0].Bytes -= all[1].Bytes
		}
	}
	if _, err := os.Stat(a.HistoryPath()); err == nil {
		h, err := history.Open(ctx, a.HistoryPath(), history.Options{})
		if err != nil {
			return all, err
		}
		kinds, err := h.Usage(ctx)
		if err = errors.Join(err, h.Close()); err != nil {
			return all, err
		}
		spare, _ := database(a.HistoryPath())
		for _, k := range kinds {
			all = append(all, Kept{
				Kind: k.Kind, Path: a.HistoryPath(), Bytes: k.Bytes, Rows: k.Rows,
				Oldest: k.Oldest, Newest: k.Newest,
			})
			spare -= k.Bytes
		}
		if spare > 0 {
			all = append(all, Kept{Kind: "log and free pages", Path: a.HistoryPath(), Bytes: spare})
		}
	}
	rows, err := a.ledgerUsage(ctx)
	if err != nil {
		return all, err
	}
	for _, d := range []struct{ kind, path string }{{"ledger", a.LedgerPath()}, {"users", a.AccessPath()}} {
		if n, newest := database(d.path); n > 0 {
			if d.kind == "ledger" {
				for _, k := range rows {
					all, n = append(all, k), max(0, n-k.Bytes)
				}
			}
			all = append(all, Kept{Kind: d.kind, Path: d.path, Bytes: n, Newest: newest})
		}
	}
	for i := range all {
		if days := all[i].Newest.Sub(all[i].Oldest).Hours() / 24; !all[i].Oldest.IsZero() && days > 1.0/24 {
			all[i].PerDay = float64(all[i].Bytes) / days
		}
	}
	return all, nil
}

// ledgerUsage tells what the kinds of the ledger take that grow; "ledger" is then the rest.
func (a Stores) ledgerUsage(ctx context.Context) (all []Kept, err error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	kinds, err := l.Usage(ctx)
	for _, k := range kinds {
		if k.Rows > 0 {
			all = append(all, Kept{
				Kind: k.Kind, Path: a.LedgerPath(), Bytes: k.Bytes, Rows: k.Rows, Oldest: k.Oldest, Newest: k.Newest,
			})
		}
	}
	return all, err
}

// database returns what an SQLite file takes together with its write-ahead log, and when either was written.
func database(path string) (n int64, newest time.Time) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if i, err := os.Stat(path + suffix); err == nil {
			n += i.Size()
			if t := i.ModTime(); t.After(newest) {
				newest = t
			}
		}
	}
	return n, newest
}

// size adds up the files of a directory, and tells when the oldest and the newest of them were written. What vanishes
// meanwhile is not counted.
func size(dir string) (n int64, oldest, newest time.Time, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		i, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		n += i.Size()
		if t := i.ModTime(); oldest.IsZero() || t.Before(oldest) {
			oldest = t
		}
		if t := i.ModTime(); t.After(newest) {
			newest = t
		}
		return nil
	})
	return n, oldest, newest, err
}
