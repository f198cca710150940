// Package trials stores the trials of an experiment in a directory of its own, so that no finished
// trial is ever lost. It runs and evaluates none.
//
//	experiment.json     the start: the plan as written, and its overrides
//	trials/00001.json   one trial each, never changed again
//	result.json         the result, at the end
//	lock                held by the process that runs the experiment
//
// A file is written under another name, flushed, and renamed; then the directory is flushed. A
// kill, a crash or a full disk at any moment leaves the existing files intact, and Put returns when
// its trial would survive them.
package trials

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/trial"
)

// Format is the version of the files that this program writes.
const Format = 1

const (
	headerFile = "experiment.json"
	resultFile = "result.json"
	lockFile   = "lock"
	trialsDir  = "trials"
	maxSeq     = 100_000
)

// Header is what an experiment was begun with.
type Header struct {
	Format  int                 `json:"dyno_experiment"`
	ID      string              `json:"id"`
	Plan    string              `json:"plan"`            // the text, as it was written
	Scale   string              `json:"scale,omitempty"` // what was laid over it, as in plan.Options
	Axes    map[string][]string `json:"axes,omitempty"`
	Set     map[string]string   `json:"set,omitempty"`
	Hash    string              `json:"hash"` // see plan.Plan.Hash
	Dyno    string              `json:"dyno"` // version of the program
	Started time.Time           `json:"started"`
}

// Dir is the directory of one experiment, held by this process.
type Dir struct {
	path   string
	header Header
	lock   *os.File

	mu       sync.Mutex
	closed   bool
	warnings []string
}

// Create makes the directory of a new experiment and holds it until Close. The directory may be there already, but not
// with an experiment in it.
func Create(dir string, h Header) (*Dir, error) {
	const op = "create experiment"
	h.Format = Format
	if !goodID.MatchString(h.ID) {
		return nil, failed(op, dir, fmt.Errorf("id %q: letters, digits, \"-\", \"_\" and \".\" are needed", h.ID))
	}
	b, err := json.Marshal(h)
	if err != nil {
		return nil, failed(op, dir, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, trialsDir), 0o700); err != nil {
		return nil, failed(op, dir, err)
	}
	lock, err := acquire(dir)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: dir, header: h, lock: lock}
	if _, err := os.Lstat(filepath.Join(dir, headerFile)); err == nil {
		err = &Error{Op: op, Path: dir, Kind: ErrExists, Err: ErrExists, Hint: "resume it, or choose another directory"}
		return nil, errors.Join(err, d.Close())
	}
	if err := write(filepath.Join(dir, headerFile), b); err != nil {
		return nil, errors.Join(failed(op, dir, err), d.Close())
	}
	// The entries of trials/ and of the directory itself.
	if err := errors.Join(syncDir(dir), syncDir(filepath.Dir(filepath.Clean(dir)))); err != nil {
		return nil, errors.Join(failed(op, dir, err), d.Close())
	}
	return d, nil
}

// Open holds the directory of an experiment that was begun, to go on with it. Who only wants to look uses Read.
func Open(dir string) (*Dir, error) {
	if _, err := os.Stat(filepath.Join(dir, headerFile)); err != nil {
		// before a lock file appears in a directory that is none of ours
		return nil, failed("open experiment", dir, err)
	}
	lock, err := acquire(dir)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: dir, lock: lock}
	if d.header, err = readHeader(dir); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.sweep()
	if _, err := d.All(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Header returns what the experiment was begun with.
func (d *Dir) Header() Header { return d.header }

// Path returns the directory.
func (d *Dir) Path() string { return d.path }

// Warnings tells what was found damaged and laid aside.
func (d *Dir) Warnings() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.warnings)
}

// Same refuses, with ErrChanged, to go on with a plan of another hash: its trials would be of something else.
func (d *Dir) Same(hash string) error {
	if hash == d.header.Hash {
		return nil
	}
	return &Error{
		Op: "resume experiment " + d.header.ID, Path: d.path, Kind: ErrChanged, Err: ErrChanged,
		Hint: "resume it without naming the plan, then it continues with its own plan, or start a new experiment; " +
			"nothing was changed",
	}
}

// Close lets others have the directory.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	return release(d.lock)
}

// Put keeps a trial. When it returns nil the trial survives a crash of the program and of the machine. A trial is never
// overwritten.
func (d *Dir) Put(_ context.Context, t trial.Trial) error {
	op := fmt.Sprintf("keep trial %d", t.Seq)
	if t.Seq < 1 || t.Seq > maxSeq {
		return failed(op, d.path, fmt.Errorf("a number from 1 to %d is needed", maxSeq))
	}
	b, err := encode(t)
	if err != nil {
		return failed(op, d.path, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return failed(op, d.path, errClosed)
	}
	name := d.file(t.Seq)
	if _, err := os.Lstat(name); err == nil {
		return &Error{Op: op, Path: name, Kind: ErrExists, Err: ErrExists, Hint: "a trial that is on record is not " +
			"changed"}
	}
	if err := write(name, b); err != nil {
		return failed(op, d.path, err)
	}
	return nil
}

// PutResult keeps what came out, in place of an earlier result.
func (d *Dir) PutResult(r trial.Result) error {
	const op = "keep result"
	b, err := json.Marshal(r)
	if err != nil {
		return failed(op, d.path, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return failed(op, d.path, errClosed)
	}
	if err := write(filepath.Join(d.path, resultFile), b); err != nil {
		return failed(op, d.path, err)
	}
	return nil
}

// All returns the trials in the order in which they began. What is damaged is renamed, so that its trial is run again,
// and named by Warnings. A trial of a newer format is an error: nothing is renamed then.
func (d *Dir) All() ([]trial.Trial, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ts, bad, err := readTrials(d.path)
	if err != nil {
		return nil, err
	}
	for _, b := range bad {
		aside, err := layAside(b.path)
		if err != nil {
			return nil, failed("lay aside a damaged trial", b.path, err)
		}
		d.warnings = append(d.warnings, fmt.Sprintf("%s is damaged (%v): kept as %s, the trial is run again", b.path,
			b.err, filepath.Base(aside)))
	}
	return ts, nil
}

// Result returns what came out; not ok while there is none.
func (d *Dir) Result() (r trial.Result, ok bool, err error) { return readResult(d.path) }

func (d *Dir) file(seq int) string {
	return filepath.Join(d.path, trialsDir, fmt.Sprintf("%05d.json", seq))
}

// sweep removes what was being written when a process was killed.
func (d *Dir) sweep() {
	for _, pattern := range []string{"*" + partly, filepath.Join(trialsDir, "*"+partly)} {
		names, _ := filepath.Glob(filepath.Join(d.path, pattern)) // the pattern is well-formed
		for _, n := range names {
			_ = os.Remove(n) // in nobody's way
		}
	}
}

// Kept is an experiment as it lies on disk.
type Kept struct {
	Header   Header
	Trials   []trial.Trial
	Result   *trial.Result // nil while there is none
	Warnings []string      // what is damaged
}

// Read returns what a directory holds and changes nothing. It may be used while the experiment is under way.
func Read(dir string) (Kept, error) {
	var k Kept
	var err error
	if k.Header, err = readHeader(dir); err != nil {
		return k, err
	}
	var bad []damaged
	if k.Trials, bad, err = readTrials(dir); err != nil {
		return k, err
	}
	for _, b := range bad {
		k.Warnings = append(k.Warnings, fmt.Sprintf("%s is damaged: %v", b.path, b.err))
	}
	r, ok, err := readResult(dir)
	if ok {
		k.Result = &r
	}
	return k, err
}

func readHeader(dir string) (Header, error) {
	name := filepath.Join(dir, headerFile)
	b, err := os.ReadFile(name)
	if err != nil {
		return Header{}, failed("open experiment", dir, err)
	}
	h, err := decodeHeader(b)
	if err != nil {
		return h, failed("open experiment", name, err)
	}
	return h, nil
}

func decodeHeader(b []byte) (h Header, err error) {
	if err := format(b, "dyno_experiment", "experiment", Format); err != nil {
		return h, err
	}
	if err := json.Unmarshal(b, &h); err != nil {
		return h, &damage{err}
	}
	if !goodID.MatchString(h.ID) {
		return h, &damage{fmt.Errorf("its id, %q, is none", h.ID)}
	}
	return h, nil
}

// goodID is what can be part of a file name anywhere.
var goodID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

func readResult(dir string) (r trial.Result, ok bool, err error) {
	name := filepath.Join(dir, resultFile)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err == nil {
		r, err = decodeResult(b)
	}
	if err != nil {
		return r, false, failed("read result", name, err)
	}
	return r, true, nil
}

func decodeResult(b []byte) (r trial.Result, err error) {
	if err := format(b, "dyno_result", "result", trial.Format); err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, &damage{err}
	}
	return r, nil
}

type damaged struct {
	path string
	err  error
}

var trialName = lazyregexp.New(`^[0-9]{5,6}\.json$`)

// readTrials reads all trials in order, and names those that cannot be read.
func readTrials(dir string) (ts []trial.Trial, bad []damaged, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, trialsDir))
	if err != nil {
		return nil, nil, failed("read trials", dir, err)
	}
	for _, e := range entries {
		if !trialName.MatchString(e.Name()) {
			continue
		}
		path := filepath.Join(dir, trialsDir, e.Name())
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, failed("read trial", path, err)
		}
		t, err := decode(b, e.Name())
		var hurt *damage
		switch {
		case errors.As(err, &hurt):
			bad = append(bad, damaged{path, hurt.err})
		case err != nil:
			return nil, nil, failed("read trial", path, err)
		default:
			ts = append(ts, t)
		}
	}
	slices.SortFunc(ts, func(a, b trial.Trial) int { return a.Seq - b.Seq })
	return ts, bad, nil
}

// envelope is a trial's file. The sum is over the very bytes of the trial: a flipped digit is no other measurement.
type envelope struct {
	Format int             `json:"dyno_trial"`
	Sum    string          `json:"sha256"`
	Trial  json.RawMessage `json:"trial"`
}

func encode(t trial.Trial) ([]byte, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return fmt.Appendf(nil, "{\"dyno_trial\":%d,\"sha256\":\"%x\",\n\"trial\":%s}\n", Format, sum, b), nil
}

func decode(b []byte, name string) (t trial.Trial, err error) {
	if err := format(b, "dyno_trial", "trial", Format); err != nil {
		return t, err
	}
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return t, &damage{err}
	}
	if sum := sha256.Sum256(e.Trial); hex.EncodeToString(sum[:]) != e.Sum {
		return t, &damage{errors.New("its content does not match its checksum")}
	}
	if err := json.Unmarshal(e.Trial, &t); err != nil {
		return t, &damage{err}
	}
	if want := fmt.Sprintf("%05d.json", t.Seq); want != name || t.Seq < 1 || t.Seq > maxSeq {
		return t, &damage{fmt.Errorf("it holds trial %d", t.Seq)}
	}
	return t, nil
}

// format looks at the version of a file before anything else in it.
func format(b []byte, key, what string, known int) error {
	var head map[string]json.RawMessage
	if err := json.Unmarshal(b, &head); err != nil {
		return &damage{err}
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(head[key])))
	switch {
	case err != nil || n < 1:
		return &damage{fmt.Errorf("it has no version under %q", key)}
	case n > known:
		return &newerError{what: what, file: n, program: known}
	}
	return nil
}
