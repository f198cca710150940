package tunnel

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
	"unicode"
)

// lines keeps the last that ssh said.
type lines struct {
	mu   sync.Mutex
	n    int // of all lines so far
	text string
}

// read takes lines to the end of r.
func (l *lines) read(r io.Reader) {
	in := bufio.NewReaderSize(r, 4096)
	for {
		b, err := in.ReadSlice('\n')
		l.add(string(b))
		for errors.Is(err, bufio.ErrBufferFull) { // nothing that ssh has to say is that long
			_, err = in.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

func (l *lines) add(s string) {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(s, "?")))
	if s == "" || strings.HasPrefix(s, "Warning: Permanently added") || strings.HasPrefix(s, "** ") {
		// said of connections that work
		return
	}
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	l.text = s
}

// count returns how many lines were said.
func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// last returns the last line, "" when it is none of those after the first n.
func (l *lines) last(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n <= n {
		return ""
	}
	return l.text
}
