package digestsource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/userfile"
)

// stateMagic is the first line of a state file. After it come one line of JSON, the aggregate, and a checksum of all
// before.
const stateMagic = "dyno follow state 1\n"

// ErrState is in the chain of errors that a state file causes.
var ErrState = errors.New("state file")

// stateFile keeps where reading is together with what was summed up to there, in one file: after a kill at any moment
// both are of the same instant. The file is locked while it is in use.
type stateFile struct {
	path  string
	place *userfile.Place
	f     *os.File // holds the lock
}

// openState locks a state file. What it holds is returned by load; a file that was not there is empty.
func openState(path string) (*stateFile, error) {
	bad := func(err error) (*stateFile, error) {
		return nil, fmt.Errorf("open %w %s: %w", ErrState, path, reason(err))
	}
	place, err := userfile.At(path)
	if err != nil {
		return bad(err)
	}
	for {
		f, err := lockFile(place)
		if err != nil {
			place.Close()
			return bad(err)
		}
		// Between opening and locking another process may have put a new file in its place.
		a, err := f.Stat()
		if err == nil {
			var b os.FileInfo
			if b, err = place.Lstat(); err == nil && os.SameFile(a, b) {
				return &stateFile{place.Path(), place, f}, nil
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			place.Close()
			return bad(err)
		}
	}
}

func lockFile(place *userfile.Place) (*os.File, error) {
	f, err := place.Open(os.O_RDWR)
	if err != nil {
		return nil, reason(err)
	}
	if err := platform.Lock(f, true); err != nil {
		f.Close()
		if errors.Is(err, platform.ErrLocked) {
			return nil, errors.New("another dyno is using it: give each its own --state")
		}
		return nil, err
	}
	return f, nil
}

// load reads the state into head and returns the aggregate; not ok when there is none yet.
func (s *stateFile) load(head any) (aggregate []byte, ok bool, err error) {
	fail := func(err error) ([]byte, bool, error) {
		return nil, false, fmt.Errorf("read %w %s: %w: move it away to start over", ErrState, s.path, err)
	}
	b, err := io.ReadAll(io.NewSectionReader(s.f, 0, 1<<40))
	if err != nil {
		return fail(reason(err))
	}
	if len(b) == 0 {
		return nil, false, nil
	}
	rest, isState := bytes.CutPrefix(b, []byte(stateMagic))
	if !isState {
		return fail(errors.New("it is not a state of this version of dyno digest"))
	}
	if len(rest) < 9 || fmt.Sprintf("%08x\n", checksum(b[:len(b)-9])) != string(b[len(b)-9:]) {
		return fail(errors.New("it is damaged"))
	}
	line, aggregate, _ := bytes.Cut(rest[:len(rest)-9], []byte("\n"))
	if err := json.Unmarshal(line, head); err != nil {
		return fail(err)
	}
	return aggregate, true, nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// save replaces the state. When it returns nil the new one is on the disk; after an error or a kill the old one is
// whole.
func (s *stateFile) save(head any, aggregate func([]byte) []byte) error {
	if err := s.replace(head, aggregate); err != nil {
		return fmt.Errorf("write %w %s: %w", ErrState, s.path, reason(err))
	}
	return nil
}

func (s *stateFile) replace(head any, aggregate func([]byte) []byte) error {
	line, err := json.Marshal(head)
	if err != nil {
		return err
	}
	b := append([]byte(stateMagic), line...)
	b = aggregate(append(b, '\n'))
	b = fmt.Appendf(b, "%08x\n", checksum(b))
	// One name for all attempts: those that a kill leaves behind do not pile up. Whoever holds the lock on the state is
	// alone here.
	if err := s.place.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := s.place.Create(fresh, os.O_RDWR)
	if err != nil {
		return err
	}
	err = platform.Lock(f, true)
	if err == nil {
		_, err = f.Write(b)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = s.place.Rename(fresh)
	}
	if err != nil {
		f.Close()
		return err
	}
	s.f.Close()
	s.f = f
	return s.place.Sync()
}

// fresh is what a state's name has more until it is whole.
const fresh = ".new"

func (s *stateFile) close() {
	s.f.Close()
	s.place.Close()
}
