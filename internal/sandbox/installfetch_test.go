package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// registry is a server of one file that can misbehave.
type registry struct {
	*httptest.Server
	body  []byte
	asked []string // the ranges asked for
	// answers the n-th request itself when it returns true
	before func(n int, w http.ResponseWriter, r *http.Request) bool
}

func serve(t *testing.T, body []byte) *registry {
	t.Helper()
	g := &registry{body: body}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.asked = append(g.asked, r.Header.Get("Range"))
		if g.before != nil && g.before(len(g.asked), w, r) {
			return
		}
		http.ServeContent(w, r, "", testTime, bytes.NewReader(g.body))
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *registry) remote() remote {
	sum := sha256.Sum256(g.body)
	return remote{
		url: g.URL + "/a/file.zip", bytes: int64(len(g.body)), hash: func() hash.Hash { return sha256.New() },
		sum: sum[:], pause: time.Millisecond, stall: time.Second,
	}
}

// cut answers with the head of a file as if it were all of it, then breaks the connection.
func cut(w http.ResponseWriter, body []byte, n int) bool {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body[:n])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func TestFetch(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	t.Run("whole", func(t *testing.T) {
		g, path := serve(t, body), filepath.Join(t.TempDir(), "f")
		var seen int64
		if err := fetch(context.Background(), newClient(), g.remote(), path, func(done, total int64) {
			if total != int64(len(body)) || done < seen {
				t.Errorf("%d of %d after %d", done, total, seen)
			}
			seen = done
		}); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, body) || seen != int64(len(body)) {
			t.Errorf("%d bytes, told of %d: %v", len(b), seen, err)
		}
	})
	none := func(done, total int64) {}
	good := func(name string, head int, before func(g *registry, n int, w http.ResponseWriter, r *http.Request) bool,
		ranges ...string,
	) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			g, path := serve(t, body), filepath.Join(t.TempDir(), "f")
			g.before = func(n int, w http.ResponseWriter, r *http.Request) bool { return before(g, n, w, r) }
			if head > 0 {
				if err := os.WriteFile(path, body[:head], 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := fetch(context.Background(), newClient(), g.remote(), path, none); err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, body) {
				t.Errorf("%d bytes: %v", len(b), err)
			}
			if got := strings.Join(g.asked, ","); got != strings.Join(ranges, ",") {
				t.Errorf("asked for %q, not %q", got, ranges)
			}
		})
	}
	half := len(body) / 2
	rest := fmt.Sprintf("bytes=%d-", half)
	good("goes on", half, func(*registry, int, http.ResponseWriter, *http.Request) bool { return false }, rest)
	good("is there", len(body), func(*registry, int, http.ResponseWriter, *http.Request) bool { return false })
	good("cut", 0, func(g *registry, n int, w http.ResponseWriter, _ *http.Request) bool {
		return n == 1 && cut(w, body, half)
	}, "", rest)
	good("stalls", 0, func(g *registry, n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 1 {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body[:half])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
		return n == 1
	}, "", rest)
	good("no ranges", half, func(g *registry, n int, w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write(body)
		return true
	}, rest)
	good("a range other", half, func(g *registry, n int, w http.ResponseWriter, _ *http.Request) bool {
		if n == 1 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 5-%d/%d", len(body)-1, len(body)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(body[5:])
		}
		return n == 1
	}, rest, "")
	good("busy", 0, func(g *registry, n int, w http.ResponseWriter, _ *http.Request) bool {
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return n == 1
	}, "", "")
	good("wrong once", 0, func(g *registry, n int, w http.ResponseWriter, _ *http.Request) bool {
		if n == 1 {
			_, _ = w.Write(bytes.ToUpper(body))
		}
		return n == 1
	}, "", "")

	bad := func(name string, requests int, says, hints string, answer func(w http.ResponseWriter, r *http.Request)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			g, path := serve(t, body), filepath.Join(t.TempDir(), "f")
			g.before = func(_ int, w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true }
			r := g.remote()
			r.url = strings.Replace(r.url, "http://", "http://me:hush@", 1) + "?key=hush"
			err := wrap("x", "", fetch(context.Background(), newClient(), r, path, none))
			var e *Error
			if !errors.Is(err, ErrFetch) || !errors.As(err, &e) || !strings.Contains(err.Error(), says) ||
				!strings.Contains(target.HintOf(err), hints) {
				t.Fatalf("%v", err)
			}
			if strings.Contains(err.Error()+target.HintOf(err), "hush") {
				t.Errorf("tells a secret: %v (%s)", err, target.HintOf(err))
			}
			if len(g.asked) != requests {
				t.Errorf("%d requests", len(g.asked))
			}
		})
	}
	bad("missing", 1, "404", "mirror", func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	bad("broken", fetchTries, "500", "HTTPS_PROXY", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	})
	bad("login", 1, "401", "login", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	})
	for code, n := range map[int]int{404: 1, 416: fetchTries} { // what a server calls a code moves no cursor
		bad(fmt.Sprint("words of ", code), n, `\x1b[2J`, "", func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "HTTP/1.1 %d \x1b[2J\r\nContent-Length: 0\r\n\r\n", code)
		})
	}
	bad("always wrong", 2, "checksum", "another network", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(bytes.ToUpper(body))
	})
	bad("too long", 1, "bytes, not", "", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", testTime, bytes.NewReader(append(body, 1)))
	})
	bad("endless", 1, "sends more than", "", func(w http.ResponseWriter, r *http.Request) {
		for range 2 {
			_, _ = w.Write(body)
			w.(http.Flusher).Flush()
		}
	})

	t.Run("stopped", func(t *testing.T) { // what came stays
		g, path := serve(t, body), filepath.Join(t.TempDir(), "f")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		g.before = func(n int, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body[:half])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return true
		}
		err := fetch(ctx, newClient(), g.remote(), path, func(done, _ int64) {
			if done == int64(half) {
				cancel()
			}
		})
		if fi, e := os.Stat(path); !errors.Is(err, context.Canceled) || e != nil || fi.Size() != int64(half) {
			t.Errorf("%v %v", err, fi)
		}
	})

	t.Run("login stays at its host", func(t *testing.T) {
		other := serve(t, body)
		leaked := ""
		other.before = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
			leaked = r.Header.Get("Authorization")
			return false
		}
		g, path := serve(t, body), filepath.Join(t.TempDir(), "f")
		sent := ""
		g.before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			sent = r.Header.Get("Authorization")
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/x", http.StatusFound)
			return true
		}
		r := g.remote()
		r.header = http.Header{"Authorization": {"Bearer hush"}}
		if err := fetch(context.Background(), newClient(), r, path, none); err != nil {
			t.Fatal(err)
		}
		if sent != "Bearer hush" || leaked != "" {
			t.Errorf("sent %q, and to the other host %q", sent, leaked)
		}
	})

	t.Run("no server", func(t *testing.T) {
		g, path := serve(t, body), filepath.Join(t.TempDir(), "f")
		g.Close()
		err := fetch(context.Background(), newClient(), g.remote(), path, none)
		if h := (hinted{}); !errors.Is(err, ErrFetch) || !errors.As(err, &h) ||
			!strings.Contains(h.Hint(), "HTTPS_PROXY") {
			t.Errorf("%v", err)
		}
	})
}

func TestContentRange(t *testing.T) {
	f := func(v string, start, whole int64, ok bool) {
		t.Helper()
		s, w, k := contentRange(v)
		if k != ok || ok && (s != start || w != whole) {
			t.Errorf("%q: %d %d %v", v, s, w, k)
		}
	}
	f("bytes 100-199/1000", 100, 1000, true)
	f("bytes 100-199/*", 100, 0, true)
	f("bytes */1000", 0, 0, false)
	f("bytes -5-9/10", 0, 0, false)
	f("bytes 100-199/50", 0, 0, false)
	f("items 1-2/3", 0, 0, false)
	f("", 0, 0, false)
}

// TestFetchFullDisk: a download leaves the reserve of a disk alone, whatever is sent.
func TestFetchFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts a small file system")
	}
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=300m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	body := make([]byte, 1<<20)
	f := func(what string, told bool) {
		t.Helper()
		g := serve(t, nil)
		g.before = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			if told {
				w.Header().Set("Content-Length", strconv.Itoa(400<<20))
			}
			for range 400 {
				if _, err := w.Write(body); err != nil {
					break
				}
			}
			return true
		}
		r := g.remote()
		r.bytes = 0
		file := filepath.Join(disk, "archive")
		err := fetch(t.Context(), newClient(), r, file, func(int64, int64) {})
		if !errors.Is(err, ErrNoSpace) {
			t.Errorf("%s: %v", what, err)
		}
		if fi, err := os.Stat(file); err == nil && fi.Size() > 0 {
			t.Errorf("%s: %d bytes are left", what, fi.Size())
		}
	}
	f("its size is told", true)
	f("its size is not told", false)
}
