//go:build bench

package bench

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// hostile is a server that wants to harm who reads it: it talks nonsense, talks slowly, never ends, and names files
// that hang or never end as its own.
type hostile struct {
	l    net.Listener
	fifo string // a pipe that nobody writes
	n    atomic.Int64
}

func startHostile(t *testing.T, fifo string) *hostile {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{l: l, fifo: fifo}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go h.serve(c)
		}
	}()
	return h
}

func (h *hostile) url() string { return fmt.Sprintf("mysql://root@%s/?tls=disabled", h.l.Addr()) }

func packet(seq byte, body string) []byte {
	return append([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), seq}, body...)
}

const (
	hostileGreeting = "\x0a8.0.36\x00\x01\x00\x00\x00abcdefgh\x00\xff\xf7\xff\x02\x00\x0f\x80\x15\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00abcdefghijkl\x00mysql_native_password\x00"
	hostileOK  = "\x00\x00\x00\x02\x00\x00\x00"
	hostileEOF = "\xfe\x00\x00\x02\x00"
)

// serve treats each connection in another way; three of four are let in.
func (h *hostile) serve(c net.Conn) {
	defer c.Close()
	n := h.n.Add(1)
	switch n % 8 {
	case 0: // a letter now and then
		for i := range hostileGreeting {
			if _, err := io.WriteString(c, hostileGreeting[i:i+1]); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
		return
	case 1: // nonsense, in the largest packet there is
		c.Write([]byte{0xff, 0xff, 0xff, 0})
		io.Copy(c, io.LimitReader(zeroes{}, 64<<20))
		return
	}
	c.Write(packet(0, hostileGreeting))
	if _, ok := receive(c); !ok {
		return
	}
	c.Write(packet(2, hostileOK))
	for {
		q, ok := receive(c)
		if !ok {
			return
		}
		if len(q) == 0 || q[0] != 3 { // no statement
			c.Write(packet(1, hostileOK))
			continue
		}
		if !h.answer(c, q[1:], n) {
			return
		}
	}
}

func receive(c net.Conn) (string, bool) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return "", false
	}
	b := make([]byte, binary.LittleEndian.Uint32([]byte{head[0], head[1], head[2], 0}))
	_, err := io.ReadFull(c, b)
	return string(b), err == nil
}

// answer answers a statement; not ok when the connection is of no more use.
func (h *hostile) answer(c net.Conn, q string, n int64) bool {
	words := strings.ToUpper(q)
	if !strings.HasPrefix(strings.TrimLeft(words, " (/*DYNO:ACLHSITREWB"), "SELECT") &&
		!strings.Contains(words, "SHOW") {
		_, err := c.Write(packet(1, hostileOK))
		return err == nil
	}
	columns, depth := 1, 0
	list, _, _ := strings.Cut(words, " FROM ")
	for _, r := range list {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			columns++
		}
	}
	var out []byte
	seq := byte(1)
	add := func(body string) { out = append(out, packet(seq, body)...); seq++ }
	columns = min(columns, 100)
	add(string(rune(columns)))
	for i := range columns {
		name := fmt.Sprint("c", i)
		add("\x03def\x00\x00\x00" + string(rune(len(name))) + name +
			"\x00\x0c\x21\x00\xff\xff\x00\x00\xfd\x00\x00\x00\x00\x00")
	}
	add(hostileEOF)
	row := ""
	for i := range columns {
		v := "1"
		switch part := strings.Split(words, ",")[min(i, strings.Count(words, ","))]; {
		case strings.Contains(part, "PID_FILE"):
			v = "/dev/zero"
		case strings.Contains(part, "LOG_FILE"):
			v = h.fifo
		case strings.Contains(part, "VERSION"):
			v = "8.0.36"
		case strings.Contains(part, "DATADIR"):
			v = "/"
		}
		row += string(rune(len(v))) + v
	}
	add(row)
	if n%8 == 2 && strings.Contains(words, "STATUS") || n%8 == 3 { // rows without end, for ten seconds
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
			for range 100 {
				add(row)
			}
			if _, err := c.Write(out); err != nil {
				return false
			}
			out = out[:0]
		}
		return false
	}
	if n%8 == 5 { // a result of 2^40 columns
		c.Write(packet(1, "\xfe\x00\x00\x00\x00\x00\x01\x00\x00"))
		return false
	}
	if n%8 == 4 { // half an answer
		c.Write(out[:len(out)/2])
		time.Sleep(20 * time.Second)
		return false
	}
	add(hostileEOF)
	_, err := c.Write(out)
	return err == nil
}
