package httpapi

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/store/access"
)

// Guarding says who is answered; the zero value answers this machine alone.
type Guarding struct {
	// names by which others reach this server, beside those of this machine; with any of them a login is needed
	Hosts    []string
	Beyond   bool // it listens beyond the loopback addresses: a login is needed even when there are no users yet
	ReadOnly bool // nothing can be changed
	HSTS     bool // browsers are told to come with TLS only; this holds for all ports of the host
	// called when the first-run token let somebody in without a user, and is used up; nil: nobody wants to know
	Linked func()
}

// gate tells who makes a request and what that may do, and writes down what is tried.
type gate struct {
	origins
	access  *access.Store // nil: see Services
	options Options
	log     *slog.Logger
}

// localUser is who asks where nobody logs in.
const localUser = access.Local

// caller is who makes a request.
type caller struct {
	access.Identity        // Kind is "" where nobody logs in
	address         string // without a port
}

// name is how the caller is called in tasks, notes and the audit log.
func (c caller) name() string {
	if c.Kind == access.ByAPIToken {
		return "token " + c.Name
	}
	return c.Name
}

// key tells a caller from others: sessions of one user are one caller, whatever their number.
func (c caller) key() string { return c.via() + " " + c.Name }

func (c caller) via() string {
	if c.Kind == "" {
		return localUser
	}
	return string(c.Kind)
}

type callerKey struct{}

// callerOf returns who made the request; without a login that is somebody on this machine.
func callerOf(ctx context.Context) caller {
	if c, ok := ctx.Value(callerKey{}).(caller); ok {
		return c
	}
	return caller{Identity: access.Identity{Name: localUser, Role: access.Operator}}
}

// userOf returns the name of whoever made the request: "local" where nobody logs in, "token NAME" for an API token.
func userOf(ctx context.Context) string { return callerOf(ctx).name() }

// loginNeeded reports whether a request must tell who makes it. Without users that is every request but those of Dyno's
// own account of this machine and of root.
func (v *gate) loginNeeded(r *http.Request) (bool, error) {
	if g := v.guarding; g.Beyond || len(g.Hosts) > 0 {
		return true, nil
	}
	if v.access != nil {
		if some, err := v.access.HasUsers(r.Context()); some || err != nil {
			return true, err
		}
	}
	return !peerOf(r).own(), nil
}

// errNobody is the answer to a request that does not tell who makes it, or tells it wrongly.
var errNobody = errors.New("this needs a login")

// errStranger is errNobody where there are no users who could log in.
var errStranger = fmt.Errorf("%w: there are no users, and without users only root and Dyno's own account of this "+
	"machine are allowed", errNobody)

// identify finds out who makes a request. Errors: errNobody, and what the store says.
func (v *gate) identify(r *http.Request) (caller, error) {
	c := caller{Identity: access.Identity{Name: localUser, Role: access.Operator}, address: v.addressOf(r)}
	needed, err := v.loginNeeded(r)
	if err != nil || !needed {
		return c, err
	}
	c.Identity, err = v.credentials(r)
	if errors.Is(err, access.ErrNotFound) {
		err = errNobody
	}
	if errors.Is(err, errNobody) && v.linked() {
		if some, bad := v.access.HasUsers(r.Context()); bad != nil || !some {
			err = errors.Join(bad, errStranger)
		}
	}
	return c, err
}

// linked reports whether the first-run token alone lets in: it is for the people of this machine, so not where others
// come.
func (v *gate) linked() bool {
	g := v.guarding
	return v.access != nil && !g.Beyond && len(g.Hosts) == 0
}

// credentials returns who a request says it is from. Errors: errNobody, access.ErrNotFound, and what the store says.
func (v *gate) credentials(r *http.Request) (i access.Identity, err error) {
	if v.access == nil {
		return i, errNobody
	}
	if all := r.Header.Values("Authorization"); len(all) > 0 {
		// what is said aloud counts; a wrong token is not mended by a cookie
		kind, secret, _ := strings.Cut(all[0], " ")
		if len(all) > 1 || !strings.EqualFold(kind, "Bearer") {
			return i, errNobody
		}
		return v.access.Tokens.Find(r.Context(), strings.TrimSpace(secret))
	}
	all := r.CookiesNamed(v.cookieName(r))
	if len(all) != 1 { // of two one was planted by a neighbour
		return i, errNobody
	}
	return v.access.Sessions.Find(r.Context(), all[0].Value, v.accountOf(r))
}

// accountOf returns the account of this machine to which a session is bound. Cookies know no ports: the browser also
// sends them to what others have listen on another port of this machine. Behind a proxy all come from its account, and
// from elsewhere from none.
func (v *origins) accountOf(r *http.Request) string {
	if uid, told := peerOf(r).account(); told && !v.proxied(r) {
		return "uid " + strconv.Itoa(uid)
	}
	return ""
}

// admit lets those pass who have a role. Tokens let programs in, which have no business with users and tokens: with
// person they are kept out.
func (v *gate) admit(need access.Role, person bool, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := v.identify(r)
		switch {
		case errors.Is(err, errNobody):
			v.unauthorized(w, err)
			return
		case err != nil:
			v.closed(w, r, err)
			return
		case !c.Role.May(need) || person && c.Kind == access.ByAPIToken:
			v.forbid(w, c, need)
			return
		}
		key := c.key()
		peerOf(r).letIn.Store(&key)
		v.mayTakeLong(w)
		h(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	}
}

func (v *gate) unauthorized(w http.ResponseWriter, err error) {
	hint := "log in to the web UI, or send an API token as Authorization: Bearer …; `dyno user token add` makes one"
	if errors.Is(err, errStranger) {
		hint = "add a user with `dyno user add NAME` on this machine, or open the link that `dyno serve` prints on a " +
			"terminal; the file " +
			"first-run-link in Dyno's home always has it"
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="dyno"`)
	respondJSON(w, http.StatusUnauthorized, problem{"error", "unauthorized", err.Error(), hint})
}

func (v *gate) forbid(w http.ResponseWriter, c caller, need access.Role) {
	p := problem{"error", "forbidden", "a " + string(c.Role) + " may not do this", "an operator may"}
	if c.Role.May(need) {
		p = problem{"error", "forbidden", "an API token may not do this", "log in with a name and a password"}
	}
	respondJSON(w, http.StatusForbidden, p)
}

// closed answers when it cannot be told who may do what: nobody is let in. The reason is for the log.
func (v *gate) closed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		respondError(w, clientGone, "canceled", "the request was ended")
		return
	}
	v.log.Error("permissions are unavailable: all logins are refused", "path", r.URL.Path, "err", err)
	respondJSON(w, http.StatusServiceUnavailable, problem{
		"error", "unavailable", "permissions are unavailable now",
		"the log of `dyno serve` has the reason",
	})
}

// register adds a path that everybody may ask for.
func (v *Server) register(pattern string, h http.HandlerFunc) {
	v.paths = append(v.paths, pattern)
	v.mux.HandleFunc(pattern, h)
}

// timed gives an answer its time limit.
func (v *Server) timed(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), v.options.Timeout)
		defer cancel()
		h(w, r.WithContext(ctx))
	}
}

// Checking of what goes on for long.
const (
	stillEvery  = 2 * time.Second
	blindAtMost = 30 * time.Second // so long it goes on when it cannot be told whether it still may
)

// held ends an answer that goes on for long when its session ends, is revoked or changes its role.
func (v *gate) held(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer cancel()
			v.stillMay(r.WithContext(ctx), callerOf(ctx))
		}()
		defer func() {
			cancel()
			<-ended
		}()
		h(w, r.WithContext(ctx))
	}
}

// stillMay returns when the caller of a request may no longer, or the request ends.
func (v *gate) stillMay(r *http.Request, c caller) {
	ctx := r.Context()
	tick := time.NewTicker(stillEvery)
	defer tick.Stop()
	sure := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var may bool
		var err error
		if c.Kind == "" {
			may, err = v.loginNeeded(r)
			may = !may
		} else {
			may, err = v.access.Alive(ctx, c.Identity)
		}
		switch {
		case err != nil && time.Since(sure) < blindAtMost:
		case err != nil || !may:
			return
		default:
			sure = time.Now()
		}
	}
}

// change registers an answer that changes something: on a server, in the inventory, or in what Dyno keeps. Only an
// operator may, with JSON, from this origin, with the session's CSRF token, and not under ReadOnly; what is tried is
// written down before and after.
func (v *Server) change(pattern string, h http.HandlerFunc) {
	v.changeBy(pattern, access.Operator, false, h)
}

func (v *Server) changeBy(pattern string, need access.Role, person bool, h http.HandlerFunc) {
	try := func(w http.ResponseWriter, r *http.Request) {
		c := callerOf(r.Context())
		e := access.Entry{Who: c.name(), Via: c.via(), From: c.address, What: pattern}
		if rec := (&recorder{ResponseWriter: w}); !v.mayChange(rec, r, c, need, person) {
			e.Minor, e.Status, e.Outcome = true, rec.code, rec.outcome()
			if left, one := v.refusals.next(c.key(), time.Now()); one {
				if left > 0 {
					e.Detail = fmt.Sprintf("%d earlier refusals of this caller are not listed", left)
				}
				v.note(r.Context(), e)
			}
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			v.fail(w, r, fmt.Errorf("%w: %w", errBadRequest, err))
			return
		}
		if c.Kind != "" { // the body may have taken its time: who was let in with the head may be out by now
			if may, err := v.access.Alive(r.Context(), c.Identity); err != nil {
				v.closed(w, r, err)
				return
			} else if !may {
				v.unauthorized(w, errNobody)
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		e.Detail = detail(body)
		if c.Role.May(access.Operator) {
			v.written(w, r, e, h)
			return
		}
		// what a viewer may do is to himself: as with a login, a flood of it must push no change out
		rec := &recorder{ResponseWriter: w}
		h(rec, r)
		if rec.code != http.StatusBadRequest && rec.code != http.StatusTooManyRequests { // then nothing was tried
			e.Minor, e.Status, e.Outcome = true, rec.code, rec.outcome()
			v.note(r.Context(), e)
		}
	}
	inTurn := v.inTurn(try)
	v.register(pattern, v.timed(v.admit(access.Viewer, false, func(w http.ResponseWriter, r *http.Request) {
		if callerOf(r.Context()).Role.May(access.Operator) { // a change may take long
			try(w, r)
			return
		}
		inTurn(w, r)
	})))
}

// refusedAMinute is how many refused changes of one caller are written down: each is a write to the disk, and the rest
// is counted.
const refusedAMinute = 10

// refusals tells which of what is refused to a caller is written down. The zero value is ready.
type refusals struct {
	mu sync.Mutex
	by map[string]*refused // by caller.key: users and tokens, which are few
}

type refused struct {
	since      time.Time
	told, left int
}

// next reports whether one more is to be written down, and if so how many were not since the last that was.
func (x *refusals) next(key string, now time.Time) (left int, one bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.by == nil {
		x.by = map[string]*refused{}
	}
	f := x.by[key]
	if f == nil {
		f = &refused{}
		x.by[key] = f
	}
	if now.Sub(f.since) >= time.Minute {
		f.since, f.told = now, 0
	}
	if f.told == refusedAMinute {
		f.left++
		return 0, false
	}
	f.told++
	left, f.left = f.left, 0
	return left, true
}

// written carries out a change between two writes to the audit log. When the first fails, nothing is changed.
func (v *gate) written(w http.ResponseWriter, r *http.Request, e access.Entry, h http.HandlerFunc) {
	end, err := v.begin(r.Context(), e)
	if err != nil {
		v.log.Error("cannot write the audit log: nothing is changed", "path", r.URL.Path, "err", err)
		respondJSON(w, http.StatusServiceUnavailable, problem{
			"error", "unavailable",
			"the audit log cannot be written, so nothing is changed", "the log of `dyno serve` has the reason",
		})
		return
	}
	rec := &recorder{ResponseWriter: w}
	defer func() {
		if x := recover(); x != nil {
			end(http.StatusInternalServerError, "failed: the program erred")
			panic(x)
		}
		end(rec.code, rec.outcome())
	}()
	h(rec, r)
}

// csrfHeader carries a session's CSRF token. A foreign page can neither read the token nor send the header without
// being asked first.
const csrfHeader = "X-Dyno-CSRF"

// mayChange answers what may not be changed.
func (v *gate) mayChange(w http.ResponseWriter, r *http.Request, c caller, need access.Role, person bool) bool {
	switch {
	case !v.fromOwnPage(w, r, c):
		return false
	case !c.Role.May(need) || person && c.Kind == access.ByAPIToken:
		v.forbid(w, c, need)
		return false
	case v.guarding.ReadOnly:
		readOnly(w, "use another one, or the command line on its machine")
		return false
	}
	return true
}

func readOnly(w http.ResponseWriter, hint string) {
	respondJSON(w, http.StatusForbidden, problem{"error", "read_only", "this Dyno changes nothing: it runs with " +
		"--read-only", hint})
}

// fromOwnPage answers what a foreign page could have sent.
func (v *gate) fromOwnPage(w http.ResponseWriter, r *http.Request, c caller) bool {
	if c.Kind == access.ByLogin {
		all := r.Header.Values(csrfHeader)
		if len(all) != 1 || subtle.ConstantTimeCompare([]byte(all[0]), []byte(c.CSRF)) != 1 {
			respondJSON(w, http.StatusForbidden, problem{
				"error", "csrf", "the request does not carry this session's token in " + csrfHeader,
				"another tab logged in again: get the token from GET /api/dyno/v1/session, or reload the page",
			})
			return false
		}
	}
	if !isJSON(r) {
		respondError(w, http.StatusUnsupportedMediaType, "bad_data", "the request needs the header Content-Type: "+
			"application/json")
		return false
	}
	return true
}

// begin writes down what is about to be tried. end writes down how it ended, also when the caller has gone.
func (v *gate) begin(ctx context.Context, e access.Entry) (end func(status int, outcome string), err error) {
	if v.access == nil {
		return func(int, string) {}, nil
	}
	id, err := v.access.Audit.Begin(ctx, e)
	return func(status int, outcome string) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer cancel()
		if err := v.access.Audit.End(ctx, id, status, outcome); err != nil {
			v.log.Error("cannot write how a change ended into the audit log", "what", e.What, "who", e.Who,
				"status", status, "err", err)
		}
	}, err
}

// note writes down what is over already and changed nothing.
func (v *gate) note(ctx context.Context, e access.Entry) {
	if v.access == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	if _, err := v.access.Audit.Begin(ctx, e); err != nil {
		v.log.Error("cannot write the audit log", "what", e.What, "who", e.Who, "err", err)
	}
}

// audited are the members of a request that the audit log tells. Others may hold what is nobody's business: passwords,
// addresses, texts.
var audited = []string{
	"target", "finding", "id", "name", "role", "execute", "kind", "window", "scale", "days",
	"everywhere", "replace",
}

// detail returns what the audit log tells of a request's body: "target=shop finding=f-1".
func detail(body []byte) string {
	var all map[string]json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		return ""
	}
	var parts []string
	for _, k := range audited {
		raw, ok := all[k]
		if !ok || len(raw) == 0 || raw[0] == '{' || raw[0] == '[' {
			continue
		}
		s := string(raw)
		var text string
		if json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
			if s = text; strings.ContainsFunc(s, unicode.IsSpace) {
				// no name and no id: perhaps what belongs into another field
				s = "…"
			}
		}
		if r := []rune(s); len(r) > 120 {
			s = string(r[:120]) + "…"
		}
		parts = append(parts, k+"="+s)
	}
	return withheld(strings.Join(parts, " "))
}

var tokenForm = lazyregexp.New(`dyno_[A-Za-z0-9_-]{8,}`)

// withheld takes API tokens out of a text: people paste them into the wrong field.
func withheld(s string) string { return tokenForm.ReplaceAllString(s, "dyno_…") }

// recorder keeps the status of an answer, and of one that tells of an error the begin, which has the type.
type recorder struct {
	http.ResponseWriter
	code int
	text []byte
}

func (x *recorder) WriteHeader(code int) {
	if x.code == 0 || x.code < 200 {
		x.code = code
	}
	x.ResponseWriter.WriteHeader(code)
}

func (x *recorder) Write(b []byte) (int, error) {
	if x.code == 0 {
		x.code = http.StatusOK
	}
	if x.code >= 400 && len(x.text) < 100 {
		x.text = append(x.text, b[:min(len(b), 100)]...)
	}
	return x.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (x *recorder) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// outcome says for the audit log how it ended. Of an error it has the type alone: the text may repeat what detail
// withholds.
func (x *recorder) outcome() string {
	// see problem: nothing that comes from outside stands before it
	_, rest, _ := bytes.Cut(x.text, []byte(`"errorType":"`))
	kind, _, _ := bytes.Cut(rest, []byte(`"`))
	switch {
	case x.code >= 500:
		return "failed: " + string(kind)
	case x.code >= 400:
		return "refused: " + string(kind)
	case x.code == http.StatusAccepted:
		return "begun"
	}
	return "done"
}

// personal registers what people may read who have a role, and no API token.
func (v *Server) personal(pattern string, need access.Role, h respond) {
	v.register(pattern, v.timed(v.admit(need, true, v.replies(h))))
}
