package load

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"time"
)

// tail keeps the end of what a command says on its standard error.
type tail struct {
	r, w *os.File
	mu   sync.Mutex
	buf  []byte
	mark chan struct{} // the marker has been read
	done chan struct{}
}

const tailBytes = 2000

// marker is written behind what a command has said, to know when all of it has been read.
var marker = []byte("\x00\x01end\x01\x00")

func newTail() (*tail, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	t := &tail{r: r, w: w, mark: make(chan struct{}, 1), done: make(chan struct{})}
	go t.read()
	return t, nil
}

func (t *tail) read() {
	defer close(t.done)
	var b [4096]byte
	for {
		n, err := t.r.Read(b[:])
		t.mu.Lock()
		t.buf = append(t.buf, b[:n]...)
		seen := bytes.HasSuffix(t.buf, marker)
		if seen {
			t.buf = t.buf[:len(t.buf)-len(marker)]
		}
		if n := len(t.buf) - tailBytes; n > 0 {
			t.buf = append(t.buf[:0], t.buf[n:]...)
		}
		t.mu.Unlock()
		if seen {
			select {
			case t.mark <- struct{}{}:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

// reset forgets what was said before.
func (t *tail) reset() {
	t.mu.Lock()
	t.buf = t.buf[:0]
	t.mu.Unlock()
}

// text returns the last lines that were said, in one.
func (t *tail) text() string {
	select {
	case <-t.mark:
	default:
	}
	if _, err := t.w.Write(marker); err == nil {
		select {
		case <-t.mark:
		case <-t.done:
		case <-time.After(time.Second): // something that outlived its group keeps on talking
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	const lines = 5
	all := strings.FieldsFunc(strings.ToValidUTF8(string(t.buf), "�"), func(r rune) bool {
		return r == '\n' || r == '\r'
	})
	if n := len(all) - lines; n > 0 {
		all = all[n:]
	}
	return strings.TrimSpace(strings.Join(all, "; "))
}

// close ends the reader, also when a process that got away still holds the other end.
func (t *tail) close() {
	t.w.Close()
	t.r.Close()
	<-t.done
}
