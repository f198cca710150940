package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/dyno-perf/dyno/internal/store/access"
)

// loginAPI is how people log in and out.
type loginAPI struct{ *gate }

func (v loginAPI) routes(s *Server) {
	s.register("GET /api/dyno/v1/session", s.timed(v.sessionOf))
	s.register("POST /api/dyno/v1/login", s.timed(v.login))
	s.register("POST /api/dyno/v1/login/token", s.timed(v.loginFirst))
	s.register("POST /api/dyno/v1/logout", s.timed(v.admit(access.Viewer, true, v.logout)))
	s.personal("GET /api/dyno/v1/sessions", access.Viewer, v.sessions)
	s.register("POST /api/dyno/v1/session/remove", s.timed(v.admit(access.Viewer, true, v.removeSession)))
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
func (v loginAPI) sessionOf(w http.ResponseWriter, r *http.Request) {
	c, err := v.identify(r)
	if errors.Is(err, errNobody) {
		none := false
		if v.access != nil {
			some, err := v.access.HasUsers(r.Context())
			if err != nil {
				v.closed(w, r, err)
				return
			}
			none = !some
		}
		readOnly := v.guarding.ReadOnly
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

func (v loginAPI) who(c caller) who {
	return who{
		Name: c.name(), Role: c.Role, Via: c.via(), ID: c.ID, CSRF: c.CSRF, ReadOnly: v.guarding.ReadOnly,
		LoginNeeded: c.Kind != "" && c.Name != localUser, Version: v.options.Version, Every: v.options.Every.Seconds(),
	}
}

// login opens a session for a name and a password.
func (v loginAPI) login(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Name     string `json:"name"`
		Password string `json:"password"`
	}
	v.enter(w, r, &b, "login", func(ctx context.Context, from access.From) (access.Session, string, error) {
		s, err := v.access.Login(ctx, b.Name, b.Password, from)
		return s, b.Name, err
	})
}

// loginFirst opens the first session with the first-run token, and adds its operator, which the store writes into the
// audit log together with the user: only then is it known that somebody may. Without a name, where people of this
// machine alone come, it adds none.
func (v loginAPI) loginFirst(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Token    string `json:"token"`
		Name     string `json:"name"`
		Password string `json:"password"`
	}
	if _, err := v.identify(r); v.guarding.ReadOnly && !errors.Is(err, errStranger) { // it would add a user
		readOnly(w, "`dyno user add NAME --role operator` on its machine adds the first user")
		return
	}
	v.enter(w, r, &b, "login with the first-run token", func(ctx context.Context, from access.From) (
		access.Session, string, error,
	) {
		if b.Name == "" && b.Password == "" && v.linked() {
			s, err := v.access.LoginLocal(ctx, b.Token, from)
			if err == nil && v.guarding.Linked != nil {
				v.guarding.Linked()
			}
			return s, "", err
		}
		if v.guarding.ReadOnly {
			return access.Session{}, b.Name,
				fmt.Errorf("%w: with --read-only no user is added; the token alone lets in", access.ErrInvalid)
		}
		s, err := v.access.LoginFirst(ctx, b.Token, b.Name, b.Password, from)
		return s, b.Name, err
	})
}

// maxLogin is the most that a login may carry: anybody can send it.
const maxLogin = 8 << 10

// enter does what all logins do. The session is always a new one; that of the cookie that came along ends.
func (v loginAPI) enter(w http.ResponseWriter, r *http.Request, body any, what string,
	open func(context.Context, access.From) (access.Session, string, error),
) {
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
		v.fail(rec, r, err)
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
		if err := v.access.Sessions.End(r.Context(), c.ID, ""); err != nil &&
			!errors.Is(err, access.ErrNotFound) {
			v.log.Warn("the session before a login was not ended", "err", err)
		}
	}
	i, err := v.access.Sessions.Find(r.Context(), s.Secret, from.Account)
	if err != nil {
		v.closed(w, r, err)
		return
	}
	v.setCookie(w, r, s.Secret)
	respondJSON(w, http.StatusOK, v.who(caller{Identity: i, address: from.Address}))
}

func (v loginAPI) isUser(ctx context.Context, name string) bool {
	us, err := v.access.Users(ctx)
	for _, u := range us {
		if err == nil && u.Name == name {
			return true
		}
	}
	return false
}

// setCookie gives the browser a session's secret, or with "" takes it back. No script can read it, and no other site's
// page can make the browser send it.
func (v *origins) setCookie(w http.ResponseWriter, r *http.Request, secret string) {
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
func (v loginAPI) logout(w http.ResponseWriter, r *http.Request) {
	c := callerOf(r.Context())
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
		err = v.access.Sessions.EndAll(r.Context(), c.Name)
	} else {
		err = v.access.Sessions.End(r.Context(), c.ID, c.Name)
	}
	if err != nil && !errors.Is(err, access.ErrNotFound) {
		v.fail(w, r, err)
		return
	}
	v.note(r.Context(), access.Entry{
		Minor: true, Who: c.Name, Via: c.via(), From: c.address, What: what,
		Status: http.StatusOK, Outcome: "done",
	})
	v.setCookie(w, r, "")
	respondJSON(w, http.StatusOK, done)
}

// sessions lists the caller's own sessions; an operator sees all.
func (v loginAPI) sessions(r *http.Request) (any, error) {
	c := callerOf(r.Context())
	user := c.Name
	if c.Role.May(access.Operator) {
		user = ""
	}
	ss, err := v.access.Sessions.List(r.Context(), user)
	type row struct {
		access.Session
		This bool `json:"this"` // the one that asks
	}
	rows := make([]row, len(ss))
	for i, s := range ss {
		rows[i] = row{s, s.ID == c.ID}
	}
	return map[string]any{"sessions": rows}, err
}

// removeSession ends one of the caller's own sessions; an operator ends any, which is a change: with ReadOnly only the
// own go.
func (v loginAPI) removeSession(w http.ResponseWriter, r *http.Request) {
	c := callerOf(r.Context())
	if !v.fromOwnPage(w, r, c) {
		return
	}
	var b struct {
		ID string `json:"id"`
	}
	err := decodeJSON(r, &b)
	if err == nil && b.ID == "" {
		err = fmt.Errorf("%w: id is missing", errBadRequest)
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
	if user == "" && v.guarding.ReadOnly {
		own, err := v.access.Sessions.List(r.Context(), c.Name)
		if err != nil {
			v.fail(w, r, err)
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
	end := v.replies(func(r *http.Request) (any, error) {
		return done, v.access.Sessions.End(r.Context(), b.ID, user)
	})
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
