package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"golang.org/x/sys/unix"
)

// patience is how long something is waited for: machines that run tests may be slow and busy.
const patience = 2 * time.Minute

// Terminal is a pseudo-terminal with a program in it and, at its other end, just enough of an xterm to know what its
// user sees. A control sequence that it does not know fails the test.
type Terminal struct {
	t    testing.TB
	ptm  *os.File
	cmd  *exec.Cmd
	dead chan struct{} // closed when the program has ended
	err  error         // how

	mu      sync.Mutex
	w, h    int
	cells   [][]string // "" is the right half of a wide character
	x, y    int
	top     int // scroll region
	bottom  int
	alt     bool
	wraps   bool // the next character begins a line
	last    string
	cleared int // how often the whole screen was erased
	colour  bool
	hidden  bool
	raw     bytes.Buffer // all that was written
	timing  bytes.Buffer // when, as scriptreplay(1) reads it
	wrote   time.Time
	rest    []byte // the beginning of a sequence or character
	unknown []string
}

// Start runs the program in a new terminal of w×h cells, at its standard input too unless that is set. It is killed
// with the test.
func Start(t testing.TB, w, h int, cmd *exec.Cmd) *Terminal {
	t.Helper()
	ptm, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var pts *os.File
	err = control(ptm, func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
		return err
	})
	if err == nil {
		pts, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	v := &Terminal{t: t, ptm: ptm, cmd: cmd, dead: make(chan struct{}), wrote: time.Now()}
	v.Resize(w, h)
	if cmd.Stdin == nil {
		cmd.Stdin = pts
	}
	cmd.Stdout, cmd.Stderr = pts, pts
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 32<<10)
		for {
			n, err := ptm.Read(b)
			v.write(b[:n])
			if err != nil { // EIO: nobody has the other end open any more
				return
			}
		}
	}()
	go func() {
		v.err = cmd.Wait()
		pts.Close()
		<-read // all that it wrote has been seen
		close(v.dead)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-v.dead
		ptm.Close()
		v.record()
		if len(v.unknown) > 0 {
			t.Errorf("control sequences that an xterm may not know: %q", v.unknown)
		}
	})
	return v
}

// record keeps the session in the directory that DYNO_TEST_RECORDINGS names: scriptreplay -t NAME.timing
// NAME.typescript shows it.
func (v *Terminal) record() {
	dir := os.Getenv("DYNO_TEST_RECORDINGS")
	if dir == "" {
		return
	}
	first := filepath.Join(dir, strings.ReplaceAll(v.t.Name(), "/", "-"))
	name := first
	for n := 2; ; n++ { // a test may use several terminals
		if _, err := os.Stat(name + ".typescript"); err != nil {
			break
		}
		name = first + "-" + strconv.Itoa(n)
	}
	// scriptreplay passes over the first line
	err := os.WriteFile(name+".typescript", append([]byte("Script started\n"), v.raw.Bytes()...), 0o644)
	if err == nil {
		err = os.WriteFile(name+".timing", v.timing.Bytes(), 0o644)
	}
	if err != nil {
		v.t.Error(err)
	}
}

func control(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// Resize gives the terminal another size; the program gets SIGWINCH.
func (v *Terminal) Resize(w, h int) {
	v.t.Helper()
	v.mu.Lock()
	old := v.cells
	v.w, v.h, v.top, v.bottom = w, h, 0, h-1
	v.cells = nil
	for y := range h {
		v.cells = append(v.cells, slices.Repeat([]string{" "}, w))
		if y < len(old) {
			copy(v.cells[y], old[y])
		}
	}
	v.x, v.y = min(v.x, w-1), min(v.y, h-1)
	v.mu.Unlock()
	if err := control(v.ptm, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(h), Col: uint16(w)})
	}); err != nil {
		v.t.Fatal(err)
	}
}

// Type sends keys.
func (v *Terminal) Type(s string) {
	v.t.Helper()
	if _, err := io.WriteString(v.ptm, s); err != nil {
		v.t.Fatal(err)
	}
}

// Signal sends the program a signal.
func (v *Terminal) Signal(s syscall.Signal) {
	v.t.Helper()
	if err := v.cmd.Process.Signal(s); err != nil {
		v.t.Fatal(err)
	}
}

// Text returns what is seen, a line each, without blanks at their ends.
func (v *Terminal) Text() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var b strings.Builder
	for _, l := range v.cells {
		b.WriteString(strings.TrimRight(strings.Join(l, ""), " ") + "\n")
	}
	return b.String()
}

// Until waits for something to be seen and returns all that is seen then.
func (v *Terminal) Until(what string, ok func(text string) bool) string {
	v.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		dead := false
		select {
		case <-v.dead:
			dead = true
		default:
		}
		s := v.Text()
		switch {
		case ok(s):
			return s
		case dead:
			v.t.Fatalf("%s is not seen, the program has ended (%v):\n%s\n%q", what, v.err, s, v.tail())
		case time.Now().After(end):
			v.t.Fatalf("%s is not seen:\n%s", what, s)
		}
	}
}

// Sees is Until for a text.
func (v *Terminal) Sees(text string) string {
	v.t.Helper()
	return v.Until(strconv.Quote(text), func(s string) bool { return strings.Contains(s, text) })
}

// Ended waits for the program's end and returns how it ended.
func (v *Terminal) Ended() error {
	v.t.Helper()
	select {
	case <-v.dead:
	case <-time.After(patience):
		v.t.Fatalf("the program does not end:\n%s", v.Text())
	}
	return v.err
}

// Modes is what a program has made of its terminal.
type Modes struct {
	Alternate bool // it has a screen of its own
	Hidden    bool // no cursor is seen
	Coloured  bool // something was drawn in colour
	Raw       bool // keys are not echoed and come one by one
	Cleared   int  // how often the whole screen was erased: each time is a flicker
}

// Modes returns what the program has made of the terminal by now.
func (v *Terminal) Modes() Modes {
	v.t.Helper()
	v.mu.Lock()
	m := Modes{Alternate: v.alt, Hidden: v.hidden, Coloured: v.colour, Cleared: v.cleared}
	v.mu.Unlock()
	if err := control(v.ptm, func(fd int) error {
		x, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			m.Raw = x.Lflag&(unix.ECHO|unix.ICANON) == 0
		}
		return err
	}); err != nil {
		v.t.Fatal(err)
	}
	return m
}

func (v *Terminal) tail() []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	b := v.raw.Bytes()
	return b[max(0, len(b)-2000):]
}

// write takes in what the program wrote.
func (v *Terminal) write(p []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	fmt.Fprintf(&v.timing, "%.6f %d\n", now.Sub(v.wrote).Seconds(), len(p))
	v.wrote = now
	v.raw.Write(p)
	b := append(v.rest, p...)
	v.rest = nil
	for len(b) > 0 {
		n := v.one(b)
		if n == 0 {
			v.rest = slices.Clone(b)
			return
		}
		b = b[n:]
	}
}

// one takes in one character or control sequence and returns its length, 0 when it is not complete.
func (v *Terminal) one(b []byte) int {
	switch c := b[0]; {
	case c == 0x1b:
		return v.escape(b)
	case c == '\r':
		v.x, v.wraps = 0, false
	case c == '\n':
		v.lineFeed()
	case c == '\b':
		v.x, v.wraps = max(0, v.x-1), false
	case c == '\t':
		v.x = min(v.w-1, (v.x/8+1)*8)
	case c < 0x20 || c == 0x7f:
		v.unknown = append(v.unknown, string(rune(c)))
	default:
		if !utf8.FullRune(b) {
			return 0
		}
		r, n := utf8.DecodeRune(b)
		v.put(string(r), width(r))
		return n
	}
	return 1
}

// width is how many cells a character takes.
func width(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	return lipgloss.Width(string(r))
}

func (v *Terminal) put(s string, width int) {
	if width == 0 {
		if v.x > 0 {
			v.cells[v.y][v.x-1] += s
		}
		return
	}
	if v.wraps || v.x+width > v.w {
		v.x, v.wraps = 0, false
		v.lineFeed()
	}
	v.cells[v.y][v.x] = s
	for i := 1; i < width; i++ {
		v.cells[v.y][v.x+i] = ""
	}
	v.x += width
	v.last = s
	if v.x >= v.w {
		v.x, v.wraps = v.w-1, true
	}
}

func (v *Terminal) lineFeed() {
	if v.y == v.bottom {
		v.scroll(v.top, 1)
	} else {
		v.y = min(v.y+1, v.h-1)
	}
}

// scroll moves the lines from top to the bottom of the region up, or down when n is less than 0.
func (v *Terminal) scroll(top, n int) {
	region := v.cells[top : v.bottom+1]
	for range min(max(n, -n), len(region)) {
		if n > 0 {
			copy(region, region[1:])
			region[len(region)-1] = slices.Repeat([]string{" "}, v.w)
		} else {
			copy(region[1:], region[:len(region)-1])
			region[0] = slices.Repeat([]string{" "}, v.w)
		}
	}
}

func (v *Terminal) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '[':
		i := 2
		for i < len(b) && b[i] >= 0x20 && b[i] < 0x40 {
			i++
		}
		if i == len(b) {
			return 0
		}
		v.csi(string(b[2:i]), b[i])
		return i + 1
	case ']', 'P': // titles and questions, up to BEL or ESC \
		for i := 2; i < len(b); i++ {
			if b[i] == 7 {
				return i + 1
			}
			if b[i] == 0x1b && i+1 < len(b) {
				return i + 2
			}
		}
		return 0
	case 'M':
		if v.y == v.top {
			v.scroll(v.top, -1)
		} else {
			v.y--
		}
	case '7', '8', '=', '>':
	default:
		v.unknown = append(v.unknown, string(b[:2]))
	}
	return 2
}

func (v *Terminal) csi(params string, final byte) {
	if strings.ContainsAny(params, "<>=") || strings.ContainsAny(params, "$ !") || final == 'n' || final == 'c' {
		return // keyboards, questions, the form of the cursor
	}
	if mode, ok := strings.CutPrefix(params, "?"); ok {
		switch {
		case final == 'u', mode == "5" && final == 'W': // keyboards, tabs every eight columns
		case final != 'h' && final != 'l':
			v.unknown = append(v.unknown, params+string(final))
		case mode == "1049":
			v.alt = final == 'h'
			v.erase(0, v.h)
		case mode == "25":
			v.hidden = final == 'l'
		}
		return
	}
	var ns []int
	for f := range strings.SplitSeq(params, ";") {
		n, err := strconv.Atoi(f)
		if err != nil && f != "" && final != 'm' {
			v.unknown = append(v.unknown, params+string(final))
			return
		}
		ns = append(ns, n)
	}
	arg := func(i int) int { // counts and places: 1 when left out
		if i < len(ns) && ns[i] > 0 {
			return ns[i]
		}
		return 1
	}
	n := arg(0)
	line := v.cells[v.y]
	if final != 'm' {
		v.wraps = false
	}
	switch final {
	case 'm':
		if strings.Contains(params, "38;") || strings.HasPrefix(params, "3") {
			v.colour = true
		}
	case 'H', 'f':
		v.y, v.x = min(n, v.h)-1, min(arg(1), v.w)-1
	case 'A':
		v.y = max(0, v.y-n)
	case 'B':
		v.y = min(v.h-1, v.y+n)
	case 'C':
		v.x = min(v.w-1, v.x+n)
	case 'D':
		v.x = max(0, v.x-n)
	case 'G', '`':
		v.x = min(n, v.w) - 1
	case 'd':
		v.y = min(n, v.h) - 1
	case 'I':
		v.x = min(v.w-1, (v.x/8+n)*8)
	case 'Z':
		v.x = max(0, (v.x-1)/8-n+1) * 8
	case 'K':
		from, to := v.x, v.w
		switch ns[0] {
		case 1:
			from, to = 0, v.x+1
		case 2:
			from = 0
		}
		for i := from; i < to; i++ {
			line[i] = " "
		}
	case 'J':
		switch ns[0] {
		case 0:
			if v.x == 0 && v.y == 0 {
				v.cleared++
			}
			for i := v.x; i < v.w; i++ {
				line[i] = " "
			}
			v.erase(v.y+1, v.h)
		case 2, 3:
			v.cleared++
			v.erase(0, v.h)
		default:
			v.unknown = append(v.unknown, params+"J")
		}
	case 'X':
		for i := v.x; i < min(v.w, v.x+n); i++ {
			line[i] = " "
		}
	case '@':
		copy(line[min(v.w, v.x+n):], slices.Clone(line[v.x:]))
		for i := v.x; i < min(v.w, v.x+n); i++ {
			line[i] = " "
		}
	case 'P':
		copy(line[v.x:], slices.Clone(line[min(v.w, v.x+n):]))
		for i := max(v.x, v.w-n); i < v.w; i++ {
			line[i] = " "
		}
	case 'L':
		v.scroll(v.y, -n)
	case 'M':
		v.scroll(v.y, n)
	case 'S':
		v.scroll(v.top, n)
	case 'T':
		v.scroll(v.top, -n)
	case 'b':
		for range n {
			v.put(v.last, lipgloss.Width(v.last))
		}
	case 'r':
		v.top, v.bottom = n-1, v.h-1
		if len(ns) > 1 && ns[1] > 0 {
			v.bottom = ns[1] - 1
		}
		v.x, v.y = 0, 0
	case 'u', 't', 'q':
	default:
		v.unknown = append(v.unknown, fmt.Sprintf("CSI %s%c", params, final))
	}
}

func (v *Terminal) erase(from, to int) {
	for y := from; y < to; y++ {
		v.cells[y] = slices.Repeat([]string{" "}, v.w)
	}
}
