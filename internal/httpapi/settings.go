package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/access"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// settingAPI is how this process is set up, and the inventory.
type settingAPI struct {
	service   *service.Service
	inventory *service.Inventory
	retention *service.Retention
	listen    string
}

func (h settingAPI) routes(v *Server) {
	v.get("/api/dyno/v1/settings", h.settings)
	// It logs in to servers that are not in the inventory. The page asks again and again, so the audit log has none of
	// it.
	v.register("GET /api/dyno/v1/discover", v.timed(v.admit(access.Operator, false, v.replies(h.discover))))
	v.get("/api/dyno/v1/grants", grants)
	v.post("/api/dyno/v1/target/add", h.addTarget)
	v.post("/api/dyno/v1/target/check", h.checkTarget)
	v.post("/api/dyno/v1/target/password", h.setPassword)
	v.post("/api/dyno/v1/target/redact", h.redactTarget)
	v.post("/api/dyno/v1/target/remove", h.removeTarget)
	v.post("/api/dyno/v1/retention", h.setRetention)
}

func (h settingAPI) settings(r *http.Request) (any, error) {
	x, err := h.service.Settings(r.Context())
	x.Listen = h.listen
	return x, err
}

func (h settingAPI) discover(r *http.Request) (any, error) {
	x, err := h.inventory.Discover(r.Context())
	x.Found = list(x.Found)
	return x, err
}

func grants(r *http.Request) (any, error) {
	p := query(r)
	task, flavor := p.need("task"), p.need("flavor")
	user := cmp.Or(p.text("user"), "dyno")
	if p.err != nil {
		return nil, p.err
	}
	all, err := app.Grants(dbms.Flavor(flavor), task, user, p.values["schema"])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadRequest, err)
	}
	return map[string]any{"task": task, "flavor": flavor, "user": user, "statements": list(all)}, nil
}

// entry is how a target is written in requests. There is no place for a password in it.
type entry struct {
	Name        string `json:"name"`
	URL         string `json:"url"`
	Defaults    string `json:"defaults_file"`
	PasswordEnv string `json:"password_env"`
	// Redact stores and shows no literals of its statements; without it the target stays as it is.
	Redact *bool `json:"redact"`
}

func (e entry) target() ledger.Target {
	return ledger.Target{
		Name: e.Name, URL: e.URL, Defaults: e.Defaults, PasswordEnv: e.PasswordEnv,
		Redact: e.Redact != nil && *e.Redact,
	}
}

func (h settingAPI) addTarget(r *http.Request) (any, error) {
	var x struct {
		entry
		Replace bool `json:"replace"`
	}
	err := decodeJSON(r, &x)
	if err == nil && (x.Name == "" || x.URL == "") {
		err = fmt.Errorf("%w: name and url are needed", errBadRequest)
	}
	if err != nil {
		return nil, err
	}
	t, err := h.inventory.AddTarget(r.Context(), x.target(), x.Redact, x.Replace)
	return coded{http.StatusCreated, t}, err
}

func (h settingAPI) checkTarget(r *http.Request) (any, error) {
	var x entry
	err := decodeJSON(r, &x)
	if err == nil && x.Name == "" && x.URL == "" {
		err = fmt.Errorf("%w: the name of a target of the inventory is needed, or a url", errBadRequest)
	}
	if err != nil {
		return nil, err
	}
	return h.inventory.Inspect(r.Context(), x.target())
}

func (h settingAPI) setPassword(r *http.Request) (any, error) {
	var x struct {
		Name     string `json:"name"`
		URL      string `json:"url"`
		Password string `json:"password"`
		Redact   *bool  `json:"redact"`
	}
	err := decodeJSON(r, &x)
	if err == nil && (x.Name == "" || x.Password == "") {
		err = fmt.Errorf("%w: name and password are needed", errBadRequest)
	}
	if err != nil {
		return nil, err
	}
	return h.inventory.SetTargetPassword(r.Context(), x.Name, x.URL, x.Password, x.Redact)
}

func (h settingAPI) redactTarget(r *http.Request) (any, error) {
	var x struct {
		Name   string `json:"name"`
		Redact *bool  `json:"redact"`
	}
	err := decodeJSON(r, &x)
	if err == nil && (x.Name == "" || x.Redact == nil) { // left out it would end what was asked for once
		err = fmt.Errorf("%w: name and redact are needed", errBadRequest)
	}
	if err != nil {
		return nil, err
	}
	return h.inventory.Redact(r.Context(), x.Name, *x.Redact)
}

func (h settingAPI) setRetention(r *http.Request) (any, error) {
	var x struct {
		Name  string  `json:"name"`
		Days  float64 `json:"days,omitzero"`
		Bytes float64 `json:"bytes,omitzero"`
	}
	err := decodeJSON(r, &x)
	if err == nil && strings.HasPrefix(x.Name, "max-") != (x.Bytes != 0) {
		err = fmt.Errorf("%w: a name with max- takes bytes, any other days", errBadRequest)
	}
	if err != nil {
		return nil, err
	}
	return x, h.retention.SetRetention(x.Name, cmp.Or(x.Bytes, x.Days))
}

func (h settingAPI) removeTarget(r *http.Request) (any, error) {
	var x struct {
		Name string `json:"name"`
	}
	err := decodeJSON(r, &x)
	if err == nil && x.Name == "" {
		err = fmt.Errorf("%w: the name is missing", errBadRequest)
	}
	if err != nil {
		return nil, err
	}
	return map[string]string{"removed": x.Name}, h.inventory.RemoveTarget(r.Context(), x.Name)
}
