package series

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A full disk must not end the program. The database inside is not made for it: a write that fails leaves a record cut
// short in the middle of its log, and moving chunks out of memory panics. So the store stops writing while there is
// still room (Reserve), keeps a file whose space it gives back at that moment for what the database has yet to do
// (ballast), and when a write failed all the same it opens the database anew, which cuts the log, before it writes
// again.
const (
	ballastFile  = "ballast"
	ballastBytes = 8 << 20
	reopenPause  = 5 * time.Second
)

// room is what a store knows of its disk.
type room struct {
	full    bool      // nothing is written
	broken  bool      // a write failed: the log must be cut
	tried   time.Time // of the last attempt to mend that
	from    int64     // time of the first refused round, Unix milliseconds
	refused int       // rounds and appends since then
}

// prepare is called before each write of samples with the time at; it has an error when there is no room.
func (s *Store) prepare(at int64) error {
	more := int64(0)
	if s.room.full {
		more = 2 * ballastBytes
	}
	if err := s.options.Reserve.Check(s.dir, more); err != nil {
		if !s.room.full {
			s.room.full = true
			_ = os.Remove(filepath.Join(s.dir, ballastFile)) // what counts is whether there is room in the end
		}
		return s.room.refuse(at, failed("write to", s.dir, err))
	}
	if s.room.broken {
		if err := mend(s); err != nil {
			return s.room.refuse(at, failed("write to", s.dir, err))
		}
	}
	if s.room.full {
		s.room.full = false
		takeBallast(s.dir)
	}
	if n := s.room.refused; n > 0 && !s.room.broken {
		s.log.note(fmt.Sprintf("from %s to %s UTC %d rounds were not stored, the disk was full",
			time.UnixMilli(s.room.from).UTC().Format(time.DateTime), time.UnixMilli(at).UTC().Format(time.DateTime), n))
		s.room.refused = 0
	}
	return nil
}

// refuse counts a write that did not happen.
func (r *room) refuse(at int64, err error) error {
	if r.refused++; r.refused == 1 {
		r.from = at
	}
	return err
}

// stuck is called with an error of the database itself: its log may end with half a record.
func (r *room) stuck(at int64, err error) error {
	r.broken = true
	return r.refuse(at, err)
}

// mend opens the database anew. When it cannot be written to yet it stays as it is, for reading.
func mend(s *Store) error {
	if time.Since(s.room.tried) < reopenPause {
		return errors.New("the last write failed")
	}
	s.room.tried = time.Now()
	probe := filepath.Join(s.dir, "probe")
	err := os.WriteFile(probe, make([]byte, 1<<20), 0o600) // a quota does not show as a full disk
	if err = errors.Join(err, os.Remove(probe)); err != nil {
		return err
	}
	s.readers.Lock()
	defer s.readers.Unlock()
	if err := s.unload(); err != nil {
		s.log.note("close after a failed write: " + err.Error())
	}
	if err := s.load(); err != nil {
		return err
	}
	s.room.broken = false
	s.begin()
	return nil
}

// takeBallast takes the space that is given back when the disk is full.
func takeBallast(dir string) {
	f, err := os.OpenFile(filepath.Join(dir, ballastFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return // without it a full disk is more dangerous, no more
	}
	_ = allocate(f, ballastBytes)
	_ = f.Close()
}
