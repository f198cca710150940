package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of what is read of another machine.
const (
	mostFile   = 1 << 20 // bytes of one answer
	mostBatch  = 8 << 20 // bytes of all answers of one request
	mostWanted = 4000    // files that are read in one go
	// batchTime is how long the machine may take to answer; then the channel is given up and another one is opened.
	batchTime = 5 * time.Second
	// openTime is how long opening a channel may take.
	openTime = 15 * time.Second
	// forgetAfter is how long a file that was read again and again is remembered without being read.
	forgetAfter = time.Minute
	retryLeast  = 2 * time.Second
	retryMost   = time.Minute
	// retryNoShell is how long an account is left alone that has run something else than a shell for noShellTries
	// times: each try runs that. Within it only a new connection to the machine is tried.
	retryNoShell = time.Hour
	noShellTries = 3
	// freshFor is how long after it was asked for what a turn has read still counts as now.
	freshFor = 2500 * time.Millisecond
)

// errNoShell says that what an account runs there is no shell.
var errNoShell = errors.New("the account may not run a shell there")

// renewed is a channel that knows the connection it belongs to: Renewed is closed when there is another one.
type renewed interface{ Renewed() <-chan struct{} }

// ErrSlow says that the other machine has not answered in time.
var ErrSlow = fmt.Errorf("the machine has not answered in time: %w", context.DeadlineExceeded)

// Remote reads the files of another machine through a POSIX shell there, which needs cat, ls, readlink, df, grep and
// nothing else, is started by open and ends with the channel. It writes nothing there. Requests and answers are text:
// one line of commands, and their output between marks that no file can hold. What is read in each turn comes in one
// round trip: Remote remembers which files were read, and how far apart. It is safe for concurrent use.
type Remote struct {
	open func(ctx context.Context) (io.ReadWriteCloser, error)
	ctx  context.Context // until Close
	stop context.CancelFunc

	asking sync.Mutex // held while the channel is used
	ch     *channel
	fails  int
	next   time.Time // no attempt before
	err    error     // why the last one failed
	// An account without a shell gets none before, unless again is closed; nil is not.
	noShell time.Time
	again   <-chan struct{}

	mu     sync.Mutex
	turn   map[string]answer // what this turn has read, by request
	uses   map[string]use    // of requests
	flight chan struct{}     // closed when the files of the turn are there; nil when they are not on their way
	down   error             // why the files of this turn are not there
	began  time.Time         // the turn
	taken  bool              // somebody has asked for the turn since its files came
	used   RemoteUsage
}

// RemoteUsage is what reading another machine has taken since the Remote was made.
type RemoteUsage struct {
	Trips     uint64
	Sent, Got uint64 // bytes
}

type answer struct {
	text []byte
	err  error
}

type use struct {
	last time.Time
	gap  time.Duration // between the last two; 0 for none
}

// NewRemote returns a Remote that opens its channel when it is first needed. What is written to the channel are
// commands of a shell, what is read is their output.
func NewRemote(open func(ctx context.Context) (io.ReadWriteCloser, error)) *Remote {
	r := &Remote{open: open, turn: map[string]answer{}, uses: map[string]use{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Close ends the channel, also while an answer is waited for.
func (r *Remote) Close() {
	r.stop()
	r.asking.Lock()
	defer r.asking.Unlock()
	if r.ch != nil {
		r.ch.Close()
		r.ch = nil
	}
	r.next = time.Now().Add(24 * time.Hour)
	r.err = os.ErrClosed
}

// Usage returns what has been taken so far.
func (r *Remote) Usage() RemoteUsage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// Begin begins a turn: the files that it will read, as far as they are known, are asked for without waiting. While
// those of the turn before are on their way, or have come too late for it and are not old, they are this turn's.
func (r *Remote) Begin() {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flight != nil || !r.taken && now.Sub(r.began) < freshFor {
		return
	}
	r.began, r.taken = now, false
	var due []string
	for req, u := range r.uses {
		switch {
		case now.Sub(u.last) > max(forgetAfter, 3*u.gap):
			delete(r.uses, req)
		case now.Sub(u.last) >= u.gap-u.gap/8 && len(due) < mostWanted:
			due = append(due, req)
		}
	}
	slices.Sort(due)
	done := make(chan struct{})
	r.flight = done
	go func() {
		got, err := r.askNow(due)
		if err == nil && len(due) > 0 && time.Since(now) > freshFor { // nobody knows when it was read
			got, err = map[string]answer{}, ErrSlow
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.turn, r.down, r.flight = got, err, nil
		for req, a := range got {
			if ofProcess(req[1:]) && errors.Is(a.err, os.ErrNotExist) {
				delete(r.uses, req) // it has ended
			}
		}
		close(done)
	}()
}

// ofProcess reports whether a path is that of a file of a process.
func ofProcess(path string) bool {
	rest, ok := strings.CutPrefix(path, "/proc/")
	return ok && rest != "" && '0' <= rest[0] && rest[0] <= '9'
}

// FS waits for the files of the turn and returns them; those that were not foreseen are asked for when they are read,
// within ctx. The error is ErrSlow when they are still on their way at the end of ctx: they are then of a later turn.
func (r *Remote) FS(ctx context.Context) (FS, error) {
	r.mu.Lock()
	flight := r.flight
	r.mu.Unlock()
	if flight != nil {
		select {
		case <-flight:
		case <-ctx.Done():
			return FS{}, ErrSlow
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = true
	if r.down != nil {
		return FS{}, r.down
	}
	return FS{Files: &remoteFiles{r: r, ctx: ctx}}, nil
}

// ask is askNow for a caller who has until the end of ctx. What comes later is lost, and is asked for in the next turn.
func (r *Remote) ask(ctx context.Context, requests []string) (map[string]answer, error) {
	if ctx.Err() != nil {
		return nil, ErrSlow
	}
	type result struct {
		got map[string]answer
		err error
	}
	done := make(chan result, 1)
	go func() {
		got, err := r.askNow(requests)
		done <- result{got, err}
	}()
	select {
	case x := <-done:
		return x.got, x.err
	case <-ctx.Done():
		return nil, ErrSlow
	}
}

// askNow sends requests in one round trip and returns the answers.
func (r *Remote) askNow(requests []string) (map[string]answer, error) {
	r.asking.Lock()
	defer r.asking.Unlock()
	ctx := r.ctx
	if r.ch == nil {
		if now := time.Now(); now.Before(r.next) || now.Before(r.noShell) && !closed(r.again) {
			return map[string]answer{}, r.err
		}
		if err := r.connect(ctx); err != nil {
			r.failed(err)
			return map[string]answer{}, err
		}
	}
	got, err := r.ch.ask(ctx, requests)
	r.mu.Lock()
	r.used.Trips++
	r.used.Sent, r.used.Got = r.used.Sent+r.ch.sent, r.used.Got+r.ch.got
	r.mu.Unlock()
	r.ch.sent, r.ch.got = 0, 0
	if err != nil {
		r.ch.Close() // what it says next belongs to an earlier question
		r.ch = nil
		r.failed(err)
		return map[string]answer{}, err
	}
	r.fails = 0
	return got, nil
}

func (r *Remote) failed(err error) {
	r.fails = min(r.fails+1, 6)
	now := time.Now()
	r.err, r.next, r.noShell = err, now.Add(min(retryLeast<<(r.fails-1), retryMost)), time.Time{}
	if errors.Is(err, errNoShell) && r.fails >= noShellTries {
		r.noShell = now.Add(retryNoShell)
	}
}

// closed reports whether a channel is; nil is not.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (r *Remote) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	rwc, err := r.open(ctx)
	if err != nil {
		return err
	}
	r.again = nil
	if x, ok := rwc.(renewed); ok {
		r.again = x.Renewed()
	}
	c := &channel{rwc: rwc, mark: "dyno-" + rand.Text()}
	c.answers = make(chan []byte, 64)
	c.ended = make(chan struct{})
	go c.read()
	if err := c.hello(ctx); err != nil {
		c.Close()
		return err
	}
	r.ch = c
	return nil
}

// channel is a shell on the other machine.
type channel struct {
	rwc       io.ReadWriteCloser
	mark      string // ends each answer; nobody there has seen it before
	boot      []byte // the boot id, which parts the files of one answer
	answers   chan []byte
	ended     chan struct{}
	err       error // why it ended
	rest      []byte
	sent, got uint64
}

func (c *channel) read() {
	defer close(c.ended)
	for {
		b := make([]byte, 32<<10)
		n, err := c.rwc.Read(b)
		if n > 0 {
			select {
			case c.answers <- b[:n]:
			case <-time.After(2 * batchTime):
				c.err = errors.New("unexpected output of the shell")
				return
			}
		}
		if err != nil {
			c.err = err
			return
		}
	}
}

// Close ends the shell there.
func (c *channel) Close() { c.rwc.Close() }

// run sends one line of commands and returns what they print.
func (c *channel) run(ctx context.Context, commands string) ([]byte, error) {
	line := commands + "\nprintf '%s\\n' '" + c.mark + "'\n"
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(c.rwc, line)
		wrote <- err
	}()
	c.sent += uint64(len(line))
	end := []byte(c.mark + "\n")
	out, seen := c.rest, 0
	for {
		// The mark may have come in two parts.
		if i := bytes.Index(out[max(0, seen-len(end)):], end); i >= 0 {
			i += max(0, seen-len(end))
			c.rest = slices.Clone(out[i+len(end):])
			return out[:i], nil
		}
		seen = len(out)
		if len(out) > mostBatch {
			return nil, fmt.Errorf("the machine answers with more than %d MB", mostBatch>>20)
		}
		select {
		case b := <-c.answers:
			c.got += uint64(len(b))
			out = append(out, b...)
		case <-c.ended:
			select {
			case b := <-c.answers:
				c.got += uint64(len(b))
				out = append(out, b...)
				continue
			default:
			}
			return out, fmt.Errorf("the shell has ended: %w", c.err)
		case <-ctx.Done():
			return nil, ErrSlow
		}
	}
}

// bootID is a file that is the same as long as the machine runs, and is in no other.
const bootID = "/proc/sys/kernel/random/boot_id"

// hello finds out whether a shell answers, and whether its machine shows what is read.
func (c *channel) hello(ctx context.Context) error {
	// What the account's own start files print comes before.
	out, err := c.run(ctx,
		"LC_ALL=C; export LC_ALL; PATH=/usr/bin:/bin:/usr/sbin:/sbin:$PATH; exec 2>/dev/null; set -f; b="+bootID)
	if err != nil {
		said := strings.TrimSpace(string(out))
		if len(said) > 200 {
			said = said[:200] + "…"
		}
		if errors.Is(err, ErrSlow) {
			return err
		}
		if said != "" {
			return fmt.Errorf("%w (%q): %w", errNoShell, said, err)
		}
		return fmt.Errorf("%w: %w", errNoShell, err)
	}
	if out, err = c.run(ctx, "cat "+bootID+" </dev/null"); err != nil {
		return err
	}
	if c.boot = slices.Clone(out); len(c.boot) != 37 {
		return errors.New("no Linux /proc on that machine")
	}
	return nil
}

// Requests are a letter and a path.
const (
	readFile = "f"
	listDir  = "d"
	countDir = "n"
	readLink = "l"
	realPath = "p"
	roomOf   = "s"
	// Only the lines of sockets that listen, see proc_net(5): there may be a hundred thousand others.
	listenTCP  = "t"
	listenUnix = "u"
	serverIDs  = "x"
	// These are for finding the server, and not foreseen.
	onlyLooking = listenTCP + listenUnix + serverIDs
)

// ask sends requests: files are read by one cat, the others by a command each.
func (c *channel) ask(ctx context.Context, requests []string) (map[string]answer, error) {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	var b strings.Builder
	var files, others []string
	for _, q := range requests {
		if q[:1] == readFile {
			files = append(files, q)
		} else {
			others = append(others, q)
		}
	}
	got := make(map[string]answer, len(requests))
	// A command line has a bound.
	const most = 1000
	groups := slices.Collect(slices.Chunk(files, most))
	for _, g := range groups {
		b.WriteString("cat --")
		for _, q := range g {
			b.WriteByte(' ')
			b.WriteString(quote(q[1:]))
			b.WriteString(" $b")
		}
		fmt.Fprintf(&b, " </dev/null 2>&1; printf '%%s\\n' '%s.'\n", c.mark)
	}
	for _, q := range others {
		p := quote(q[1:])
		b.WriteString("{ ")
		switch q[:1] {
		case listDir:
			b.WriteString("ls -1 -- " + p)
		case countDir:
			b.WriteString("ls -1 -- " + p + " >/dev/null && ls -1 -- " + p + " | wc -l")
		case readLink:
			b.WriteString("readlink -- " + p + " || cat -- " + p)
		case realPath:
			b.WriteString("readlink -f -- " + p + " || cat -- " + p)
		case roomOf:
			b.WriteString("df -P -k -- " + p)
		case listenTCP:
			b.WriteString("grep ' 0A ' " + p)
		case listenUnix:
			b.WriteString("grep ' 00010000 ' " + p)
		case serverIDs:
			// Builtins alone: there may be thousands of processes.
			b.WriteString("set +f; for d in /proc/[0-9]*; do n=; read -r n <$d/comm; case $n in " + q[1:] +
				") printf '%s\\n' ${d#/proc/};; esac; done 2>/dev/null; set -f")
		}
		fmt.Fprintf(&b, "; } </dev/null 2>&1; printf '%%s\\n' '%s.'\n", c.mark)
	}
	if b.Len() == 0 {
		return got, nil
	}
	out, err := c.run(ctx, strings.TrimSuffix(b.String(), "\n"))
	if err != nil {
		return nil, err
	}
	parts := bytes.Split(out, []byte(c.mark+".\n"))
	if len(parts) != len(groups)+len(others)+1 || len(parts[len(parts)-1]) != 0 {
		return nil, errors.New("malformed answer of the machine")
	}
	for i, g := range groups {
		texts := bytes.Split(parts[i], c.boot)
		if len(texts) != len(g)+1 {
			return nil, errors.New("malformed answer of the machine")
		}
		for k, q := range g {
			got[q] = answerOf(q[1:], texts[k])
		}
		// Some versions of cat say at their end what went wrong.
		for line := range strings.Lines(string(texts[len(g)])) {
			for _, q := range g {
				if strings.Contains(line, q[1:]+":") || strings.Contains(line, q[1:]+"'") {
					got[q] = answer{err: refusal(q[1:], line)}
				}
			}
		}
	}
	for i, q := range others {
		got[q] = answerOf(q[1:], parts[len(groups)+i])
	}
	return got, nil
}

// answerOf parts what was read from what the program said in its place, which begins with its name.
func answerOf(path string, text []byte) answer {
	last := text
	if i := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n'); i >= 0 {
		last = text[i+1:]
	}
	for _, line := range [][]byte{text, last} {
		for _, program := range []string{"cat: ", "ls: ", "df: ", "grep: ", "readlink: ", "sh: "} {
			if bytes.HasPrefix(line, []byte(program)) {
				return answer{err: refusal(path, string(line))}
			}
		}
	}
	if len(text) > mostFile {
		return answer{err: &os.PathError{
			Op: "read", Path: path, Err: fmt.Errorf("it has more than %d MB", mostFile>>20),
		}}
	}
	return answer{text: text}
}

// refusal turns what a program of the other machine says into an error.
func refusal(path, text string) error {
	err := errors.New(strings.TrimSpace(text))
	switch {
	case strings.Contains(text, "ermission denied"), strings.Contains(text, "peration not permitted"):
		err = os.ErrPermission
	case strings.Contains(text, "No such"):
		err = os.ErrNotExist
	case strings.Contains(text, "not supported"):
		err = errNotSupported
	}
	return &os.PathError{Op: "read", Path: path, Err: err}
}

// quote writes a path as one word of the shell.
func quote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// remoteFiles are the files of one turn.
type remoteFiles struct {
	r    *Remote
	ctx  context.Context
	want []string
	lost error // why an answer is missing; nil while the machine has answered all
}

func (x *remoteFiles) get(kind, file string) ([]byte, error) {
	if kind != serverIDs {
		file = path.Clean(file)
		if !path.IsAbs(file) || strings.ContainsAny(file, "\n\r\x00") || len(file) > 4096 {
			return nil, &os.PathError{Op: "read", Path: file, Err: os.ErrInvalid}
		}
	}
	q := kind + file
	x.r.mu.Lock()
	now := x.r.began
	if now.IsZero() {
		now = time.Now()
	}
	u := x.r.uses[q]
	if !u.last.IsZero() && now.Sub(u.last) > 50*time.Millisecond {
		u.gap = now.Sub(u.last).Round(time.Second)
	}
	if !strings.Contains(onlyLooking, kind) && (u.last.IsZero() || now.Sub(u.last) > 50*time.Millisecond) {
		u.last = now
		x.r.uses[q] = u
	}
	a, ok := x.r.turn[q]
	x.r.mu.Unlock()
	if ok {
		return a.text, a.err
	}
	ask := []string{q}
	for _, w := range x.want {
		if len(ask) < mostWanted && w != q {
			ask = append(ask, w)
		}
	}
	x.want = nil
	got, err := x.r.ask(x.ctx, ask)
	if err != nil {
		x.lost = err
		return nil, err
	}
	x.r.mu.Lock()
	maps.Copy(x.r.turn, got)
	x.r.mu.Unlock()
	a = got[q]
	return a.text, a.err
}

func (x *remoteFiles) Read(path string) ([]byte, error) { return x.get(readFile, path) }

func (x *remoteFiles) Names(dir string) ([]string, error) {
	b, err := x.get(listDir, dir)
	return strings.Fields(string(b)), err
}

func (x *remoteFiles) Count(dir string) (n int, err error) {
	b, err := x.get(countDir, dir)
	if err == nil {
		_, err = fmt.Sscan(string(b), &n)
	}
	return n, err
}

func (x *remoteFiles) Link(path string) (string, error) {
	b, err := x.get(readLink, path)
	return strings.TrimSuffix(string(b), "\n"), err
}

func (x *remoteFiles) Real(path string) (string, error) {
	b, err := x.get(realPath, path)
	return strings.TrimSuffix(string(b), "\n"), err
}

// Room reads the last line of df: name, blocks of 1024 bytes, used, available, share, mount.
func (x *remoteFiles) Room(path string) (total, avail uint64, err error) {
	b, err := x.get(roomOf, path)
	if err != nil {
		return 0, 0, err
	}
	all := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	w := bytes.Fields(all[len(all)-1])
	for i := range w { // a name may have blanks
		if i+3 < len(w) && bytes.HasSuffix(w[i+3], []byte("%")) && i > 0 {
			t, ok1 := number(w[i])
			a, ok2 := number(w[i+2])
			if ok1 && ok2 {
				return t << 10, a << 10, nil
			}
		}
	}
	return 0, 0, &os.PathError{Op: "get free space of", Path: path, Err: errors.New("df does not list it")}
}

func (x *remoteFiles) Want(paths ...string) {
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	for _, p := range paths {
		q := readFile + p
		if _, ok := x.r.turn[q]; !ok && len(x.want) < mostWanted {
			x.want = append(x.want, q)
		}
	}
}
