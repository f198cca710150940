package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/store/access"
	"github.com/dyno-perf/dyno/test/program"
)

// serving answers on a listener with Serve until the test ends.
func serving(t *testing.T, h http.Handler, l net.Listener) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, h, nil) }()
	t.Cleanup(func() {
		stop()
		good(t, <-ended)
	})
}

func loopback(t *testing.T, h http.Handler) (address string) {
	t.Helper()
	l, err := Listen(t.Context(), "127.0.0.1:0", nil)
	good(t, err)
	serving(t, h, l)
	return l.Addr().String()
}

// received is an answer that was read.
type received struct {
	code         int
	body, cookie string
}

func answerOf(t *testing.T, c *http.Client, method, url, body string, headers ...string) received {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	good(t, err)
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.Host = cmp.Or(r.Header.Get("Host"), r.Host)
	w, err := c.Do(r)
	good(t, err)
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	good(t, err)
	x := received{code: w.StatusCode, body: string(b)}
	for _, c := range w.Cookies() {
		x.cookie = c.Name + "=" + c.Value
	}
	return x
}

// TestWithoutUsersOnlyTheOwnAccountIsLetIn: another account of this machine is told what to do, on every path that
// needs somebody.
func TestWithoutUsersOnlyTheOwnAccountIsLetIn(t *testing.T) {
	g := emptyServer(t, Guarding{})
	url := "http://" + loopback(t, g)
	stranger := program.Stranger(t)
	for _, p := range g.Paths() {
		method, path, _ := strings.Cut(p, " ")
		if reads[p] != "" && method == "POST" || open[p] || strings.Contains(path, "{") ||
			path == "/api/dyno/v1/stream" {
			continue
		}
		if w := answerOf(t, stranger, method, url+path, "{}"); w.code != 401 ||
			!strings.Contains(w.body, "dyno user add") {
			t.Errorf("%s: %d %s", p, w.code, w.body)
		}
	}
	if w := answerOf(t, http.DefaultClient, "GET", url+"/metrics", ""); w.code != 200 {
		t.Errorf("the own account: %d %s", w.code, w.body)
	}
	if w := answerOf(t, stranger, "GET", url+"/api/dyno/v1/session", ""); w.code != 200 ||
		!strings.Contains(w.body, `"link":true`) || strings.Contains(w.body, "1.2.3") {
		t.Errorf("who a stranger is: %d %s", w.code, w.body)
	}
}

// open are the paths that everybody may ask for.
var open = map[string]bool{
	"GET /-/healthy": true, "GET /-/ready": true, "GET /api/dyno/v1/session": true, "POST /api/dyno/v1/login": true,
	"POST /api/dyno/v1/login/token": true,
	"GET /api/dyno/v1/openapi.yaml": true,
}

// TestAClosedSocketIsNotRoots: the kernel tells of a socket that was closed that it is of account 0. Whoever sends a
// request and hangs up does not become root by it.
func TestAClosedSocketIsNotRoots(t *testing.T) {
	g := emptyServer(t, Guarding{})
	address := loopback(t, g)
	const n = 50
	for range n {
		c, err := program.DialAsNobody(t, "tcp", address)
		good(t, err)
		_, err = io.WriteString(c, "POST "+note+" HTTP/1.1\r\nHost: "+address+
			"\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n"+words)
		good(t, err)
		good(t, c.Close())
	}
	answerOf(t, http.DefaultClient, "GET", "http://"+address+"/-/healthy", "")
	all, err := g.store.Audit.List(t.Context(), 0, 100)
	good(t, err)
	if len(all) != 0 || len(g.world.notes(t)) != 0 {
		t.Errorf("%d notes, %+v", len(g.world.notes(t)), all)
	}
}

// TestTheLinkLogsIn: the first-run token alone, once, opens a session for a browser of another account, which changes
// things with its CSRF token and ends with the first user.
func TestTheLinkLogsIn(t *testing.T) {
	used := 0
	g := emptyServer(t, Guarding{Linked: func() { used++ }})
	url := "http://" + loopback(t, g)
	stranger := program.Stranger(t)
	token, err := g.store.FirstToken(t.Context())
	good(t, err)
	const path = "/api/dyno/v1/login/token"
	if w := answerOf(t, stranger, "POST", url+path, `{"token":"guess"}`); w.code != 401 {
		t.Fatalf("a guess: %d %s", w.code, w.body)
	}
	w := answerOf(t, stranger, "POST", url+path, `{"token":"`+token+`"}`)
	if w.code != 200 || w.cookie == "" || used != 1 {
		t.Fatalf("the link: %d %s, used %d times", w.code, w.body, used)
	}
	var me who
	unmarshal(t, []byte(w.body), &me)
	if me.Name != "local" || me.Role != access.Operator || me.CSRF == "" || me.LoginNeeded {
		t.Fatalf("%+v", me)
	}
	cookie := w.cookie
	f := func(want int, method, path, body string, headers ...string) {
		t.Helper()
		if w := answerOf(t, stranger, method, url+path, body, headers...); w.code != want {
			t.Errorf("%s: %d %s, want %d", path, w.code, w.body, want)
		}
	}
	f(401, "POST", path, `{"token":"`+token+`"}`)
	f(200, "GET", "/metrics", "", "Cookie", cookie)
	f(403, "POST", note, words, "Cookie", cookie)
	f(201, "POST", note, words, "Cookie", cookie, csrfHeader, me.CSRF)
	f(201, "POST", "/api/dyno/v1/user/add", `{"name":"anna","role":"operator","password":"`+pass+`"}`, "Cookie",
		cookie, csrfHeader, me.CSRF)
	f(401, "GET", "/metrics", "", "Cookie", cookie)
}

// TestASessionIsOfTheAccountThatOpenedIt: browsers send a cookie to every port of a host, so another account of this
// machine that listens on one of them gets it. It lets that account in nowhere, nor does what a proxy would say.
func TestASessionIsOfTheAccountThatOpenedIt(t *testing.T) {
	for _, o := range []Guarding{{}, {Hosts: []string{"dyno.example.org"}}} {
		g := guardedServer(t, o)
		address := loopback(t, g)
		_, port, err := net.SplitHostPort(address)
		good(t, err)
		stranger := program.Stranger(t)
		in := func(c *http.Client, headers ...string) string {
			t.Helper()
			w := answerOf(t, c, "POST", "http://"+address+"/api/dyno/v1/login", `{"name":"anna","password":"`+pass+`"}`,
				headers...)
			if w.code != 200 || w.cookie == "" {
				t.Fatalf("%d %s", w.code, w.body)
			}
			return w.cookie
		}
		f := func(want int, c *http.Client, cookie string, headers ...string) {
			t.Helper()
			if w := answerOf(t, c, "GET", "http://"+address+"/metrics", "",
				append(headers, "Cookie", cookie)...); w.code != want {
				t.Errorf("%d %s, want %d", w.code, w.body, want)
			}
		}
		mine, theirs := in(http.DefaultClient), in(stranger)
		f(200, http.DefaultClient, mine)
		f(401, stranger, mine)
		f(200, stranger, theirs)
		f(401, http.DefaultClient, theirs)
		if len(o.Hosts) == 0 {
			continue
		}
		outer := "dyno.example.org:" + port
		f(401, stranger, mine, "Host", outer)
		f(200, stranger, in(http.DefaultClient, "Host", outer), "Host", outer) // a proxy may change its account
	}
}

// TestTheLinkIsOfThisMachine: where others come the token adds the first operator, as before, and opens nothing
// without.
func TestTheLinkIsOfThisMachine(t *testing.T) {
	for _, o := range []Guarding{{Beyond: true}, {Hosts: []string{"dyno.example.org"}}} {
		g := emptyServer(t, o)
		token, err := g.store.FirstToken(t.Context())
		good(t, err)
		g.visitor(t).want(400, "POST", "/api/dyno/v1/login/token", `{"token":"`+token+`"}`)
	}
}

// TestALostFileLetsNobodyIn: not even the own account.
func TestALostFileLetsNobodyIn(t *testing.T) {
	g := guardedServer(t, Guarding{})
	path := g.store.Path()
	good(t, g.store.Close())
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	s, err := access.Open(t.Context(), path, access.Options{})
	good(t, err)
	g.access = s
	g.visitor(t).want(503, "GET", "/metrics", "")
	g.visitor(t).want(503, "POST", note, words)
	good(t, s.AddUser(t.Context(), "anna", access.Operator, pass))
	g.visitor(t).want(401, "GET", "/metrics", "")
	t.Cleanup(func() { s.Close() })
}

// TestSocketLetsInByItsMode: whoever may connect is let in, and others cannot connect.
func TestSocketLetsInByItsMode(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{dir, filepath.Dir(dir)} {
		// others reach the directory: the mode of the socket alone is what keeps them out
		good(t, os.Chmod(p, 0o711))
	}
	path := filepath.Join(dir, "s")
	at := func(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
		return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context,
			_, _ string,
		) (net.Conn, error) {
			return dial(ctx, "unix", path)
		}}}
	}
	own := at((&net.Dialer{}).DialContext)
	for mode, want := range map[fs.FileMode]bool{0o600: false, 0o666: true} {
		ctx, stop := context.WithCancel(t.Context())
		l, err := ListenSocket(ctx, path, mode)
		good(t, err)
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != mode {
			t.Fatalf("%v, %v", st.Mode(), err)
		}
		if _, err := ListenSocket(ctx, path, mode); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("twice: %v", err)
		}
		ended := make(chan error, 1)
		go func() { ended <- Serve(ctx, l, emptyServer(t, Guarding{}), nil) }()
		if w := answerOf(t, own, "GET", "http://localhost/metrics", ""); w.code != 200 {
			t.Errorf("the owner: %d %s", w.code, w.body)
		}
		c, err := program.DialAsNobody(t, "unix", path)
		if (err == nil) != want {
			t.Errorf("mode %v: a stranger gets %v", mode, err)
		}
		if err == nil {
			c.Close()
		}
		stop()
		good(t, <-ended)
	}
}

// TestASocketOpensNoOtherFile: what else the process makes while it opens a socket for many is not for them.
func TestASocketOpensNoOtherFile(t *testing.T) {
	old := syscall.Umask(0o022)
	t.Cleanup(func() { syscall.Umask(old) })
	dir := t.TempDir()
	file, stop, ended := filepath.Join(dir, "file"), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := os.WriteFile(file, nil, 0o666); err != nil {
				t.Error(err)
				return
			}
			if st, err := os.Stat(file); err != nil || st.Mode()&0o022 != 0 {
				t.Errorf("%v, %v", st.Mode(), err)
				return
			}
			os.Remove(file)
		}
	}()
	for range 2000 {
		l, err := ListenSocket(t.Context(), filepath.Join(dir, "s"), 0o666)
		good(t, err)
		good(t, l.Close())
	}
	close(stop)
	<-ended
}

// TestSocketTakesNoOthersPlace: what is left of one that nobody answers on is replaced; a file or a link is not
// touched.
func TestSocketTakesNoOthersPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	good(t, err)
	l.SetUnlinkOnClose(false)
	good(t, l.Close())
	x, err := ListenSocket(t.Context(), path, 0o600)
	good(t, err)
	good(t, x.Close())
	good(t, os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600))
	good(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "link")))
	good(t, os.Mkdir(filepath.Join(dir, "open"), 0o700))
	good(t, os.Chmod(filepath.Join(dir, "open"), 0o777))
	for name, why := range map[string]string{
		"file": "not a socket", "link": "not a socket",
		"open/s": "every user may write", "none/s": "no such file",
	} {
		if _, err := ListenSocket(t.Context(), filepath.Join(dir, name), 0o600); err == nil ||
			!strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(b, []byte("x")) {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := ListenSocket(t.Context(), "relative", 0o600); err == nil {
		t.Error("a relative path is taken")
	}
}

// TestOneCallerTakesNotAllConnections: an account that opens as many as it can leaves room for the others.
func TestOneCallerTakesNotAllConnections(t *testing.T) {
	address := loopback(t, emptyServer(t, Guarding{}))
	var all []net.Conn
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	closed := make(chan struct{}, maxConns+100)
	for range maxConns + 100 {
		c, err := program.DialAsNobody(t, "tcp", address)
		good(t, err)
		all = append(all, c)
		go func() {
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				closed <- struct{}{}
			}
		}()
	}
	for range len(all) - 2*maxConnsEach { // those before accounts are told apart, and as many of this one's
		select {
		case <-closed:
		case <-time.After(time.Minute):
			t.Fatalf("%d connections of one account are open", len(all)-len(closed))
		}
	}
	if w := answerOf(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, "GET", "http://"+address+
		"/metrics", ""); w.code != 200 {
		t.Errorf("%d", w.code)
	}
}

// TestStrangersDoNotTakeThePlacesOfTheOwnAccount: others, however many they are, leave places to Dyno's own account and
// to root.
func TestStrangersDoNotTakeThePlacesOfTheOwnAccount(t *testing.T) {
	l, err := Listen(t.Context(), "127.0.0.1:0", nil)
	good(t, err)
	defer l.Close()
	x := newConns(slog.New(slog.DiscardHandler))
	for i := range maxConns {
		x.take(&farConn{ip: net.IPv4(192, 0, 2, byte(i))})
	}
	accept := func(dial func(network, address string) (net.Conn, error)) net.Conn {
		c, err := dial("tcp", l.Addr().String())
		good(t, err)
		t.Cleanup(func() { c.Close() })
		far, err := l.Accept()
		good(t, err)
		t.Cleanup(func() { far.Close() })
		return far
	}
	x.take(accept(func(network, address string) (net.Conn, error) { return program.DialAsNobody(t, network, address) }))
	if n := len(x.all); n != maxConns-maxConnsOurs {
		t.Errorf("strangers have %d places", n)
	}
	if !x.take(accept(net.Dial)) {
		t.Error("no place is left to the own account")
	}
}

// farConn is a connection from elsewhere.
type farConn struct {
	net.Conn
	ip net.IP
}

func (c farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: c.ip} }
func (c farConn) LocalAddr() net.Addr  { return &net.TCPAddr{} }
func (c farConn) Close() error         { return nil }

// TestStrangersGiveWay: strangers from however many addresses keep nobody from connecting, and end no connection of who
// was let in.
func TestStrangersGiveWay(t *testing.T) {
	x := newConns(slog.New(slog.DiscardHandler))
	join := func(ip string) *farConn {
		c := &farConn{ip: net.ParseIP(ip)}
		x.context(t.Context(), c)
		if !x.take(c) {
			t.Fatalf("no place for %s among %d", ip, len(x.all))
		}
		return c
	}
	there := func(c *farConn) bool { _, ok := x.all[c]; return ok }
	anna := join("198.51.100.1")
	letIn := func(c *farConn, caller string) { x.peers[c].letIn.Store(&caller) }
	letIn(anna, "session anna")
	ben := join("198.51.100.2") // is about to log in
	for i := range 4 * maxConns {
		join(fmt.Sprintf("2001:db8:0:%x::1", i/10))
	}
	if !there(anna) || !there(ben) {
		t.Errorf("anna has a place: %v, ben: %v", there(anna), there(ben))
	}
	if n := len(x.all); n != maxConns-maxConnsOurs {
		t.Errorf("%d places are taken", n)
	}
	for i := range maxConns { // one each
		join(fmt.Sprintf("2001:db8:1:%x::1", i))
	}
	if !there(anna) {
		t.Error("anna has lost her place")
	}

	// Strangers at one address, as behind a proxy, leave room there for who is let in.
	x = newConns(slog.New(slog.DiscardHandler))
	anna = join("198.51.100.1")
	letIn(anna, "session anna")
	for i := range 2 * maxConnsEach {
		join("198.51.100.1")
		if i == maxConnsEach*3/2 {
			ben = join("198.51.100.1")
			letIn(ben, "session ben")
		}
	}
	if !there(anna) || !there(ben) || len(x.all) != maxConnsEach {
		t.Errorf("anna has a place: %v, ben: %v, of %d", there(anna), there(ben), len(x.all))
	}
	// So does one there who is let in and takes all.
	for c := range x.all {
		if c != net.Conn(anna) && c != net.Conn(ben) {
			letIn(c.(*farConn), "token robot")
		}
	}
	join("198.51.100.1")
	if !there(anna) || !there(ben) || len(x.all) != maxConnsEach {
		t.Errorf("anna has a place: %v, ben: %v, of %d", there(anna), there(ben), len(x.all))
	}

	// One caller who is let in at some addresses and takes all places gives way too, down to an eighth of all places.
	x = newConns(slog.New(slog.DiscardHandler))
	anna = join("198.51.100.1")
	letIn(anna, "session anna")
	var robots []*farConn
	for i := range maxConns - maxConnsOurs - 1 {
		c := join(fmt.Sprintf("203.0.113.%d", i/maxConnsEach))
		letIn(c, "token robot")
		robots = append(robots, c)
	}
	const keeps = maxConns / 8
	for i := range len(robots) - keeps {
		letIn(join(fmt.Sprintf("192.0.2.%d", i/maxConnsEach)), fmt.Sprint("session ", i))
	}
	if x.take(&farConn{ip: net.ParseIP("192.0.2.99")}) {
		t.Error("somebody who has no more than others has lost a place")
	}
	if gone := robots[len(robots)-keeps-1]; there(gone) || !there(robots[len(robots)-keeps]) || !there(anna) {
		t.Errorf("not the oldest of who has most have gone: anna has a place: %v", there(anna))
	}
}

// TestStreamsOfOneCaller: a viewer has some, the others the rest.
func TestStreamsOfOneCaller(t *testing.T) {
	g := guardedServer(t, Guarding{})
	address := loopback(t, g)
	follow := func(token string) (code int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+address+"/api/dyno/v1/stream", nil)
		good(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		w, err := http.DefaultClient.Do(r)
		good(t, err)
		t.Cleanup(func() { w.Body.Close() })
		return w.StatusCode
	}
	for range maxOwn {
		if code := follow(g.viewer); code != 200 {
			t.Fatalf("%d", code)
		}
	}
	if code := follow(g.viewer); code != 503 {
		t.Errorf("one too many: %d", code)
	}
	if code := follow(g.operator); code != 200 {
		t.Errorf("another caller: %d", code)
	}
}
