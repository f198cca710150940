package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
)

// record is sandbox.json: what must be known to find, stop and remove a sandbox when its maker is gone.
type record struct {
	Format   int               `json:"format"`
	Server   Server            `json:"server"`
	Settings map[string]string `json:"settings"`
	Port     int               `json:"port"`
	Fixed    bool              `json:"fixed_port"` // the user chose the port
	Run      string            `json:"run"`        // directory of socket and pid file
	Account  string            `json:"account"`    // "" is who started it
	Created  time.Time         `json:"created"`
	Started  time.Time         `json:"started"`
	Process  host.Identity     `json:"process"` // zero when none was started or it was stopped
	Owner    host.Identity     `json:"owner"`   // zero when the sandbox belongs to nobody
	Ready    bool              `json:"ready"`   // it answered once: only then is it complete
	Notes    []string          `json:"notes,omitempty"`
	Logs     []int64           `json:"logs,omitempty"` // bytes of each log before the last start, see openLogs

	Data      string `json:"data,omitempty"`      // key of the data set it was made of
	Restoring bool   `json:"restoring,omitempty"` // its data directory is between two states

	CPUs string `json:"cpus,omitempty"` // the server was placed on; "" when nobody asked
	Held held   `json:"held,omitzero"`

	Image *image `json:"image,omitempty"` // its data have a filesystem of their own; about to be made or there
}

const recordFormat = 1

func recordFile(dir string) string { return filepath.Join(dir, "sandbox.json") }

func (r record) socket() string { return filepath.Join(r.Run, r.Server.Maker.Traits().Socket(r.Port)) }

// save writes the record so that a reader sees the old or the new one, also after a crash of the machine.
func (r record) save(dir string) error {
	r.Format = recordFormat
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeAtomic(recordFile(dir), append(b, '\n'))
}

func writeAtomic(path string, b []byte) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// readRecord is load without a server's maker.
func readRecord(dir string) (r record, ok bool, err error) {
	b, err := os.ReadFile(recordFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return record{}, false, hint(fmt.Errorf("read %s: %w", recordFile(dir), err),
			"which process serves it is unknown: stop the server whose command line names "+dir+
				", if there is one, then delete that directory")
	}
	if r.Format != recordFormat {
		return record{}, false, hint(fmt.Errorf("read %s: format %d, this dyno knows %d", recordFile(dir), r.Format,
			recordFormat), "use the dyno that made it")
	}
	return r, true, nil
}
