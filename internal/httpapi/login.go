package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/dyno-perf/dyno/internal/store/access"
)

// Logins checks who people are. Errors are those of access.Store.
type Logins interface {
	Login(ctx context.Context, name, password string, from access.From) (access.Session, error)
	LoginFirst(ctx context.Context, token, name, password string, from access.From) (access.Session, error)
	LoginLocal(ctx context.Context, token string, from access.From) (access.Session, error)
	ChangePassword(ctx context.Context, by, own string, from access.From, name, password, keep string) error
}

// Sessions are the logins that last.
type Sessions interface {
	Sessions(ctx context.Context, user string) ([]access.Session, error)
	EndSession(ctx context.Context, id, user string) error
	EndSessions(ctx context.Context, user string) error
}

// who is the answer to "who am I".
type who struct {
	Name        string      `json:"name"` // "" when a login is needed and there is none
	Role        access.Role `json:"role"`
	Via         string      `json:"via"` // "local", "session", "token", ""
	ID          string      `json:"id,omitzero"`
	CSRF        string      `json:"csrf"`
	ReadOnly    bool        `json:"read_only"`
	LoginNeeded bool        `json:"login_needed"`
	FirstRun    bool        `json:"first_run"` // there are no users yet: the first-run token adds one
	Link        bool        `json:"link"`      // or it lets in without one, as the link does that serve prints
	Version     string      `json:"version"`   // only for those with access
	Every       float64     `json:"every_seconds,omitzero"`
}

// sessionOf tells who is asking, also to those who did not log in yet.
func (v *Server) sessionOf(w http.ResponseWriter, r *http.Request) {
	c, err := v.identify(r)
	if errors.Is(err, errNobody) {
		none := false
		if v.service.Access != nil {
			some, err := v.service.Access.HasUsers(r.Context())
			if err != nil {
				v.closed(w, r, err)
				return
			}
			none = !some
		}
		readOnly := v.options.Guarding.ReadOnly
		respondJSON(w, http.StatusOK, who{
			ReadOnly: readOnly, LoginNeeded: true, FirstRun: none && !readOnly,
			Link: none && v.linked(),
		})
		return
	} else if err != nil {
		v.closed(w, r, err)
		return
	}
	respondJSON(w, http.StatusOK, v.who(c))
}

func (v *Server) who(c caller) who {
	return who{
		Name: c.name(), Role: c.Role, Via: c.via(), ID: c.ID, CSRF: c.CSRF, ReadOnly: v.options.Guarding.ReadOnly,
		LoginNeeded: c.Kind != "" && c.Name != localUser, Version: v.options.Version, Every: v.options.Every.Seconds(),
	}
}

// login opens a session for a name and a password.
func (v *Server) login(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Name     string `json:"name"`
		Password string `json:"password"`
	}
	v.enter(w, r, &b, "login", func(ctx context.Context, from access.From) (access.Session, string, error) {
		s, err := v.service.Access.Login(ctx, b.Name, b.Password, from)
		return s, b.Name, err
	})
}

// loginFirst opens the first session with the first-run token, and adds its operator, which the store writes into the
// audit log together with the user: only then is it known that somebody may. Without a name, where people of this
// machine alone come, it adds none.
func (v *Server) loginFirst(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Token    string `json:"token"`
		Name     string `json:"name"`
		Password string `json:"password"`
	}
	if _, err := v.identify(r); v.options.Guarding.ReadOnly && !errors.Is(err, errStranger) { // it would add a user
		readOnly(w, "`dyno user add NAME --role operator` on its machine adds the first user")
		return
	}
	v.enter(w, r, &b, "login with the first-run token", func(ctx context.Context, from access.From) (
		access.Session, string, error,
	) {
		if b.Name == "" && b.Password == "" && v.linked() {
			s, err := v.service.Access.LoginLocal(ctx, b.Token, from)
			if err == nil && v.options.Guarding.Linked != nil {
				v.options.Guarding.Linked()
			}
			return s, "", err
		}
		if v.options.Guarding.ReadOnly {
			return access.Session{}, b.Name,
				fmt.Errorf("%w: with --read-only no user is added; the token alone lets in", access.ErrInvalid)
		}
		s, err := v.service.Access.LoginFirst(ctx, b.Token, b.Name, b.Password, from)
		return s, b.Name, err
	})
}

// maxLogin is the most that a login may carry: anybody can send it.
const maxLogin = 8 << 10

// enter does what all logins do. The session is always a new one; that of the cookie that came along ends.
func (v *Server) enter(w http.ResponseWriter, r *http.Request, body any, what string,
	open func(context.Context, access.From) (access.Session, string, error),
) {
	if v.service.Access == nil {
		absent(w)
		return
	}
	if !v.fromOwnPage(w, r, caller{}) {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	if err := decodeJSON(r, body); err != nil {
		v.fail(w, r, err)
		return
	}
	v.mayTakeLong(w)
	needed, err := v.loginNeeded(r)
	if err != nil {
		v.closed(w, r, err)
		return
	}
	if !needed {
		respondJSON(w, http.StatusConflict, problem{
			"error", "conflict", "no users are configured",
			"`dyno user add NAME --role operator` adds the first",
		})
		return
	}
	from := access.From{Address: v.addressOf(r), Agent: r.UserAgent(), Account: v.accountOf(r)}
	s, name, err := open(r.Context(), from)
	e := access.Entry{
		Minor: true, Who: "?", Via: string(access.ByLogin), From: from.Address, What: what,
		Status: http.StatusOK, Outcome: "done",
	}
	if err != nil {
		rec := &recorder{ResponseWriter: w}
		v.refuseLogin(rec, r, err)
		if e.Status, e.Outcome = rec.code, rec.outcome(); rec.code == http.StatusTooManyRequests {
			return // nothing was tried, and a flood of these would push the rest out
		}
		if v.isUser(r.Context(), name) { // whoever types a password into the field of the name finds it in no log
			e.Who = name
		}
		v.note(r.Context(), e)
		return
	}
	e.Who = s.User
	v.note(r.Context(), e)
	if c, err := v.identify(r); err == nil && c.Kind == access.ByLogin {
		if err := v.service.Access.EndSession(r.Context(), c.ID, ""); err != nil &&
			!errors.Is(err, access.ErrNotFound) {
			v.log.Warn("the session before a login was not ended", "err", err)
		}
	}
	i, err := v.service.Access.BySession(r.Context(), s.Secret, from.Account)
	if err != nil {
		v.closed(w, r, err)
		return
	}
	v.setCookie(w, r, s.Secret)
	respondJSON(w, http.StatusOK, v.who(caller{Identity: i, address: from.Address}))
}

func (v *Server) isUser(ctx context.Context, name string) bool {
	us, err := v.service.Access.Users(ctx)
	for _, u := range us {
		if err == nil && u.Name == name {
			return true
		}
	}
	return false
}

func (v *Server) refuseLogin(w http.ResponseWriter, r *http.Request, err error) {
	var pause *access.PauseError
	switch {
	case errors.As(err, &pause):
		w.Header().Set("Retry-After", strconv.Itoa(pause.Seconds()))
		respondJSON(w, http.StatusTooManyRequests, problem{
			"error", "too_many", err.Error(),
			"API tokens and open sessions are not held up",
		})
	case errors.Is(err, access.ErrWrong), errors.Is(err, access.ErrFirst):
		respondError(w, http.StatusUnauthorized, "unauthorized", err.Error())
	default:
		v.failAccess(w, r, err)
	}
}

// failAccess answers with an error of the users' store.
func (v *Server) failAccess(w http.ResponseWriter, r *http.Request, err error) {
	kind := error(nil)
	var file *access.Error
	switch {
	case errors.As(err, &file): // where it is and what the disk says is for the log
		v.closed(w, r, err)
		return
	case errors.Is(err, access.ErrInvalid):
		kind = ErrBadRequest
	case errors.Is(err, access.ErrNotFound):
		kind = ErrNotFound
	case errors.Is(err, access.ErrExists), errors.Is(err, access.ErrLastOperator):
		kind = ErrConflict
	case errors.Is(err, access.ErrBusyLogins):
		kind = ErrUnavailable
	}
	if kind == nil {
		v.fail(w, r, err)
		return
	}
	v.fail(w, r, answer{err, kind})
}

// replyAccess answers with x, or with an error of the users' store.
func (v *Server) replyAccess(w http.ResponseWriter, r *http.Request, x any, err error) {
	if err != nil {
		v.failAccess(w, r, err)
		return
	}
	respondJSON(w, http.StatusOK, x)
}

// answer is an error with the words of one and the status of another.
type answer struct{ err, kind error }

func (a answer) Error() string   { return a.err.Error() }
func (a answer) Unwrap() []error { return []error{a.err, a.kind} }

// setCookie gives the browser a session's secret, or with "" takes it back. No script can read it, and no other site's
// page can make the browser send it.
func (v *Server) setCookie(w http.ResponseWriter, r *http.Request, secret string) {
	c := &http.Cookie{
		Name: v.cookieName(r), Value: secret, Path: "/", HttpOnly: true, Secure: v.secure(r),
		SameSite: http.SameSiteStrictMode,
	}
	if secret == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// logout ends this session, or all of this user.
func (v *Server) logout(w http.ResponseWriter, r *http.Request) {
	c := callerOf(r.Context())
	if v.service.Access == nil {
		absent(w)
		return
	}
	if !v.fromOwnPage(w, r, c) {
		return
	}
	var b struct {
		Everywhere bool `json:"everywhere"`
	}
	if err := decodeJSON(r, &b); err != nil {
		v.fail(w, r, err)
		return
	}
	if c.Kind != access.ByLogin {
		respondJSON(w, http.StatusConflict, problem{"error", "conflict", "no users are configured, so there is no " +
			"logout", ""})
		return
	}
	var err error
	what := "logout"
	if b.Everywhere {
		what = "logout everywhere"
		err = v.service.Access.EndSessions(r.Context(), c.Name)
	} else {
		err = v.service.Access.EndSession(r.Context(), c.ID, c.Name)
	}
	if err != nil && !errors.Is(err, access.ErrNotFound) {
		v.failAccess(w, r, err)
		return
	}
	v.note(r.Context(), access.Entry{
		Minor: true, Who: c.Name, Via: c.via(), From: c.address, What: what,
		Status: http.StatusOK, Outcome: "done",
	})
	v.setCookie(w, r, "")
	respondJSON(w, http.StatusOK, map[string]string{"status": "success"})
}

// sessions lists the caller's own sessions; an operator sees all.
func (v *Server) sessions(w http.ResponseWriter, r *http.Request) {
	if v.service.Access == nil {
		absent(w)
		return
	}
	c := callerOf(r.Context())
	user := c.Name
	if c.Role.May(access.Operator) {
		user = ""
	}
	ss, err := v.service.Access.Sessions(r.Context(), user)
	type row struct {
		access.Session
		This bool `json:"this"` // the one that asks
	}
	rows := make([]row, len(ss))
	for i, s := range ss {
		rows[i] = row{s, s.ID == c.ID}
	}
	v.replyAccess(w, r, map[string]any{"sessions": rows}, err)
}

// removeSession ends one of the caller's own sessions; an operator ends any, which is a change: with ReadOnly only the
// own go.
func (v *Server) removeSession(w http.ResponseWriter, r *http.Request) {
	c := callerOf(r.Context())
	if v.service.Access == nil {
		absent(w)
		return
	}
	if !v.fromOwnPage(w, r, c) {
		return
	}
	var b struct {
		ID string `json:"id"`
	}
	err := decodeJSON(r, &b)
	if err == nil && b.ID == "" {
		err = fmt.Errorf("%w: id is missing", ErrBadRequest)
	}
	if err != nil {
		v.fail(w, r, err)
		return
	}
	user := c.Name
	if c.Role.May(access.Operator) {
		user = ""
	}
	e := access.Entry{Who: c.name(), Via: c.via(), From: c.address, What: "end session"}
	if user == "" && v.options.Guarding.ReadOnly {
		own, err := v.service.Access.Sessions(r.Context(), c.Name)
		if err != nil {
			v.failAccess(w, r, err)
			return
		}
		if !slices.ContainsFunc(own, func(s access.Session) bool { return s.ID == b.ID }) {
			rec := &recorder{ResponseWriter: w}
			readOnly(rec, "`dyno user password NAME` on its machine ends the sessions of a user")
			e.Minor, e.Status, e.Outcome = true, rec.code, rec.outcome()
			v.note(r.Context(), e)
			return
		}
	}
	end := func(w http.ResponseWriter, r *http.Request) {
		err := v.service.Access.EndSession(r.Context(), b.ID, user)
		v.replyAccess(w, r, map[string]string{"status": "success"}, err)
	}
	raw, _ := json.Marshal(b)
	e.Detail = detail(raw)
	if user == "" { // it may be another's
		v.written(w, r, e, end)
		return
	}
	rec := &recorder{ResponseWriter: w}
	if end(rec, r); rec.code == http.StatusOK {
		e.Minor, e.Status, e.Outcome = true, rec.code, rec.outcome()
		v.note(r.Context(), e)
	}
}
