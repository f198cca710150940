package remotewrite

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/program"
)

// TestNoTokenForWhoeverListens: while a receiver of this machine is down, another account can take its port.
func TestNoTokenForWhoeverListens(t *testing.T) {
	t.Setenv("DYNO_TEST_TOKEN", "s3cret-token")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := Options{
		URL: "http://" + l.Addr().String() + "/api/v1/write", Cursor: filepath.Join(t.TempDir(), "cursor"),
		Bearer: Credential{Env: "DYNO_TEST_TOKEN"},
	}
	u, err := o.check()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(&o, u)
	if err != nil {
		t.Fatal(err)
	}
	f := func(accept func(do func())) (sent string, a answer) {
		t.Helper()
		done := make(chan answer, 1)
		go func() { done <- c.post(t.Context(), []byte("x")) }()
		var b bytes.Buffer
		accept(func() {
			peer, err := l.Accept()
			if err != nil {
				return
			}
			defer peer.Close()
			_ = peer.SetReadDeadline(time.Now().Add(time.Minute))
			_, _ = io.CopyN(&b, peer, 100)
			_, _ = peer.Write([]byte("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"))
		})
		return b.String(), <-done
	}
	if sent, a := f(func(do func()) { program.AsNobody(t, do) }); sent != "" || a.err == nil ||
		!strings.Contains(a.err.Error(), "user 65534 answers there") {
		t.Errorf("another account was sent %q: %v", sent, a.err)
	}
	if sent, a := f(func(do func()) { do() }); !strings.HasPrefix(sent, "POST ") || a.err != nil {
		t.Errorf("the own account was sent %q: %v", sent, a.err)
	}
}

// TestWordsOfAReceiver: what a receiver says in its status line is one short line for a log, too.
func TestWordsOfAReceiver(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.CopyN(io.Discard, c, 100)
			_, _ = io.WriteString(c, "HTTP/1.1 400 \x1b[2J"+strings.Repeat("x", 20_000)+
				"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			c.Close()
		}
	}()
	o := Options{URL: "http://" + l.Addr().String() + "/api/v1/write", Cursor: filepath.Join(t.TempDir(), "cursor")}
	u, err := o.check()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(&o, u)
	if err != nil {
		t.Fatal(err)
	}
	a := c.post(t.Context(), []byte("x"))
	if a.outcome != refused || len(a.err.Error()) > 1000 || strings.Contains(a.err.Error(), "\x1b") {
		t.Errorf("outcome %d, %d bytes: %.100q", a.outcome, len(a.err.Error()), a.err.Error())
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := func(text string, want time.Duration) {
		t.Helper()
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	f("", 0)
	f("soon", 0)
	f("-3", 0)
	f("7", 7*time.Second)
	f("99999", 5*time.Minute)
	f("Fri, 02 Jan 2026 03:04:35 GMT", 30*time.Second)
	f("Fri, 02 Jan 2026 03:04:00 GMT", 0)
}

func TestStale(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if got := stale(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	f("out of order sample", true)
	f("duplicate sample for timestamp", true)
	f("user=1: err: out-of-order sample (err-mimir-sample-out-of-order)", true)
	f("out of bounds", false) // it has not got them
	f("label name is invalid", false)
}

func TestPlain(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := plain([]byte(text)); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	f(" a\n\tb\x00\xff ", "a b ?")
	long := make([]byte, 1000)
	for i := range long {
		long[i] = 'x'
	}
	if got := plain(long); len(got) != 303 {
		t.Errorf("%d", len(got))
	}
}

// TestNoReceiverWritesToATerminal: what a receiver says, and what the program says of what it cannot read, is legible.
func TestNoReceiverWritesToATerminal(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := Options{URL: "http://" + l.Addr().String() + "/api/v1/write", Cursor: filepath.Join(t.TempDir(), "cursor")}
	u, err := o.check()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(&o, u)
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"HTTP/1.1 500 \x1b[2Jgone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\x1b[2Jgone\r\n\r\n",
	} {
		done := make(chan answer, 1)
		go func() { done <- c.post(t.Context(), []byte("x")) }()
		peer, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := http.ReadRequest(bufio.NewReader(peer)); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(peer, says)
		if err := (<-done).err; err == nil || strings.Contains(err.Error(), "\x1b") ||
			!strings.Contains(err.Error(), "[2Jgone") {
			t.Errorf("%q", err)
		}
		peer.Close()
	}
}
