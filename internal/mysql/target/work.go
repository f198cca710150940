package target

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dyno-perf/dyno/internal/platform"
)

// workFiles hold what the processes of one account that have the same home do on servers, so that
// each leaves out the others' work as its own:
//
//	DIR/PID-RANDOM/lock    locked for as long as the process lives
//	DIR/PID-RANDOM/WHERE   what it does on one server, by what the server calls itself
//	DIR/lock-HH            keeps work on a server and the reading of its totals apart
//
// A number is written before the statement that it counts is sent: whoever reads the file after the
// server's figures misses nothing. Only a directory of the account's own into which nobody else can
// write is used, so that no other account can have load hidden.
//
// A file is a head of a fixed size, which holds a checksum, the numbers of a footprint and the ids
// of connections, and a record for each class of statements: its count, which is overwritten in
// place, and its key. All numbers are little-endian and of 8 bytes.
type workFiles struct {
	dir  string
	once sync.Once
	root *os.Root // of dir; nil when it cannot be used
	own  string   // the directory of this process
	// number is the inode of dir.
	number uint64
	lock   *os.File
	room   atomic.Int64 // bytes that classes may still take
}

const (
	workLock = "lock"
	workPart = ".part" // what is not complete yet
	// keepWork is how long the files of a process that has ended are kept: a window that holds its
	// work may still be judged.
	keepWork = 10 * time.Minute
	// mostWork bounds one file, and allWork the classes in all files of a process, bytes.
	mostWork = 1 << 20
	allWork  = 16 << 20
	// mostIDs bounds the connections that a file holds.
	mostIDs = 200
	// writeAtMost bounds how long a statement waits for what is written before it.
	writeAtMost = time.Second
	// freshWork is for how long what was read of the others is good enough to tell whose a session
	// is.
	freshWork = 10 * time.Millisecond
)

// Sizes of a file's parts, bytes.
var (
	workMagic   = "dynowrk1"
	workNumbers = 4*len(counted) + footprintRest
	workHead    = 8 * (2 + workNumbers + 1 + mostIDs)
	// workSeed makes files unreadable for a version that counts other variables.
	workSeed = crc32.ChecksumIEEE([]byte(strings.Join(counted, " ")))
)

const workRecord = 16 // bytes of a record before its key

var sharing atomic.Pointer[workFiles]

// ShareWork has this process tell the others of its account what it does on servers, and leave out
// what they do, until end is called. They meet in a directory, which is made when it is first
// needed. Where it cannot be used each process knows its own work only.
func ShareWork(dir string) (end func()) {
	w := &workFiles{dir: dir}
	w.room.Store(allWork)
	sharing.Store(w)
	return func() {
		sharing.CompareAndSwap(w, nil)
		w.once.Do(func() {}) // it is not opened any more
		w.lock.Close()
		if w.root != nil {
			w.root.Close()
		}
	}
}

// shared returns the files that are shared; nil when there are none.
func shared() *workFiles {
	w := sharing.Load()
	if w == nil {
		return nil
	}
	w.once.Do(func() {
		if err := w.open(); err != nil {
			w.lock.Close()
			if w.root != nil {
				w.root.Close()
			}
			w.root = nil
		}
	})
	if w.root == nil {
		return nil
	}
	return w
}

func (w *workFiles) open() (err error) {
	if err := os.MkdirAll(filepath.Dir(w.dir), 0o755); err != nil { // accounts of sandboxes must be able to enter
		return err
	}
	if err := os.Mkdir(w.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if w.root, err = os.OpenRoot(w.dir); err != nil { // it stays this directory, whatever its path leads to later
		return err
	}
	fi, err := w.root.Stat(".")
	if err != nil || !private(fi) || fi.Mode().Perm()&0o022 != 0 {
		return errors.Join(err, fmt.Errorf("%s is not of this account alone", w.dir))
	}
	is, _ := platform.FileOf(fi)
	w.number = is.Inode
	w.sweep()
	w.own = strconv.Itoa(os.Getpid()) + "-" + strconv.FormatUint(rand.Uint64(), 36)
	if err := w.root.Mkdir(w.own, 0o700); err != nil {
		return err
	}
	name := w.own + "/" + workLock // the name appears when it is locked
	w.lock, err = w.root.OpenFile(name+workPart, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = platform.Lock(w.lock, true)
	}
	if err == nil {
		err = w.root.Rename(name+workPart, name)
	}
	return err
}

// lockWork takes the lock of a server, one of 256 that all share, which work shares among all processes and the reading
// of the totals has alone. It waits for a while: what cannot be had then is done without.
func lockWork(where string, alone bool) (free func()) {
	free = func() {}
	w := shared()
	if w == nil {
		return free
	}
	// A server chooses what it calls itself, but not to share the lock of another: it does not know the directory's
	// number.
	name := fmt.Sprintf("lock-%02x", sha256.Sum256(fmt.Append(nil, w.number, where))[0])
	f, err := w.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return free
	}
	for end := time.Now().Add(holdAtMost); ; time.Sleep(time.Millisecond) {
		if err = platform.Lock(f, alone); err == nil {
			return func() { f.Close() }
		}
		if !errors.Is(err, platform.ErrLocked) || time.Now().After(end) {
			f.Close()
			return free
		}
	}
}

// private reports whether a file is this account's.
func private(fi os.FileInfo) bool {
	f, ok := platform.FileOf(fi)
	return ok && f.UID == os.Geteuid()
}

// sweep removes the files of processes that ended a while ago.
func (w *workFiles) sweep() {
	for _, name := range w.processes() {
		var last time.Time
		files, _ := fs.ReadDir(w.root.FS(), name)
		for _, f := range append(files, nil) {
			path := name
			if f != nil {
				path += "/" + f.Name()
			}
			if fi, err := w.root.Lstat(path); err == nil && fi.ModTime().After(last) {
				last = fi.ModTime()
			}
		}
		if dead, known := w.ended(name); time.Since(last).Abs() > keepWork && (dead || !known) {
			_ = w.root.RemoveAll(name)
		}
	}
}

// processes returns the directories of all processes.
func (w *workFiles) processes() (names []string) {
	all, _ := fs.ReadDir(w.root.FS(), ".")
	for _, e := range all {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// ended reports whether a process has ended; it is not known while the process begins.
func (w *workFiles) ended(name string) (dead, known bool) {
	f, err := w.openFile(name + "/" + workLock)
	if err != nil {
		return false, false
	}
	defer f.Close()
	err = platform.Lock(f, false)
	return err == nil, err == nil || errors.Is(err, platform.ErrLocked)
}

// openFile opens a file of this account's for reading.
func (w *workFiles) openFile(path string) (*os.File, error) {
	f, err := w.root.OpenFile(path, os.O_RDONLY|platform.NonBlock, 0)
	if err != nil {
		return nil, err
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() || !private(fi) {
		f.Close()
		return nil, errors.Join(err, fmt.Errorf("%s is not a file of this account", path))
	}
	return f, nil
}

// shares is what one server's tally has in the file.
type shares struct {
	turn  chan struct{} // taken by whoever writes, who owns what follows
	in    *workFiles
	at    map[string]int64 // the place of a class's count
	size  int64
	since atomic.Int64 // when the writing under way began, in ns; 0 for none
}

// publish writes what has changed of a server's tally. Nobody waits long for a disk: what could not
// be written in time stands in the file later.
func publish(where string) {
	if sharing.Load() == nil {
		return
	}
	sent.Lock()
	x := sent.by[where]
	sent.Unlock()
	if x == nil {
		return
	}
	if s := x.file.since.Load(); s != 0 && time.Now().UnixNano()-s > int64(writeAtMost) {
		return
	}
	t := time.NewTimer(writeAtMost)
	defer t.Stop()
	select {
	case x.file.turn <- struct{}{}:
	case <-t.C:
		return
	}
	x.file.since.Store(time.Now().UnixNano())
	done := make(chan struct{})
	go func() {
		if w := shared(); w != nil && w.write(where, x, numbersOn(where)) != nil {
			sent.Lock()
			x.anew = true // all of it next time
			sent.Unlock()
		}
		x.file.since.Store(0)
		<-x.file.turn
		close(done)
	}()
	select {
	case <-done:
	case <-t.C:
	}
}

// write brings the file of a server up to date.
func (w *workFiles) write(where string, x *tally, numbers []float64) error {
	s := &x.file
	path := w.own + "/" + where
	sent.Lock()
	anew := s.in != w || x.anew
	changed := x.changed
	if anew {
		changed = x.all()
	}
	x.changed, x.anew = map[string]uint64{}, false
	ids := make([]uint64, 0, len(x.ids))
	for id := range x.ids {
		ids = append(ids, id)
	}
	sent.Unlock()
	head := workHeadOf(numbers, ids)
	if anew {
		if s.in == w {
			w.room.Add(s.size - int64(workHead))
		}
		s.in, s.at, s.size = w, map[string]int64{}, int64(workHead)
		b := bytes.NewBuffer(head)
		for key, n := range changed {
			b.Write(w.record(s, key, n))
		}
		f, err := w.root.OpenFile(path+workPart, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(b.Bytes())
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		return w.root.Rename(path+workPart, path)
	}
	f, err := w.root.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for key, n := range changed { // before the head: when that is read, all that it counts is there
		at, ok := s.at[key]
		b := binary.LittleEndian.AppendUint64(nil, n)
		if !ok {
			at = s.size
			b = w.record(s, key, n)
		}
		if _, err := f.WriteAt(b, at); err != nil {
			return err
		}
	}
	_, err = f.WriteAt(head, 0)
	return err
}

// record makes that of a class and gives it a place; nothing when there is no room.
func (w *workFiles) record(s *shares, key string, n uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, n)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(key)))
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(key)))
	b = append(b, key...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	size := int64(len(b))
	if s.size+size > mostWork {
		return nil
	}
	if w.room.Add(-size) < 0 {
		w.room.Add(size)
		return nil
	}
	s.at[key] = s.size
	s.size += size
	return b
}

// forget removes the file of a server that is not counted any more.
func (w *workFiles) forget(where string, x *tally) {
	x.file.turn <- struct{}{}
	defer func() { <-x.file.turn }()
	if x.file.in == w {
		w.room.Add(x.file.size - int64(workHead))
		_ = w.root.Remove(w.own + "/" + where)
		x.file.in = nil
	}
}

func workHeadOf(numbers []float64, ids []uint64) []byte {
	b := make([]byte, 16, workHead)
	copy(b, workMagic)
	for _, v := range numbers {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	ids = ids[:min(len(ids), mostIDs)]
	b = binary.LittleEndian.AppendUint64(b, uint64(len(ids)))
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint64(b, id)
	}
	b = b[:workHead]
	binary.LittleEndian.PutUint64(b[8:], uint64(crc32.Update(workSeed, crc32.IEEETable, b[16:])))
	return b
}

// work is what the file of another process says.
type work struct {
	numbers []float64
	ids     []uint64
	keys    map[string]uint64 // nil when they were not asked for
}

// read returns what a process does on a server.
func (w *workFiles) read(name, where string, classes bool) (x work, err error) {
	f, err := w.openFile(name + "/" + where)
	if err != nil {
		return x, err
	}
	defer f.Close()
	most := int64(workHead)
	if fi, err := f.Stat(); classes && err == nil {
		most = min(fi.Size(), mostWork)
	}
	for range 3 { // the head may be written just now
		b := make([]byte, most)
		n, err := f.ReadAt(b, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return x, err
		}
		if x, ok := parseWork(b[:n], classes); ok {
			return x, nil
		}
	}
	return x, fmt.Errorf("%s/%s: not what a dyno of this version writes", name, where)
}

func parseWork(b []byte, classes bool) (x work, ok bool) {
	if len(b) < workHead || string(b[:8]) != workMagic {
		return x, false
	}
	head, rest := b[:workHead], b[workHead:]
	if binary.LittleEndian.Uint64(head[8:]) != uint64(crc32.Update(workSeed, crc32.IEEETable, head[16:])) {
		return x, false
	}
	head = head[16:]
	next := func() uint64 {
		v := binary.LittleEndian.Uint64(head)
		head = head[8:]
		return v
	}
	for range workNumbers {
		x.numbers = append(x.numbers, math.Float64frombits(next()))
	}
	for range min(next(), mostIDs) {
		x.ids = append(x.ids, next())
	}
	if !classes {
		return x, true
	}
	x.keys = map[string]uint64{}
	for len(rest) >= workRecord {
		n, size := binary.LittleEndian.Uint64(rest), int(binary.LittleEndian.Uint32(rest[8:]))
		sum := binary.LittleEndian.Uint32(rest[12:])
		rest = rest[workRecord:]
		if size > len(rest) || crc32.ChecksumIEEE(rest[:size]) != sum { // it is being written
			break
		}
		x.keys[string(rest[:size])] += n
		rest = rest[min((size+7)/8*8, len(rest)):]
	}
	return x, true
}

// others is what the other processes of the account have done on a server, those that have ended
// included.
type others struct {
	mu      sync.Mutex
	in      *workFiles
	read    time.Time
	by      map[string]*other
	classes classes
	total   []float64 // by counted
	sends   float64

	// Of those that live.
	burst, per                      []float64
	pending, unasked, live, working float64
	ids                             map[uint64]bool
}

// other is a process as it was read last.
type other struct {
	work
	over bool // it has ended, and nothing will come
}

// look reads what the other processes do on a server.
func (o *others) look(where string, classes bool) {
	w := shared()
	if w == nil {
		return
	}
	if o.in != w {
		o.in, o.by, o.total = w, map[string]*other{}, make([]float64, len(counted))
	}
	n := len(counted)
	o.burst, o.per = make([]float64, n), make([]float64, n)
	o.pending, o.unasked, o.live, o.working, o.ids = 0, 0, 0, 0, map[uint64]bool{}
	names := w.processes()
	for name := range o.by {
		if !slices.Contains(names, name) {
			delete(o.by, name)
		}
	}
	for _, name := range names {
		x := o.by[name]
		if name == w.own || x != nil && x.over {
			continue
		}
		dead, known := w.ended(name) // before it is read: nothing comes after that
		if !known {
			continue
		}
		now, err := w.read(name, where, classes || dead)
		if x == nil && (err == nil || dead) {
			x = &other{work: work{numbers: make([]float64, workNumbers), keys: map[string]uint64{}}}
			o.by[name] = x
		}
		if err == nil {
			o.take(x, now)
		}
		if x == nil {
			continue
		}
		p := x.split()
		if dead {
			for i := range o.total { // as of a session that broke
				if p.of > 0 {
					o.total[i] += math.Round(p.seen[i] / p.of * p.pending)
				}
			}
			*x = other{over: true}
			continue
		}
		for i := range n {
			o.burst[i], o.per[i] = max(o.burst[i], p.burst[i]), max(o.per[i], p.per[i])
		}
		o.pending, o.unasked = o.pending+p.pending, o.unasked+p.unasked
		o.live, o.working = o.live+p.live, o.working+p.working
		for _, id := range x.ids {
			o.ids[id] = true
		}
	}
	o.read = time.Now()
}

// take adds what has come since a process was read last.
func (o *others) take(x *other, now work) {
	grown := func(now, before float64) float64 {
		if now < before { // it counts anew
			return now
		}
		return now - before
	}
	was := x.split()
	keys := x.keys
	if now.keys != nil {
		for k, n := range now.keys {
			o.classes.add(k, uint64(grown(float64(n), float64(keys[k]))))
		}
		keys = now.keys
	}
	x.work = now
	x.keys = keys
	is := x.split()
	for i := range o.total {
		o.total[i] += grown(is.total[i], was.total[i])
	}
	o.sends += grown(is.sends, was.sends)
}

// split names the numbers of a process.
func (x *other) split() (p struct {
	total, burst, seen, per                    []float64
	of, pending, unasked, sends, live, working float64
},
) {
	n, v := len(counted), x.numbers
	p.total, p.burst, p.seen, p.per, v = v[:n], v[n:2*n], v[2*n:3*n], v[3*n:4*n], v[4*n:]
	p.of, p.pending, p.unasked, p.sends, p.live, p.working = v[0], v[1], v[2], v[3], v[4], v[5]
	return p
}

// footprintRest are the numbers of a footprint that are not by counted.
const footprintRest = 6

// numbersOn returns what this process's footprint on a server holds, in the order of split.
func numbersOn(where string) []float64 {
	footprints.Lock()
	f := footprints.by[where]
	footprints.Unlock()
	if f == nil {
		return make([]float64, workNumbers)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Concat(f.total, f.burst, f.seen, f.per,
		[]float64{f.of, float64(f.pending), float64(f.unasked), float64(f.sends), float64(f.live), float64(f.working)})
}
