package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dyno-perf/dyno/internal/store/access"
)

// userAPI is the users and their API tokens.
type userAPI struct {
	access    *access.Store
	accountOf func(*http.Request) string
}

func (h userAPI) routes(v *Server) {
	post := func(path string, need access.Role, h respond) { v.changeBy("POST "+path, need, true, v.replies(h)) }
	v.personal("GET /api/dyno/v1/users", access.Operator, h.users)
	post("/api/dyno/v1/user/add", access.Operator, h.addUser)
	post("/api/dyno/v1/user/password", access.Viewer, h.setPassword)
	post("/api/dyno/v1/user/role", access.Operator, h.setRole)
	post("/api/dyno/v1/user/remove", access.Operator, h.removeUser)
	v.personal("GET /api/dyno/v1/tokens", access.Operator, h.tokens)
	post("/api/dyno/v1/token/add", access.Operator, h.addToken)
	post("/api/dyno/v1/token/remove", access.Operator, h.removeToken)
	v.personal("GET /api/dyno/v1/audit", access.Operator, h.audit)
}

// done is the answer to what has no other.
var done = map[string]string{"status": "success"}

func (h userAPI) users(r *http.Request) (any, error) {
	us, err := h.access.Users(r.Context())
	return map[string]any{"users": list(us)}, err
}

func (h userAPI) addUser(r *http.Request) (any, error) {
	var b struct {
		Name     string      `json:"name"`
		Role     access.Role `json:"role"`
		Password string      `json:"password"`
	}
	if err := decodeJSON(r, &b); err != nil {
		return nil, err
	}
	return coded{http.StatusCreated, map[string]any{"name": b.Name, "role": b.Role}},
		h.access.AddUser(r.Context(), b.Name, b.Role, b.Password)
}

// setPassword sets the caller's own password, or as an operator another's; either way whoever sits there must know the
// caller's own, so that a page left open is not enough.
func (h userAPI) setPassword(r *http.Request) (any, error) {
	var b struct {
		Name     string `json:"name"`
		Current  string `json:"current"`
		Password string `json:"password"`
	}
	if err := decodeJSON(r, &b); err != nil {
		return nil, err
	}
	c := callerOf(r.Context())
	if b.Name == "" {
		b.Name = c.Name
	}
	if b.Name != c.Name && !c.Role.May(access.Operator) {
		return nil, answer{errors.New("a viewer may only set their own password"), errForbidden}
	}
	if c.Kind != access.ByLogin {
		return done, h.access.SetPassword(r.Context(), b.Name, b.Password, "")
	}
	keep := ""
	if b.Name == c.Name {
		keep = c.ID
	}
	from := access.From{Address: c.address, Account: h.accountOf(r)}
	err := h.access.ChangePassword(r.Context(), c.Name, b.Current, from, b.Name, b.Password, keep)
	if errors.Is(err, access.ErrWrong) { // which is not a missing login here
		err = answer{errors.New("the current password is wrong"), errForbidden}
	}
	return done, err
}

func (h userAPI) setRole(r *http.Request) (any, error) {
	var b struct {
		Name string      `json:"name"`
		Role access.Role `json:"role"`
	}
	if err := decodeJSON(r, &b); err != nil {
		return nil, err
	}
	return done, h.access.SetRole(r.Context(), b.Name, b.Role)
}

// removeUser removes a user and tells which tokens that user made: they still let somebody in.
func (h userAPI) removeUser(r *http.Request) (any, error) {
	var b struct {
		Name string `json:"name"`
	}
	if err := decodeJSON(r, &b); err != nil {
		return nil, err
	}
	if b.Name == callerOf(r.Context()).Name {
		return nil, answer{errors.New("you cannot remove your own user"), errConflict}
	}
	if err := h.access.RemoveUser(r.Context(), b.Name, false); err != nil {
		return nil, err
	}
	ts, err := h.access.Tokens.List(r.Context())
	left := []string{}
	for _, t := range ts {
		if t.By == b.Name {
			left = append(left, t.Name)
		}
	}
	return map[string]any{"tokens": left}, err
}

func (h userAPI) tokens(r *http.Request) (any, error) {
	ts, err := h.access.Tokens.List(r.Context())
	return map[string]any{"tokens": list(ts)}, err
}

// tokenLife is how long an API token is good for unless something else is asked for.
const tokenLife = 365 * 24 * time.Hour

// addToken makes a token; its secret is told in this answer and never again.
func (h userAPI) addToken(r *http.Request) (any, error) {
	var b struct {
		Name string      `json:"name"`
		Role access.Role `json:"role"`
		Days int         `json:"days"`
	}
	if err := decodeJSON(r, &b); err != nil {
		return nil, err
	}
	life := tokenLife
	if b.Days != 0 {
		if life = time.Duration(b.Days) * 24 * time.Hour; b.Days < 0 || b.Days > int(access.MaxTokenLife.Hours()/24) {
			return nil, fmt.Errorf("%w: days is 1 to %d", errBadRequest, int(access.MaxTokenLife.Hours()/24))
		}
	}
	t, err := h.access.Tokens.Add(r.Context(), b.Name, b.Role, callerOf(r.Context()).Name, life)
	return coded{http.StatusCreated, struct {
		access.Token
		Secret string `json:"token"`
	}{t, t.Secret}}, err
}

func (h userAPI) removeToken(r *http.Request) (any, error) {
	var b struct {
		ID string `json:"id"`
	}
	if err := decodeJSON(r, &b); err != nil {
		return nil, err
	}
	return done, h.access.Tokens.Remove(r.Context(), b.ID)
}

// audit tells what was tried, newest first.
func (h userAPI) audit(r *http.Request) (any, error) {
	p := query(r)
	n, before := p.most(100, 1000), p.limit("before", 0)
	if p.err != nil {
		return nil, p.err
	}
	es, err := h.access.Audit.List(r.Context(), int64(before), n)
	return map[string]any{"entries": list(es)}, err
}
