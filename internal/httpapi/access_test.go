package httpapi

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/store/access"
)

const (
	pass  = "three green bottles 7"
	other = "hanging on that wall 4"
)

// guarded is a server with the operator anna, the viewer ben, and a token of each role, on a clock that tests move.
type guarded struct {
	*Server
	world    *world
	store    *access.Store
	log      *log
	viewer   string // tokens
	operator string

	mu  sync.Mutex
	now time.Time
}

func (g *guarded) clock() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

func (g *guarded) pass(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = g.now.Add(d)
}

// log keeps what is logged.
type log struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func guardedServer(t *testing.T, o Guarding) *guarded {
	t.Helper()
	g := emptyServer(t, o)
	good(t, g.store.AddUser(t.Context(), "anna", access.Operator, pass))
	good(t, g.store.AddUser(t.Context(), "ben", access.Viewer, pass))
	for role, to := range map[access.Role]*string{access.Viewer: &g.viewer, access.Operator: &g.operator} {
		x, err := g.store.Tokens.Add(t.Context(), "the-"+string(role), role, "anna", time.Hour*24*30)
		good(t, err)
		*to = x.Secret
	}
	return g
}

// emptyServer has no users.
func emptyServer(t *testing.T, o Guarding) *guarded {
	t.Helper()
	g := &guarded{world: newWorld(t, Options{}), log: &log{}, now: time.Now()}
	s, err := access.Open(t.Context(), filepath.Join(t.TempDir(), "store", "access.db"), access.Options{Now: g.clock})
	good(t, err)
	t.Cleanup(func() { good(t, s.Close()) })
	g.store = s
	services := g.world.Services
	services.Access = s
	g.Server = New(services, Options{
		Version: "1.2.3", Guarding: o, Log: slog.New(slog.NewTextHandler(g.log, nil)),
		Page: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("the page"))
		}),
		PagePaths: []string{"/{$}", "/assets/"},
	})
	return g
}

func good(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// visitor is a browser: it keeps its cookie and its CSRF token.
type visitor struct {
	t      *testing.T
	h      http.Handler
	cookie *http.Cookie
	csrf   string
	host   string
	from   string
}

func (g *guarded) visitor(t *testing.T) *visitor {
	return &visitor{t: t, h: g, host: "127.0.0.1:9188", from: "192.0.2.9:4711"}
}

// ask sends a request as the page does; headers are name, value, name, value and replace what the page sends, "" leaves
// it out.
func (b *visitor) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = b.host, b.from
	r = ours(r)
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
		if b.csrf != "" {
			r.Header.Set(csrfHeader, b.csrf)
		}
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			r.Host = headers[i+1]
		case headers[i+1] == "":
			r.Header.Del(headers[i])
		default:
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, r)
	return w
}

// want sends a request and fails unless the answer has that status.
func (b *visitor) want(code int, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	w := b.ask(method, path, body, headers...)
	if w.Code != code {
		b.t.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, w.Code, w.Body, code)
	}
	if code >= 400 {
		problemOf(b.t, w)
	}
	return w
}

// problemOf reads an error and leaves it to be read again.
func problemOf(t *testing.T, w *httptest.ResponseRecorder) (p problem) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != "error" || p.Type == "" || p.Error == "" {
		t.Fatalf("%d %s is no error in JSON (%v)", w.Code, w.Body, err)
	}
	return p
}

func (b *visitor) login(name, password string) who {
	b.t.Helper()
	return b.entered(b.want(200, "POST", "/api/dyno/v1/login", `{"name":"`+name+`","password":"`+password+`"}`))
}

// entered takes what a login gave.
func (b *visitor) entered(w *httptest.ResponseRecorder) (me who) {
	b.t.Helper()
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		b.t.Fatalf("%d cookies", len(cookies))
	}
	unmarshal(b.t, w.Body.Bytes(), &me)
	b.cookie, b.csrf = cookies[0], me.CSRF
	return me
}

const (
	note  = "/api/dyno/v1/annotate"
	words = `{"text":"x"}`
)

func TestWithoutUsersThisMachineIsAnOperator(t *testing.T) {
	g := emptyServer(t, Guarding{})
	b := g.visitor(t)
	var me who
	unmarshal(t, b.want(200, "GET", "/api/dyno/v1/session", "").Body.Bytes(), &me)
	if me != (who{Name: "local", Role: "operator", Via: "local", Version: "1.2.3"}) {
		t.Fatalf("%+v", me)
	}
	b.want(200, "GET", "/metrics", "")
	b.want(201, "POST", note, words)
	b.want(409, "POST", "/api/dyno/v1/login", `{"name":"anna","password":"x"}`)
	b.want(409, "POST", "/api/dyno/v1/logout", `{}`)
	// The first user is added from here, and from then on a login is needed.
	b.want(400, "POST", "/api/dyno/v1/user/add", `{"name":"anna","role":"viewer","password":"`+pass+`"}`)
	b.want(201, "POST", "/api/dyno/v1/user/add", `{"name":"anna","role":"operator","password":"`+pass+`"}`)
	b.want(401, "GET", "/metrics", "")
	b.want(401, "POST", note, words)
	if me := b.login("anna", pass); me.Name != "anna" || me.Role != "operator" || me.Via != "session" ||
		!me.LoginNeeded || me.CSRF == "" || me.Version != "1.2.3" {
		t.Fatalf("%+v", me)
	}
	b.want(201, "POST", note, words)
	b.want(409, "POST", "/api/dyno/v1/user/remove", `{"name":"anna"}`)
}

// TestNobodyIsLetInBeyondThisMachine: without users, and even without a place for them.
func TestNobodyIsLetInBeyondThisMachine(t *testing.T) {
	for _, o := range []Guarding{{Beyond: true}, {Hosts: []string{"dyno.example.org"}}} {
		g := emptyServer(t, o)
		b := g.visitor(t)
		b.want(401, "GET", "/metrics", "")
		b.want(401, "POST", note, words)
		var me who
		unmarshal(t, b.want(200, "GET", "/api/dyno/v1/session", "").Body.Bytes(), &me)
		if me != (who{LoginNeeded: true, FirstRun: true}) {
			t.Fatalf("%+v", me)
		}
		if w := request(New(bare(), Options{Guarding: o}), "GET", "/metrics", ""); w.Code != 401 {
			t.Fatalf("got %d", w.Code)
		}
	}
}

func TestFirstRunToken(t *testing.T) {
	g := emptyServer(t, Guarding{Beyond: true})
	token, err := g.store.FirstToken(t.Context())
	good(t, err)
	b := g.visitor(t)
	const path = "/api/dyno/v1/login/token"
	b.want(401, "POST", path, `{"token":"guess","name":"eve","password":"`+pass+`"}`)
	b.want(400, "POST", path, `{"token":"`+token+`","name":"anna","password":"short"}`)
	b.want(400, "POST", path, `{"token":"`+token+`","name":"<b>","password":"`+pass+`"}`)
	b.want(403, "POST", path, `{"token":"`+token+`","name":"eve","password":"`+pass+`"}`,
		"Sec-Fetch-Site", "cross-site")
	b.want(415, "POST", path, `{"token":"`+token+`","name":"eve","password":"`+pass+`"}`, "Content-Type", "text/plain")
	if me := b.entered(b.want(200, "POST", path, `{"token":"`+token+`","name":"anna","password":"`+pass+
		`"}`)); me.Name != "anna" || me.Role != "operator" || me.FirstRun {
		t.Fatalf("%+v", me)
	}
	b.want(201, "POST", note, words)
	g.visitor(t).want(401, "POST", path, `{"token":"`+token+`","name":"eve","password":"`+pass+`"}`)
}

// TestReadOnlyAddsNoOperator: the first-run token would change something.
func TestReadOnlyAddsNoOperator(t *testing.T) {
	g := emptyServer(t, Guarding{Beyond: true, ReadOnly: true})
	token, err := g.store.FirstToken(t.Context())
	good(t, err)
	b := g.visitor(t)
	var me who
	unmarshal(t, b.want(200, "GET", "/api/dyno/v1/session", "").Body.Bytes(), &me)
	if me != (who{LoginNeeded: true, ReadOnly: true}) {
		t.Fatalf("%+v", me)
	}
	p := problemOf(t, b.want(403, "POST", "/api/dyno/v1/login/token", `{"token":"`+token+`","name":"anna","password":"`+
		pass+`"}`))
	if p.Type != "read_only" || !strings.Contains(p.Hint, "dyno user add") {
		t.Errorf("%+v", p)
	}
	if some, err := g.store.HasUsers(t.Context()); some || err != nil {
		t.Fatal("there is a user", err)
	}
	good(t, g.store.AddUser(t.Context(), "anna", access.Operator, pass))
	b.login("anna", pass)
}

// TestEndingAnothersSessionIsAChange: it is written down before, and not done when that fails. One's own may always be
// ended.
func TestEndingAnothersSessionIsAChange(t *testing.T) {
	g := guardedServer(t, Guarding{})
	anna, ben, two := g.visitor(t), g.visitor(t), g.visitor(t)
	anna.login("anna", pass)
	his := ben.login("ben", pass).ID
	also := two.login("ben", pass).ID
	const path = "/api/dyno/v1/session/remove"
	g.sql(t, noAudit)
	anna.want(503, "POST", path, `{"id":"`+his+`"}`)
	ben.want(200, "GET", "/metrics", "")
	ben.want(200, "POST", path, `{"id":"`+also+`"}`)
	two.want(401, "GET", "/metrics", "")
	g.sql(t, "DROP TRIGGER full")
	anna.want(404, "POST", path, `{"id":"`+g.operator+`"}`)
	anna.want(200, "POST", path, `{"id":"`+his+`"}`)
	ben.want(401, "GET", "/metrics", "")
	own := ben.login("ben", pass).ID
	ben.want(404, "POST", path, `{"id":"x"}`)
	ben.want(200, "POST", path, `{"id":"`+own+`"}`)
	all, err := g.store.Audit.List(t.Context(), 0, 100)
	good(t, err)
	var got []string
	for _, e := range all {
		if e.What == "end session" {
			got = append(got, fmt.Sprintf("%s %s %v %d %s", e.Who, e.Detail, e.Minor, e.Status, e.Outcome))
		}
	}
	want := []string{
		"ben id=" + own + " true 200 done", "anna id=" + his + " false 200 done",
		"anna id=dyno_… false 404 refused: not_found",
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\n\nwant\n%s", a, b)
	}
}

// TestTheAuditLogHoldsNoTexts: what detail withholds does not come in by way of an error's words.
func TestTheAuditLogHoldsNoTexts(t *testing.T) {
	g := guardedServer(t, Guarding{})
	good(t, g.world.ledger.PutEntry(t.Context(), journal.Entry{
		ID: "a-1", Target: "shop", State: "three blind mice", Planned: noon,
	}))
	anna := g.visitor(t)
	anna.login("anna", pass)
	anna.want(404, "POST", "/api/dyno/v1/user/role", `{"name":"three blind mice","role":"viewer"}`)
	anna.want(404, "POST", "/api/dyno/v1/user/remove", `{"name":"three blind mice"}`)
	anna.want(400, "POST", note, `{"three blind mice":1}`)
	if w := anna.want(409, "POST", "/api/dyno/v1/prove", `{"id":"a-1"}`); !strings.Contains(w.Body.String(), "mice") {
		t.Error("the caller is not told why not")
	}
	all, err := g.store.Audit.List(t.Context(), 0, 100)
	good(t, err)
	if s := fmt.Sprintf("%+v", all); strings.Contains(s, "mice") {
		t.Error(s)
	}
	if all[0].Outcome != "refused: conflict" || all[0].Status != 409 ||
		all[0].Detail != "id=a-1" {
		t.Errorf("%+v", all[0])
	}
}

// TestWhatIsLoggedIsDone: a body in which two readers could see different things is refused.
func TestWhatIsLoggedIsDone(t *testing.T) {
	g := guardedServer(t, Guarding{})
	anna := g.visitor(t)
	anna.login("anna", pass)
	for _, body := range []string{
		`{"name":"ben","Name":"anna"}`, `{"Name":"ben"}`, `{"name":"anna","name":"ben"}`,
		`{"name":"anna","na\u006de":"ben"}`, `{"NAME":"ben","name":"anna"}`, `{"name":"ben","ſ":1}`,
	} {
		anna.want(400, "POST", "/api/dyno/v1/user/remove", body)
	}
	anna.want(200, "POST", "/api/dyno/v1/user/remove", `{"na\u006de":"ben"}`)
	f := func(body string, x any, want string) {
		t.Helper()
		err := decodeJSON(httptest.NewRequest("POST", "/", strings.NewReader(body)), x)
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && (!errors.Is(err, errBadRequest) ||
			!strings.Contains(got, want)) {
			t.Errorf("%s: got %v, want %q", body, err, want)
		}
	}
	type inner struct {
		A int `json:"a"`
	}
	type outer struct {
		entry
		Set  map[string]string `json:"set"`
		Many []inner           `json:"many"`
		One  *inner            `json:"one"`
		Any  any               `json:"any"`
		At   time.Time         `json:"at"`
	}
	f(
		`{"name":"x","url":"y","set":{"Set":"1","set":"2"},"many":[{"a":1},{"a":2}],"one":{"a":1},"any":{"A":[1,{"a":null}]},"at":"2026-11-03T12:00:00Z"}`, &outer{}, "")
	f(`{"Url":"y"}`, &outer{}, `unknown member "Url"`)
	f(`{"entry":{}}`, &outer{}, `unknown member "entry"`)
	f(`{"":1}`, &outer{}, `unknown member ""`)
	f(`{"set":{"a":"1","a":"2"}}`, &outer{}, `"a" is given twice`)
	f(`{"many":[{"a":1},{"A":2}]}`, &outer{}, `unknown member "A"`)
	f(`{"one":{"a":1,"a":2}}`, &outer{}, `"a" is given twice`)
	f(`{"any":[{"x":{"b":1,"b":2}}]}`, &outer{}, `"b" is given twice`)
	f(`{"one":null,"set":null}`, &outer{}, "")
	f(`{} {}`, &outer{}, "more than one value")
	f(`[]`, &outer{}, "cannot unmarshal")
}

func TestWhoDidItIsKept(t *testing.T) {
	g := guardedServer(t, Guarding{})
	anna, ben := g.visitor(t), g.visitor(t)
	anna.login("anna", pass)
	ben.login("ben", pass)
	g.visitor(t).want(401, "POST", "/api/dyno/v1/login", `{"name":"ben","password":"wrong wrong wrong"}`)
	g.visitor(t).want(401, "POST", "/api/dyno/v1/login", `{"name":"hunter2 hunter2","password":"wrong wrong wrong"}`)
	anna.want(201, "POST", note, `{"text":"a secret plan","target":"shop"}`)
	anna.want(404, "POST", note, `{"text":"a secret plan","target":"other"}`)
	ben.want(403, "POST", note, words)
	ben.want(200, "POST", "/api/dyno/v1/user/password", `{"current":"`+pass+`","password":"`+other+`"}`)
	g.visitor(t).want(201, "POST", note, words, "Authorization", "Bearer "+g.operator)
	anna.want(404, "POST", "/api/dyno/v1/token/remove", `{"id":"`+g.viewer+`x"}`)
	anna.want(200, "POST", "/api/dyno/v1/logout", `{}`)
	var got []string
	all, err := g.store.Audit.List(t.Context(), 0, 100)
	good(t, err)
	for _, e := range all {
		if e.From != "192.0.2.9" || time.Since(e.At) > time.Hour {
			t.Errorf("%+v", e)
		}
		got = append(got, strings.Join([]string{e.Who, e.Via, e.What, e.Detail, e.Outcome}, " | "))
	}
	want := []string{
		"anna | session | logout |  | done",
		"anna | session | POST /api/dyno/v1/token/remove | id=dyno_… | refused: not_found",
		"token the-operator | token | POST /api/dyno/v1/annotate |  | done",
		"ben | session | POST /api/dyno/v1/user/password |  | done",
		"ben | session | POST /api/dyno/v1/annotate |  | refused: forbidden",
		"anna | session | POST /api/dyno/v1/annotate | target=other | refused: not_found",
		"anna | session | POST /api/dyno/v1/annotate | target=shop | done",
		"? | session | login |  | refused: unauthorized",
		"ben | session | login |  | refused: unauthorized",
		"ben | session | login |  | done",
		"anna | session | login |  | done",
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\n\nwant\n%s", a, b)
	}
	// Over HTTP too, for operators.
	anna.login("anna", pass)
	var told struct{ Entries []access.Entry }
	unmarshal(t, anna.want(200, "GET", "/api/dyno/v1/audit?limit=3", "").Body.Bytes(), &told)
	if len(told.Entries) != 3 || told.Entries[0].What != "login" {
		t.Fatalf("%+v", told)
	}
	unmarshal(t, anna.want(200, "GET", "/api/dyno/v1/audit?limit=3&before="+jsonNumber(told.Entries[2].ID),
		"").Body.Bytes(), &told)
	if len(told.Entries) != 3 || told.Entries[0].What != "POST /api/dyno/v1/annotate" {
		t.Fatalf("%+v", told)
	}
	ben.login("ben", other)
	ben.want(403, "GET", "/api/dyno/v1/audit", "")
}

// TestAViewerPushesNoChangeOut: whatever a viewer may do is kept apart from the changes, and what was not even tried is
// not kept.
func TestAViewerPushesNoChangeOut(t *testing.T) {
	g := guardedServer(t, Guarding{})
	ben := g.visitor(t)
	ben.login("ben", pass)
	const path = "/api/dyno/v1/user/password"
	for range 3 {
		ben.want(400, "POST", path, `{"no":"such member"}`)
	}
	ben.want(403, "POST", path, `{"current":"wrong wrong wrong","password":"`+other+`"}`)
	ben.want(403, "POST", path, `{"name":"anna","current":"`+pass+`","password":"`+other+`"}`)
	ben.want(200, "POST", path, `{"current":"`+pass+`","password":"`+other+`"}`)
	all, err := g.store.Audit.List(t.Context(), 0, 100)
	good(t, err)
	var got []string
	for _, e := range all {
		if !e.Minor {
			t.Errorf("%s %s is kept as a change: %s", e.Who, e.What, e.Outcome)
		}
		got = append(got, e.Outcome)
	}
	if want := "done, refused: forbidden, refused: forbidden, done"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRefusalsAreCounted: a flood of what is refused costs no write to the disk each, and is told all the same.
func TestRefusalsAreCounted(t *testing.T) {
	g := guardedServer(t, Guarding{})
	ben := g.visitor(t)
	for range 20 * refusedAMinute { // which take less than that many minutes
		ben.want(403, "POST", note, words, "Authorization", "Bearer "+g.viewer)
	}
	n := auditCount(t, g, "refused: forbidden")
	if n < refusedAMinute || n == 20*refusedAMinute {
		t.Errorf("%d of %d are written down", n, 20*refusedAMinute)
	}

	var x refusals
	told := func(key string, at time.Duration, times int) (n, left int) {
		for range times {
			more, one := x.next(key, time.Unix(1e9, 0).Add(at))
			if left += more; one {
				n++
			}
		}
		return n, left
	}
	f := func(key string, at time.Duration, times, n, left int) {
		t.Helper()
		if got, more := told(key, at, times); got != n || more != left {
			t.Errorf("%s after %v: %d told and %d counted of %d, want %d and %d", key, at, got, more, times, n, left)
		}
	}
	f("ben", 0, 100, refusedAMinute, 0)
	f("eve", 0, 1, 1, 0) // whatever ben does
	f("ben", 59*time.Second, 1, 0, 0)
	f("ben", 60*time.Second, 2, 2, 100-refusedAMinute+1)
	f("ben", 3*time.Minute, 1, 1, 0)
}

func jsonNumber(n int64) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// TestNothingIsChangedUnseen: where the log cannot be written nothing is changed.
func TestNothingIsChangedUnseen(t *testing.T) {
	g := emptyServer(t, Guarding{})
	g.sql(t, noAudit)
	g.visitor(t).want(503, "POST", note, words)
	if len(g.world.notes(t)) != 0 {
		t.Fatal("it was changed")
	}
}

// noAudit refuses what would be written into the audit log.
const noAudit = "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(FAIL, 'no space'); END"

// sql does something to the file of the users behind the store's back.
func (g *guarded) sql(t *testing.T, text string) {
	t.Helper()
	_, _ = g.store.Audit.Begin(t.Context(), access.Entry{Minor: true}) // the first write makes the file
	db, err := sql.Open("sqlite", g.store.Path())
	good(t, err)
	_, err = db.ExecContext(t.Context(), text)
	good(t, errors.Join(err, db.Close()))
}

// TestAnUnreadableFileLetsNobodyIn: an error is not "there are no users".
func TestAnUnreadableFileLetsNobodyIn(t *testing.T) {
	g := emptyServer(t, Guarding{})
	g.sql(t, "ALTER TABLE user RENAME TO gone")
	for _, path := range []string{"/metrics", "/api/dyno/v1/targets", "/api/dyno/v1/session"} {
		w := g.visitor(t).want(503, "GET", path, "")
		if strings.Contains(w.Body.String(), g.store.Path()) {
			t.Errorf("%s tells where the file is: %s", path, w.Body)
		}
	}
	g.visitor(t).want(503, "POST", note, words)
	g.visitor(t).want(200, "GET", "/-/healthy", "")
	if !strings.Contains(g.log.String(), g.store.Path()) {
		t.Error("the log does not tell why")
	}
}

func TestReadOnly(t *testing.T) {
	for _, users := range []bool{false, true} {
		g := emptyServer(t, Guarding{ReadOnly: true})
		b := g.visitor(t)
		if users {
			good(t, g.store.AddUser(t.Context(), "anna", access.Operator, pass))
			b.login("anna", pass)
		}
		for _, p := range g.Paths() {
			if method, path, _ := strings.Cut(p, " "); method == "POST" &&
				(reads[p] == "" || path == "/api/dyno/v1/login/token") {
				if p := problemOf(t, b.want(403, "POST", path, "{}")); p.Type != "read_only" {
					t.Errorf("%s: %+v", path, p)
				}
			}
		}
		b.want(200, "GET", "/metrics", "")
		if !users {
			continue
		}
		const path = "/api/dyno/v1/session/remove"
		good(t, g.store.AddUser(t.Context(), "ben", access.Viewer, pass))
		ben, also := g.visitor(t), g.visitor(t)
		his := ben.login("ben", pass).ID
		before := auditCount(t, g, "refused: read_only")
		if p := problemOf(t, b.want(403, "POST", path, `{"id":"`+his+`"}`)); p.Type != "read_only" ||
			!strings.Contains(p.Hint, "dyno user password") {
			t.Errorf("%+v", p)
		}
		ben.want(200, "GET", "/metrics", "")
		if n := auditCount(t, g, "refused: read_only"); n != before+1 {
			t.Error("nobody wrote down who tried")
		}
		// One can still leave.
		own := also.login("anna", pass).ID
		b.want(200, "POST", path, `{"id":"`+own+`"}`)
		also.want(401, "GET", "/metrics", "")
		ben.want(404, "POST", path, `{"id":"x"}`)
		ben.want(200, "POST", path, `{"id":"`+his+`"}`)
		b.want(200, "POST", "/api/dyno/v1/logout", `{}`)
	}
}

func TestTheRoleIsThatOfNow(t *testing.T) {
	g := guardedServer(t, Guarding{})
	good(t, g.store.SetRole(t.Context(), "ben", access.Operator))
	anna, ben := g.visitor(t), g.visitor(t)
	anna.login("anna", pass)
	ben.login("ben", pass)
	ben.want(201, "POST", note, words)
	anna.want(200, "POST", "/api/dyno/v1/user/role", `{"name":"ben","role":"viewer"}`)
	ben.want(403, "POST", note, words)
	ben.want(200, "GET", "/metrics", "")
	anna.want(200, "POST", "/api/dyno/v1/user/remove", `{"name":"ben"}`)
	ben.want(401, "GET", "/metrics", "")
}

func TestRemovingTellsOfTokensLeft(t *testing.T) {
	g := guardedServer(t, Guarding{})
	anna := g.visitor(t)
	anna.login("anna", pass)
	_, err := g.store.Tokens.Add(t.Context(), "his", access.Viewer, "ben", time.Hour)
	good(t, err)
	var left struct{ Tokens []string }
	unmarshal(t, anna.want(200, "POST", "/api/dyno/v1/user/remove", `{"name":"ben"}`).Body.Bytes(), &left)
	if len(left.Tokens) != 1 || left.Tokens[0] != "his" {
		t.Fatalf("%+v", left)
	}
}

func TestUserOf(t *testing.T) {
	g := guardedServer(t, Guarding{})
	var name string
	g.change("POST /api/dyno/v1/test", func(w http.ResponseWriter, r *http.Request) { name = userOf(r.Context()) })
	b := g.visitor(t)
	b.login("anna", pass)
	b.want(200, "POST", "/api/dyno/v1/test", "{}")
	if name != "anna" {
		t.Errorf("got %q", name)
	}
	g.visitor(t).want(200, "POST", "/api/dyno/v1/test", "{}", "Authorization", "bearer "+g.operator)
	if name != "token the-operator" {
		t.Errorf("got %q", name)
	}
	if got := userOf(t.Context()); got != "local" {
		t.Errorf("got %q", got)
	}
}

func TestStreamsEndWithTheSession(t *testing.T) {
	f := func(what string, end func(t *testing.T, g *guarded, b *visitor, me who)) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			g := guardedServer(t, Guarding{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				g.ServeHTTP(w, ours(r))
			}))
			defer s.Close()
			b := g.visitor(t)
			b.host = strings.TrimPrefix(s.URL, "http://")
			me := b.login("ben", pass)
			r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/api/dyno/v1/stream", nil)
			good(t, err)
			r.AddCookie(b.cookie)
			a, err := http.DefaultClient.Do(r)
			good(t, err)
			defer a.Body.Close()
			if a.StatusCode != 200 {
				t.Fatalf("got %d", a.StatusCode)
			}
			ended := drained(a)
			select {
			case <-ended:
				t.Fatal("it ended before")
			case <-time.After(stillEvery + 500*time.Millisecond):
			}
			end(t, g, b, me)
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("the stream goes on")
			}
		})
	}
	f("revoked", func(t *testing.T, g *guarded, _ *visitor, me who) {
		good(t, g.store.Sessions.End(t.Context(), me.ID, ""))
	})
	f("logged out", func(t *testing.T, _ *guarded, b *visitor, _ who) {
		b.want(200, "POST", "/api/dyno/v1/logout", "{}")
	})
	f("idle for too long", func(_ *testing.T, g *guarded, _ *visitor, _ who) { g.pass(access.Idle) })
	f("role changed", func(t *testing.T, g *guarded, _ *visitor, _ who) {
		good(t, g.store.SetRole(t.Context(), "ben", access.Operator))
	})
	f("removed", func(t *testing.T, g *guarded, _ *visitor, _ who) {
		good(t, g.store.RemoveUser(t.Context(), "ben", false))
	})
}

// drained reads an answer to its end.
func drained(a *http.Response) (ended chan struct{}) {
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, a.Body)
	}()
	return ended
}

// TestStreamsOfNobodyEndWithTheFirstUser: what was open without a login is not open with one.
func TestStreamsOfNobodyEndWithTheFirstUser(t *testing.T) {
	g := emptyServer(t, Guarding{})
	s := httptest.NewServer(g)
	defer s.Close()
	a, err := http.Get(s.URL + "/api/dyno/v1/stream")
	good(t, err)
	defer a.Body.Close()
	good(t, g.store.AddUser(t.Context(), "anna", access.Operator, pass))
	ended := drained(a)
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the stream goes on")
	}
}

func TestDetail(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		if got := detail([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	f(`{"target":"shop","finding":"f-1","execute":true,"confirm":"ALTER TABLE x"}`,
		"target=shop finding=f-1 execute=true")
	f(`{"name":"ben","password":"hunter2 hunter2","current":"x"}`, "name=ben")
	f(`{"name":{"password":"x"},"id":["x"]}`, "")
	f(`{"id":"dyno_abcdefghijklmnop"}`, "id=dyno_…")
	f(`{"name":"`+strings.Repeat("é", 500)+`"}`, "name="+strings.Repeat("é", 120)+"…")
	f(`{"name":null,"days":1e3}`, "name=null days=1e3")
	f(`[1]`, "")
	f(`{`, "")
	f(``, "")
}

// TestWhoIsOutMeanwhileChangesNothing: a request whose body is still to come outlasts neither its token nor its role.
func TestWhoIsOutMeanwhileChangesNothing(t *testing.T) {
	f := func(what string, out func(g *guarded)) {
		t.Helper()
		g := guardedServer(t, Guarding{})
		body, send := io.Pipe()
		r := httptest.NewRequest(http.MethodPost, note, body)
		r.Host, r.RemoteAddr = "127.0.0.1:9188", "192.0.2.9:4711"
		r = ours(r)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+g.operator)
		w, done := httptest.NewRecorder(), make(chan struct{})
		go func() { defer close(done); g.ServeHTTP(w, r) }()
		_, err := io.WriteString(send, words[:1]) // returns when it is read
		good(t, err)
		out(g)
		_, err = io.WriteString(send, words[1:])
		good(t, err)
		good(t, send.Close())
		if <-done; w.Code != http.StatusUnauthorized || len(g.world.notes(t)) != 0 {
			t.Errorf("%s: %d %s, %d notes", what, w.Code, w.Body, len(g.world.notes(t)))
		}
	}
	f("a token that was taken back", func(g *guarded) {
		all, err := g.store.Tokens.List(t.Context())
		good(t, err)
		for _, x := range all {
			good(t, g.store.Tokens.Remove(t.Context(), x.ID))
		}
	})
	f("a token that ended", func(g *guarded) { g.pass(31 * 24 * time.Hour) })
}
