package api_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/program"
)

// trap is a server that greets as MySQL does, and keeps all that is said to it.
type trap struct {
	address string
	mu      sync.Mutex
	came    int
	heard   bytes.Buffer
}

const salt = "abcdefghijklmnopqrst"

func newTrap(t *testing.T) *trap {
	t.Helper()
	var l net.Listener
	var err error
	program.AsNobody(t, func() { l, err = net.Listen("tcp", "127.0.0.1:0") }) // servers of root's are trusted
	if err != nil {
		t.Fatal(err)
	}
	return trapOn(t, l)
}

func trapOn(t *testing.T, l net.Listener) *trap {
	x := &trap{address: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go x.serve(c)
		}
	}()
	t.Cleanup(func() { l.Close() })
	return x
}

func (x *trap) serve(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	x.mu.Lock()
	x.came++
	x.mu.Unlock()
	packet := func(n byte, body string) { _, _ = c.Write(append([]byte{byte(len(body)), 0, 0, n}, body...)) }
	packet(0, "\x0a9.7.4\x00\x01\x00\x00\x00"+salt[:8]+"\x00\x00\xa2\x21\x02\x00\x08\x00\x15"+strings.Repeat("\x00",
		10)+salt[8:]+"\x00mysql_native_password\x00")
	b := make([]byte, 4096)
	n, err := c.Read(b)
	if err != nil {
		return
	}
	x.mu.Lock()
	x.heard.Write(b[:n])
	x.mu.Unlock()
	packet(2, "\xff\x15\x04#28000no")
}

func (x *trap) told() (came int, heard string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.came, x.heard.String()
}

// proofOf is what a client that knows a password answers to the trap's greeting.
func proofOf(password string) string {
	one := sha1.Sum([]byte(password))
	two := sha1.Sum(one[:])
	three := sha1.Sum(append([]byte(salt), two[:]...))
	for i := range one {
		one[i] ^= three[i]
	}
	return string(one[:])
}

// lone is a `dyno serve` of root's without users and with secrets: a password in ~/.my.cnf and in its environment.
type lone struct {
	t         *testing.T
	home, url string
	said      *said
}

func serveAlone(t *testing.T, args ...string) *lone {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the program")
	}
	v := &lone{t: t, home: t.TempDir(), said: &said{}}
	v.write(".my.cnf", "[client]\nuser=root\npassword=implied7\n")
	if err := os.Mkdir(filepath.Join(v.home, "credentials"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(dyno, append([]string{"serve", "--listen", "127.0.0.1:0", "--discover=/nowhere", "--judge=0"},
		args...)...)
	c.Env = v.env()
	c.Stdout, c.Stderr = v.said, v.said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGINT)
		_ = c.Wait()
	})
	at := regexp.MustCompile(`(?m)answers on (\S+)\. Ctrl-C`)
	for end := time.Now().Add(patience); v.url == "" && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if m := at.FindStringSubmatch(v.said.String()); m != nil {
			v.url = m[1]
		}
	}
	if v.url == "" {
		t.Fatalf("no address is told:\n%s", v.said)
	}
	return v
}

func (v *lone) env() []string {
	return append(os.Environ(), "DYNO_HOME="+v.home, "HOME="+v.home, "DYNO_PASSWORD=", "MYSQL_PWD=implied8",
		"SHOP_TOKEN=foreign7", "DYNO_TARGET_SHOP=bound77")
}

func (v *lone) write(name, text string) string {
	v.t.Helper()
	path := filepath.Join(v.home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		v.t.Fatal(err)
	}
	return path
}

func (v *lone) dyno(args ...string) (string, error) {
	c := exec.Command(dyno, args...)
	c.Env = v.env()
	out, err := c.CombinedOutput()
	return string(out), err
}

// post asks as a client and returns the status and the text of the answer.
func (v *lone) post(c *http.Client, path string, body map[string]any) (int, string) {
	v.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		v.t.Fatal(err)
	}
	r, err := c.Post(v.url+base+path, "application/json", bytes.NewReader(b))
	if err != nil {
		v.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func (v *lone) get(c *http.Client, path string) (code int) {
	v.t.Helper()
	r, err := c.Get(v.url + path)
	if err != nil {
		v.t.Fatal(err)
	}
	defer r.Body.Close()
	return r.StatusCode
}

// TestStrangersOfThisMachineAreKeptOut: without users another account gets nothing, and what it would have Dyno send
// arrives nowhere.
func TestStrangersOfThisMachineAreKeptOut(t *testing.T) {
	v, x := serveAlone(t), newTrap(t)
	stranger := program.Stranger(t)
	for _, body := range []map[string]any{{"url": "mysql://" + x.address}, {
		"url":          "mysql://" + x.address,
		"password_env": "SHOP_TOKEN",
	}} {
		code, text := v.post(stranger, "/target/check", body)
		if code != http.StatusUnauthorized || !strings.Contains(text, "dyno user add") {
			t.Errorf("as nobody, %v: %d %s", body, code, text)
		}
	}
	if code, text := v.post(stranger, "/user/add", map[string]any{
		"name": "eve", "role": "operator",
		"password": "three green bottles 7",
	}); code != http.StatusUnauthorized {
		t.Errorf("a stranger adds the first user: %d %s", code, text)
	}
	if code := v.get(stranger, "/metrics"); code != http.StatusUnauthorized {
		t.Errorf("a stranger reads: %d", code)
	}
	if came, heard := x.told(); came != 0 {
		t.Errorf("%d connections arrived and said %q", came, heard)
	}
	if code := v.get(http.DefaultClient, "/metrics"); code != http.StatusOK { // the same account is let in
		t.Errorf("Dyno's own account: %d", code)
	}
}

// TestSecretsStayWhereTheyBelong: what an operator asks for over HTTP sends no secret to a server that it was not kept
// for.
func TestSecretsStayWhereTheyBelong(t *testing.T) {
	v, x, other := serveAlone(t), newTrap(t), newTrap(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mine := trapOn(t, l)
	secrets := []string{"implied7", "implied8", "foreign7", "bound77", "kept777", "file777"}
	outside := v.write("outside.cnf", "[client]\nuser=dba\npassword=kept777\n")
	v.write("credentials/shop.cnf", "[client]\nuser=dba\npassword=file777\nhost=127.0.0.1\nport="+
		strings.TrimPrefix(mine.address, "127.0.0.1:")+"\n")
	// The owner's own word at the command line says where the file's password goes.
	if out, err := v.dyno("target", "add", "kept", "mysql://"+other.address, "--from-defaults", outside); err == nil ||
		!strings.Contains(out, "kept stays in the inventory") {
		// the other end lets nobody in
		t.Fatalf("%v\n%s", err, out)
	}
	check := func(want int, why string, body map[string]any) {
		t.Helper()
		for _, path := range []string{"/target/check", "/target/add"} {
			if path == "/target/add" {
				if body["url"] == nil {
					continue
				}
				body["name"] = "evil"
				body["replace"] = true
			}
			code, text := v.post(http.DefaultClient, path, body)
			if want == 0 && code >= 300 || want != 0 && code != want || !strings.Contains(text, why) {
				t.Errorf("%s %v: %d %s, want %d with %q", path, body, code, text, want, why)
			}
			if want == 0 && path == "/target/add" { // and what the watching of it sends
				v.post(http.DefaultClient, "/target/check", map[string]any{"name": "evil"})
				v.post(http.DefaultClient, "/target/remove", map[string]any{"name": "evil"})
			}
		}
	}
	url := "mysql://" + x.address
	check(0, "", map[string]any{"url": url})
	check(400, "DYNO_TARGET_", map[string]any{"url": url, "password_env": "SHOP_TOKEN"})
	check(400, "verify-full", map[string]any{"url": url, "password_env": "DYNO_TARGET_SHOP"})
	check(400, "credentials", map[string]any{"url": url, "defaults_file": filepath.Join(v.home, ".my.cnf")})
	check(400, "credentials", map[string]any{"url": url, "defaults_file": v.home + "/credentials/../.my.cnf"})
	check(400, "credentials", map[string]any{"url": url, "defaults_file": "/no/such/file"})
	check(400, "verify-full", map[string]any{"url": url, "defaults_file": outside})
	check(400, "verify-full", map[string]any{"url": "mysql://" + other.address, "defaults_file": "shop.cnf"})
	check(400, "ssl-ca", map[string]any{"url": url + "/?tls=verify-full&ssl-ca=" + outside, "defaults_file": outside})
	check(400, "ssh", map[string]any{"url": "mysql://db1/?ssh=ssh://root@127.0.0.1:1"})
	check(404, "", map[string]any{"name": url}) // a URL is no name
	for _, path := range []string{"/diagnose", "/apply"} {
		if code, text := v.post(http.DefaultClient, path, map[string]any{"target": url, "finding": "f-1"}); path ==
			"/apply" && code < 400 {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	// A file that names its server goes there, and nowhere else.
	code, text := v.post(http.DefaultClient, "/target/check", map[string]any{
		"url":           "mysql://" + mine.address,
		"defaults_file": "shop.cnf",
	})
	if code != http.StatusOK {
		t.Errorf("a file in its place: %d %s", code, text)
	}
	_, heard := mine.told()
	_, others := x.told()
	for _, s := range secrets {
		if strings.Contains(heard, proofOf(s)) != (s == "file777") || strings.Contains(others, proofOf(s)) {
			t.Errorf("%s: the server that it was not kept for, or not the one that it was, got it: %q %q", s, heard,
				others)
		}
	}
	if !strings.Contains(heard, "dba") {
		t.Error("the file's user does not arrive at the server that the file names")
	}
	if _, heard := other.told(); strings.Contains(heard, proofOf("file777")) {
		t.Errorf("the file's password went elsewhere: %q", heard)
	}
}

// TestSetPasswords sets passwords over HTTP: each goes to the address that it was given for and nowhere else, none
// comes back, and none outlives its target.
func TestSetPasswords(t *testing.T) {
	own := func() *trap { // newTrap's are of another account, which gets no password at all
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return trapOn(t, l)
	}
	v, here, other := serveAlone(t), own(), own()
	const first, second = "set-first-7", "set-second-7"
	files := func() (all []string) {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(v.home, "credentials", "kept", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	post := func(path string, want int, why string, body map[string]any) {
		t.Helper()
		code, text := v.post(http.DefaultClient, path, body)
		if code != want || !strings.Contains(text, why) || strings.Contains(text, first) ||
			strings.Contains(text, second) {
			t.Errorf("%s: %d %s, want %d with %q and no password", path, code, text, want, why)
		}
	}
	at := func(x *trap) string { return "mysql://dba@" + x.address + "/" }
	post("/target/password", 404, "", map[string]any{"name": "nobody", "password": first})
	post("/target/password", 400, "needed", map[string]any{"name": "shop", "url": at(here), "password": ""})
	post("/target/password", 400, "user", map[string]any{"name": "shop", "url": "mysql://" +
		here.address, "password": first})
	post("/target/password", 400, "ssh", map[string]any{
		"name": "shop", "url": at(here) + "?ssh=ssh://root@127.0.0.1:1",
		"password": first,
	})
	post("/target/password", 200, `"name":"shop"`, map[string]any{"name": "shop", "url": at(here), "password": first})
	post("/target/check", 200, "", map[string]any{"name": "shop"})
	if all := files(); len(all) != 1 {
		t.Fatalf("kept are %q", all)
	} else if st, err := os.Stat(all[0]); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	} else {
		// The same file is for that place alone.
		for _, body := range []map[string]any{{"name": "shop", "replace": true}, {"name": "evil"}} {
			body["url"], body["defaults_file"] = at(other), all[0]
			post("/target/add", 400, "not stored for", body)
		}
	}
	if _, heard := here.told(); !strings.Contains(heard, proofOf(first)) {
		t.Errorf("the password does not arrive: %q", heard)
	}
	was := files()[0]
	post("/target/password", 200, "", map[string]any{"name": "shop", "url": at(other), "password": second})
	post("/target/check", 200, "", map[string]any{"name": "shop"})
	if all := files(); len(all) != 1 || all[0] == was {
		t.Errorf("after another password there are %q", all)
	}
	if _, heard := other.told(); strings.Contains(heard, proofOf(first)) || !strings.Contains(heard, proofOf(second)) {
		t.Errorf("the new address got %q", heard)
	}
	if _, heard := here.told(); strings.Contains(heard, proofOf(second)) {
		t.Errorf("the old address got the new password: %q", heard)
	}
	post("/target/remove", 200, "", map[string]any{"name": "shop"})
	if all := files(); len(all) != 0 {
		t.Errorf("without a target there are %q", all)
	}
	for _, secret := range []string{first, second} {
		if out, err := exec.Command("grep", "-r", "-a", "-l", secret, v.home).CombinedOutput(); err == nil {
			t.Errorf("a password is still in %s", out)
		}
	}
}
