package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dyno-perf/dyno/internal/store/access"
)

// People are the users. Errors are those of access.Store.
type People interface {
	Users(ctx context.Context) ([]access.User, error)
	AddUser(ctx context.Context, name string, role access.Role, password string) error
	SetPassword(ctx context.Context, name, password, keep string) error
	SetRole(ctx context.Context, name string, role access.Role) error
	RemoveUser(ctx context.Context, name string, last bool) error
}

// errForbidden is the answer to what the caller may not do.
var errForbidden = errors.New("forbidden")

// Tokens let programs in. Errors are those of access.Store.
type Tokens interface {
	Tokens(ctx context.Context) ([]access.Token, error)
	AddToken(ctx context.Context, name string, role access.Role, by string, life time.Duration) (access.Token, error)
	RemoveToken(ctx context.Context, id string) error
}

func (v *Server) users(w http.ResponseWriter, r *http.Request) {
	if v.service.Access == nil {
		absent(w)
		return
	}
	us, err := v.service.Access.Users(r.Context())
	v.replyAccess(w, r, map[string]any{"users": list(us)}, err)
}

// order decodes a body and carries it out.
func (v *Server) order(w http.ResponseWriter, r *http.Request, body any, code int, do func(ctx context.Context,
	c caller) (any, error),
) {
	if v.service.Access == nil {
		absent(w)
		return
	}
	if err := decodeJSON(r, body); err != nil {
		v.fail(w, r, err)
		return
	}
	x, err := do(r.Context(), callerOf(r.Context()))
	if err != nil {
		v.refuseOrder(w, r, err)
		return
	}
	if x == nil {
		x = map[string]string{"status": "success"}
	}
	respondJSON(w, code, x)
}

// refuseOrder answers with an error. A wrong password is not a missing login here.
func (v *Server) refuseOrder(w http.ResponseWriter, r *http.Request, err error) {
	var pause *access.PauseError
	switch {
	case errors.Is(err, access.ErrWrong):
		respondError(w, http.StatusForbidden, "forbidden", "the current password is wrong")
	case errors.Is(err, errForbidden):
		respondError(w, http.StatusForbidden, "forbidden", err.Error())
	case errors.As(err, &pause):
		v.refuseLogin(w, r, err)
	default:
		v.failAccess(w, r, err)
	}
}

func (v *Server) addUser(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Name     string      `json:"name"`
		Role     access.Role `json:"role"`
		Password string      `json:"password"`
	}
	v.order(w, r, &b, http.StatusCreated, func(ctx context.Context, c caller) (any, error) {
		return map[string]any{"name": b.Name, "role": b.Role}, v.service.Access.AddUser(ctx, b.Name, b.Role, b.Password)
	})
}

// setPassword sets the caller's own password, or as an operator another's; either way whoever sits there must know the
// caller's own, so that a page left open is not enough.
func (v *Server) setPassword(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Name     string `json:"name"`
		Current  string `json:"current"`
		Password string `json:"password"`
	}
	v.order(w, r, &b, http.StatusOK, func(ctx context.Context, c caller) (any, error) {
		if b.Name == "" {
			b.Name = c.Name
		}
		if b.Name != c.Name && !c.Role.May(access.Operator) {
			return nil, answer{errors.New("a viewer may only set their own password"), errForbidden}
		}
		if c.Kind != access.ByLogin {
			return nil, v.service.Access.SetPassword(ctx, b.Name, b.Password, "")
		}
		keep := ""
		if b.Name == c.Name {
			keep = c.ID
		}
		return nil, v.service.Access.ChangePassword(ctx, c.Name, b.Current, access.From{
			Address: c.address,
			Account: v.accountOf(r),
		}, b.Name, b.Password, keep)
	})
}

func (v *Server) setRole(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Name string      `json:"name"`
		Role access.Role `json:"role"`
	}
	v.order(w, r, &b, http.StatusOK, func(ctx context.Context, c caller) (any, error) {
		return nil, v.service.Access.SetRole(ctx, b.Name, b.Role)
	})
}

// removeUser removes a user and tells which tokens that user made: they still let somebody in.
func (v *Server) removeUser(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Name string `json:"name"`
	}
	v.order(w, r, &b, http.StatusOK, func(ctx context.Context, c caller) (any, error) {
		if b.Name == c.Name {
			return nil, answer{errors.New("you cannot remove your own user"), ErrConflict}
		}
		if err := v.service.Access.RemoveUser(ctx, b.Name, false); err != nil {
			return nil, err
		}
		ts, err := v.service.Access.Tokens(ctx)
		left := []string{}
		for _, t := range ts {
			if t.By == b.Name {
				left = append(left, t.Name)
			}
		}
		return map[string]any{"tokens": left}, err
	})
}

func (v *Server) tokens(w http.ResponseWriter, r *http.Request) {
	if v.service.Access == nil {
		absent(w)
		return
	}
	ts, err := v.service.Access.Tokens(r.Context())
	v.replyAccess(w, r, map[string]any{"tokens": list(ts)}, err)
}

// tokenLife is how long an API token is good for unless something else is asked for.
const tokenLife = 365 * 24 * time.Hour

// addToken makes a token; its secret is told in this answer and never again.
func (v *Server) addToken(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Name string      `json:"name"`
		Role access.Role `json:"role"`
		Days int         `json:"days"`
	}
	v.order(w, r, &b, http.StatusCreated, func(ctx context.Context, c caller) (any, error) {
		life := tokenLife
		if b.Days != 0 {
			if life = time.Duration(b.Days) * 24 * time.Hour; b.Days < 0 ||
				b.Days > int(access.MaxTokenLife.Hours()/24) {
				return nil, fmt.Errorf("%w: days is 1 to %d", ErrBadRequest, int(access.MaxTokenLife.Hours()/24))
			}
		}
		t, err := v.service.Access.AddToken(ctx, b.Name, b.Role, c.Name, life)
		return struct {
			access.Token
			Secret string `json:"token"`
		}{t, t.Secret}, err
	})
}

func (v *Server) removeToken(w http.ResponseWriter, r *http.Request) {
	var b struct {
		ID string `json:"id"`
	}
	v.order(w, r, &b, http.StatusOK, func(ctx context.Context, c caller) (any, error) {
		return nil, v.service.Access.RemoveToken(ctx, b.ID)
	})
}
