package access

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dyno-perf/dyno/internal/platform"
)

// markerOf is the name of the file that stands beside the users' file as long as there are users. Without it a users'
// file that gets lost would mean that there are none, and that no login is needed.
func markerOf(path string) string { return path + "-has-users" }

// mark puts the marker in its place, and reports whether it was not there before. It is on the disk when mark returns.
func mark(path string) (made bool, err error) {
	dir := filepath.Dir(path)
	f, err := os.OpenFile(markerOf(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	_, err = f.WriteString("There are users in " + filepath.Base(path) + ": without it dyno serve refuses all " +
		"logins.\n")
	err = errors.Join(err, f.Sync(), f.Close())
	d, bad := os.Open(dir)
	if bad == nil {
		bad = errors.Join(platform.SyncDir(d), d.Close())
	}
	return true, errors.Join(err, bad)
}

// unmark takes the marker away: there are no users any more, by somebody's own wish.
func unmark(path string) error {
	err := os.Remove(markerOf(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// marked reports whether there were users. What cannot be told counts as yes.
func marked(path string) bool {
	_, err := os.Lstat(markerOf(path))
	return !errors.Is(err, fs.ErrNotExist)
}

// keepMarker gives a file with users its marker, where an older Dyno made none. Whoever cannot write there is not kept
// from reading.
func (s *Store) keepMarker(ctx context.Context) {
	if some, err := s.HasUsers(ctx); err == nil && some {
		_, _ = mark(s.path)
	}
}
