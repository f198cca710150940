package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/dyno-perf/dyno/test/program"
	"github.com/dyno-perf/dyno/test/servers"
)

var dyno string

func TestMain(m *testing.M) { os.Exit(program.Main(m, &dyno)) }

const base = "/api/dyno/v1"

// patience is how long a fact is waited for: machines that run tests may be slow and busy.
const patience = 2 * time.Minute

// world is a `dyno serve` that watches a real server.
type world struct {
	t      *testing.T
	url    string
	home   string
	server *servers.Server
	said   *said
	doc    map[string]any
	client http.Client
}

// said keeps what the program says.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func play(t *testing.T) *world {
	t.Helper()
	return playIn(t, t.TempDir())
}

// playIn plays with a home that is there already.
func playIn(t *testing.T, home string) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server")
	}
	v := &world{t: t, home: home, server: servers.Start(t, "mariadb", "performance_schema=ON"), said: &said{}}
	v.client.Timeout = patience
	v.server.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
		"INSERT INTO shop.orders (v) SELECT seq FROM shop.orders RIGHT JOIN (SELECT 1 seq UNION SELECT 2) x ON TRUE")
	for _, a := range [][]string{
		{"target", "add", "shop", v.server.URL("root")},
		{"target", "add", "down", "mysql://nobody@127.0.0.1:1"},
		{"annotate", "begin", "--target", "shop"},
	} {
		if out, err := v.dyno(a...); err != nil {
			t.Fatalf("%v: %v\n%s", a, err, out)
		}
	}
	c := exec.Command(dyno, "serve", "--listen", "127.0.0.1:0", "--discover=/nowhere", "--judge=0")
	c.Env, c.Stdout, c.Stderr = v.env(), v.said, v.said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Signal(syscall.SIGINT)
		done := make(chan error, 1)
		go func() { done <- c.Wait() }()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("dyno serve ended with %v:\n%s", err, v.said)
			}
		case <-time.After(patience):
			c.Process.Kill()
			t.Errorf("dyno serve does not end:\n%s", v.said)
		}
	})
	at := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	v.until("an address", func() error {
		if v.url = at.FindString(v.said.String()); v.url == "" {
			return fmt.Errorf("it says %q", v.said)
		}
		return nil
	})
	r, err := v.client.Get(v.url + base + "/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 200 {
		t.Fatalf("%d, %v", r.StatusCode, err)
	}
	var plain any
	if err := yaml.Unmarshal(b, &plain); err != nil {
		t.Fatal(err)
	}
	j, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(j, &v.doc); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *world) env() []string {
	return append(os.Environ(), "DYNO_HOME="+v.home, "HOME="+v.home)
}

// dyno runs the program on the home and returns what it prints.
func (v *world) dyno(args ...string) (string, error) {
	c := exec.Command(dyno, args...)
	c.Env = v.env()
	out, err := c.CombinedOutput()
	return string(out), err
}

func (v *world) until(what string, ok func() error) {
	v.t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = ok(); err == nil {
			return
		}
	}
	v.t.Fatalf("%s: %v", what, err)
}

// up waits until shop was read: until then it is told of it that it was not.
func (v *world) up() {
	v.t.Helper()
	v.until("shop is read", func() error {
		m, _ := v.ask(v.find("/targets"), nil, "", "").json.(map[string]any)
		list, _ := m["targets"].([]any)
		for _, x := range list {
			if x := x.(map[string]any); x["name"] == "shop" && x["up"] == true {
				return nil
			}
		}
		return fmt.Errorf("%v", m)
	})
}

// operation is one path and method of the document.
type operation struct {
	method, path string
	about        map[string]any
}

func (v *world) operations() (all []operation) {
	for p, x := range v.doc["paths"].(map[string]any) {
		for m, o := range x.(map[string]any) {
			all = append(all, operation{strings.ToUpper(m), p, o.(map[string]any)})
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return all
}

// params returns the parameters of the query, by name.
func (o operation) params() map[string]map[string]any {
	all := map[string]map[string]any{}
	list, _ := o.about["parameters"].([]any)
	for _, p := range list {
		if x := p.(map[string]any); x["in"] == "query" {
			all[x["name"].(string)] = x
		}
	}
	return all
}

// body returns the schema of what is sent, nil for nothing.
func (o operation) body() map[string]any {
	x, ok := o.about["requestBody"].(map[string]any)
	if !ok {
		return nil
	}
	return x["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)
}

// answer is what came.
type answer struct {
	code int
	body []byte
	json any
}

// ask sends a request and holds the answer to the document: never a failure of the server's, a status that is told,
// JSON of the form that is told.
func (v *world) ask(o operation, query url.Values, body, media string) answer {
	v.t.Helper()
	target := v.url + o.path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, o.method, target, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	what := fmt.Sprintf("%s %s?%.200s %.200s", o.method, o.path, query.Encode(), body)
	got, err := v.client.Do(r)
	if err != nil {
		v.t.Errorf("%s: %v", what, err)
		return answer{}
	}
	defer got.Body.Close()
	a := answer{code: got.StatusCode}
	kind, _, _ := mime.ParseMediaType(got.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return a // it does not end
	}
	if a.body, err = io.ReadAll(got.Body); err != nil {
		v.t.Errorf("%s: %v", what, err)
		return a
	}
	down := query.Get("target") == "down" || strings.Contains(body, `"down"`)
	if a.code >= 500 && !(a.code == http.StatusServiceUnavailable && down) { // a server that is down is told so
		v.t.Errorf("%s: %d %.300s", what, a.code, a.body)
	}
	told, ok := o.about["responses"].(map[string]any)[strconv.Itoa(a.code)].(map[string]any)
	if !ok {
		v.t.Errorf("%s: the status %d is not documented: %.300s", what, a.code, a.body)
		return a
	}
	if ref, ok := told["$ref"].(string); ok {
		told = v.doc["components"].(map[string]any)["responses"].(map[string]any)[ref[strings.LastIndexByte(ref,
			'/')+1:]].(map[string]any)
	}
	form, ok := told["content"].(map[string]any)[kind].(map[string]any)
	if !ok {
		v.t.Errorf("%s: %d with %q is not documented", what, a.code, kind)
		return a
	}
	if kind == "application/json" {
		d := json.NewDecoder(bytes.NewReader(a.body))
		d.UseNumber()
		if err := d.Decode(&a.json); err != nil {
			v.t.Errorf("%s: %v in %.300s", what, err, a.body)
		} else if err := fits(v.doc, form["schema"].(map[string]any), a.json, ""); err != nil {
			v.t.Errorf("%s: %v", what, err)
		}
	}
	return a
}

// first returns a member of the first element of a list of an answer, "" for none.
func (a answer) first(list, member string) string {
	m, _ := a.json.(map[string]any)
	l, _ := m[list].([]any)
	if len(l) == 0 {
		return ""
	}
	x, _ := l[0].(map[string]any)
	s, _ := x[member].(string)
	return s
}

func (v *world) find(path string) operation {
	v.t.Helper()
	for _, o := range v.operations() {
		if o.path == base+path && o.method == "GET" {
			return o
		}
	}
	v.t.Fatalf("there is no %s", path)
	return operation{}
}

// post sends a change, which must be answered with a status.
func (v *world) post(path string, body any, want int) answer {
	v.t.Helper()
	for _, o := range v.operations() {
		if o.path == base+path && o.method == "POST" {
			sent := encode(v.t, body)
			a := v.ask(o, nil, sent, "application/json")
			if a.code != want {
				v.t.Errorf("POST %s %s: %d %.300s", path, sent, a.code, a.body)
			}
			return a
		}
	}
	v.t.Fatalf("there is no POST %s", path)
	return answer{}
}

// task starts one and waits until it is done. It returns its id and what it left.
func (v *world) task(path string, body any) (id, result string) {
	v.t.Helper()
	id, _ = v.post(path, body, 202).json.(map[string]any)["id"].(string)
	v.until(path+" is done", func() error {
		m, _ := v.ask(v.find("/task"), url.Values{"id": {id}}, "", "").json.(map[string]any)
		switch m["state"] {
		case "done":
			result, _ = m["result"].(string)
			return nil
		case "failed":
			v.t.Fatalf("%s: %v", path, m)
		}
		return fmt.Errorf("%v", m)
	})
	return id, result
}

// TestAnswersFitTheDocument asks every path for what is there, and holds each answer to its schema.
func TestAnswersFitTheDocument(t *testing.T) {
	v := play(t)
	shop := url.Values{"target": {"shop"}}
	db := v.server.DB(t, "shop")
	class := ""
	v.until("a class", func() error {
		for i := range 50 {
			if _, err := db.Exec("SELECT v FROM orders WHERE id > " + strconv.Itoa(i)); err != nil {
				return err
			}
		}
		a := v.ask(v.find("/classes"), shop, "", "")
		if class = a.first("classes", "id"); class == "" {
			return fmt.Errorf("%s", a.body)
		}
		return nil
	})
	type m map[string]any
	id, diagnosis := v.task("/diagnose", m{"target": "shop", "window": 3})
	v.post("/apply", m{"target": "shop", "finding": "f-none"}, 404)
	v.post("/apply", m{"target": "shop", "finding": "f-none", "execute": true, "confirm": "x"}, 404)
	v.post("/target/check", m{"name": "shop"}, 200)
	v.post("/target/check", m{"name": "down"}, 200)
	v.post("/target/add", m{"name": "more", "url": "mysql://u@127.0.0.1:1"}, 201)
	v.post("/target/remove", m{"name": "more"}, 200)
	v.post("/annotate", m{"text": "here", "target": "shop"}, 201)
	given := map[string]string{
		"target": "shop", "id": diagnosis, "name": "", "task": "watch", "flavor": "mysql",
		"panel": "", "kind": "", "schema": "shop", "user": "dyno", "limit": "5", "lines": "1", "points": "30",
		"step": "", "compare": "60", "full": "1", "with": "", "scale": "", "before": "",
	}
	for _, o := range v.operations() {
		if o.method != "GET" {
			continue
		}
		q := url.Values{}
		for name := range o.params() {
			if s := given[name]; s != "" {
				q.Set(name, s)
			}
		}
		ok := []int{200}
		switch strings.TrimPrefix(o.path, base) {
		case "/class":
			q.Set("id", class)
		case "/recipe":
			q.Set("name", v.ask(v.find("/recipes"), nil, "", "").first("recipes", "name"))
		case "/task":
			q.Set("id", id)
		case "/deltas":
			q.Set("from", "-3s") // it is hardly watched yet
		case "/change", "/experiment", "/run", "/deadlock", "/incident":
			// nothing of these is there; TestWhatWasDone and tests of the pages have some
			ok = []int{404}
		}
		if a := v.ask(o, q, "", ""); !slices.Contains(ok, a.code) {
			t.Errorf("GET %s?%s: %d %.300s", o.path, q.Encode(), a.code, a.body)
		}
	}
}

// TestHostileRequests sends what nobody should send.
func TestHostileRequests(t *testing.T) {
	v := play(t)
	v.up()
	texts := []string{
		"", " ", "nosuch", "\x00", "a\x00b", "\xff\xfe", "../../etc/passwd", "%00", "' OR 1=1 --", "\"; DROP TABLE x",
		"<script>alert(1)</script>", "\u202e\u2066", "null",
		"-1", "0", "1e309", "NaN", "-Inf", "99999999999999999999", "9223372036854775807", "1e18",
		"0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "292277026596-12-04T15:30:08Z", "now", "-1h", "1h", "5m",
		"1000000d", strings.Repeat("a", 5000), "shop,shop", "shop\n", "sandbox:x", "sandbox:../../x",
		"mysql://u:p@h", "unix:///etc/passwd",
	}
	values := []any{
		nil, true, 0, -1, 1e300, "", "x", "\x00",
		[]any{},
		map[string]any{},
		[]any{1},
		strings.Repeat("é", 3000),
	}
	for _, o := range v.operations() {
		if o.path == base+"/discover" || o.path == base+"/user/add" {
			// the one is slow, the other would ask for logins from then on
			continue
		}
		for name := range o.params() {
			for _, s := range texts {
				q := url.Values{"target": {"shop"}, "id": {"x"}, "task": {"watch"}, "flavor": {"mysql"}, "name": {"x"}}
				q.Set(name, s)
				v.ask(o, q, "", "")
			}
			v.ask(o, url.Values{name: {"shop", "shop"}}, "", "")
		}
		v.ask(o, url.Values{"unknown": {"1"}}, "", "application/json")
		if o.method != "POST" {
			continue
		}
		for _, b := range []string{
			"", " ", "{", "null", "[]", "1", `"x"`, "{}{}", "{}x", `{"unknown":1}`, "{}",
			strings.Repeat("[", 20000), strings.Repeat(`{"a":`, 20000), "\x00", "\xff", `{"name":"\ud800"}`,
			`{"target":"shop","target":"down"}`,
		} {
			v.ask(o, nil, b, "application/json")
			v.ask(o, nil, b, "application/json; charset=utf-8")
		}
		for _, m := range []string{
			"", "text/plain", "application/x-www-form-urlencoded",
			"multipart/form-data; boundary=x", "application/json-patch+json", "application/json;;",
		} {
			if a := v.ask(o, nil, "{}", m); a.code != 415 {
				t.Errorf("POST %s as %q: %d", o.path, m, a.code)
			}
		}
		if a := v.ask(o, nil, `{"name":"`+strings.Repeat("a", 2<<20)+`"}`, "application/json"); a.code != 413 {
			t.Errorf("POST %s of 2 MiB: %d", o.path, a.code)
		}
		props, _ := o.body()["properties"].(map[string]any)
		for name := range props {
			for _, x := range values {
				m := map[string]any{
					"name": "x", "id": "x", "target": "down", "url": "mysql://u@127.0.0.1:1",
					"text": "x",
				}
				for k := range m {
					if props[k] == nil {
						delete(m, k)
					}
				}
				m[name] = x
				v.ask(o, nil, encode(t, m), "application/json")
			}
			for _, s := range texts {
				v.ask(o, nil, encode(t, map[string]any{name: s}), "application/json")
			}
		}
	}
	if s := v.said.String(); strings.Contains(s, "panic") || strings.Contains(s, "runtime error") {
		t.Errorf("it says\n%s", s)
	}
	q := url.Values{"target": {"shop"}}
	v.until("it still watches", func() error {
		m, _ := v.ask(v.find("/state"), q, "", "").json.(map[string]any)
		if m["up"] != true {
			return fmt.Errorf("%v", m)
		}
		return nil
	})
}

func encode(t *testing.T, x any) string {
	t.Helper()
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestNoPasswordIsTaken: a password that is sent where none belongs is refused, and neither kept nor told.
func TestNoPasswordIsTaken(t *testing.T) {
	v := play(t)
	const secret = "hunter2hunter2"
	for _, o := range v.operations() {
		if o.path != base+"/target/add" && o.path != base+"/target/check" {
			continue
		}
		for _, body := range []string{
			`{"name":"x","url":"mysql://u:` + secret + `@127.0.0.1:1"}`,
			`{"name":"x","url":"unix:///s?user=u&password=` + secret + `"}`,
			`{"name":"x","url":"mysql://u@h","password":"` + secret + `"}`,
		} {
			a := v.ask(o, nil, body, "application/json")
			if a.code != 400 || bytes.Contains(a.body, []byte(secret)) {
				t.Errorf("%s %s: %d %s", o.path, body, a.code, a.body)
			}
		}
	}
	if strings.Contains(v.said.String(), secret) {
		t.Errorf("the password is in the log:\n%s", v.said)
	}
	out, err := exec.Command("grep", "-r", "-a", "-l", secret, v.home).CombinedOutput()
	if err == nil {
		t.Errorf("the password is kept in %s", out)
	}
}
