package remotewrite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dyno-perf/dyno/internal/platform"
)

// cursor says what the receiver has. It is written before and after each request, so that after a crash one request
// alone is in doubt: the one behind Done.
type cursor struct {
	Version int    `json:"version"`
	To      string `json:"to"` // host and path of the receiver

	Acked  int64  `json:"acked"`            // Unix milliseconds: everything up to then was acknowledged
	Window int64  `json:"window,omitempty"` // end of the stretch behind Acked that is being sent, 0 for none
	Done   string `json:"done,omitempty"`   // the last series of the stretch, in order, that was acknowledged
}

const cursorVersion = 1

// load reads the file; not ok when there is none.
func load(path, to string) (c cursor, ok bool, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("read remote write cursor: %w", err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, false, fmt.Errorf("read remote write cursor %s: %w; remove it to send from now on", path, err)
	}
	switch {
	case c.Version > cursorVersion:
		return c, false, fmt.Errorf("read remote write cursor %s: it was written by a newer dyno (version %d, this "+
			"one knows %d)", path, c.Version, cursorVersion)
	case c.Version < 1 || c.Acked <= 0:
		return c, false, fmt.Errorf("read remote write cursor %s: it is damaged; remove it to send from now on", path)
	case c.To != to:
		return c, false, fmt.Errorf("read remote write cursor %s: it is of the receiver %s, not of %s; name another "+
			"file", path, c.To, to)
	}
	return c, true, nil
}

// save replaces the file; it holds the old or the new cursor whatever happens.
func (c cursor) save(path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write remote write cursor: %w", err)
		}
	}()
	c.Version = cursorVersion
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync()); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(platform.SyncDir(d), d.Close())
}
