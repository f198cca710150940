package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/discovery"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/access"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Settings is how this process is set up, and the inventory.
type Settings interface {
	Settings(ctx context.Context) (service.Settings, error)
	// Discover looks for servers on this machine. It takes a few seconds and logs in to them, once each.
	Discover(ctx context.Context) (discovery.Discovery, error)
	// Grants writes the statements that give an account what a task needs. What is asked wrongly wraps ErrBadRequest.
	Grants(flavor dbms.Flavor, task, user string, schemas []string) ([]string, error)
	// SetRetention changes for how many days a kind of data is kept: name is the flag of dyno serve without its dashes.
	// An unknown name and days out of bounds are ErrBadRequest, one that the command line fixed is ErrConflict.
	SetRetention(name string, days float64) error
	Inventory
}

// Inventory is what is watched. What is written wrongly wraps ErrBadRequest, an unknown name ErrNotFound.
type Inventory interface {
	// AddTarget keeps how to reach a server. Another one of that name is ErrConflict, unless it may be replaced.
	AddTarget(ctx context.Context, t ledger.Target, replace bool) (ledger.Target, error)
	// Inspect tells what can be observed on a server of the inventory, of which only the name is given, or on one that
	// may be added. One that is not reached is an answer.
	Inspect(ctx context.Context, t ledger.Target) (app.Checked, error)
	RemoveTarget(ctx context.Context, name string) error
	// SetTargetPassword keeps a password for a target, and with a url where it goes, see
	// service.Service.SetTargetPassword. No answer has the password.
	SetTargetPassword(ctx context.Context, name, url, password string) (ledger.Target, error)
}

func (v *Server) settingRoutes() {
	v.handle("GET /api/dyno/v1/settings", v.settings)
	// It logs in to servers that are not in the inventory. The page asks again and again, so the audit log has none of
	// it.
	v.register("GET /api/dyno/v1/discover", v.timed(v.admit(access.Operator, false, v.discover)))
	v.handle("GET /api/dyno/v1/grants", v.grants)
	v.change("POST /api/dyno/v1/target/add", v.addTarget)
	v.change("POST /api/dyno/v1/target/check", v.checkTarget)
	v.change("POST /api/dyno/v1/target/password", v.setTargetPassword)
	v.change("POST /api/dyno/v1/target/remove", v.removeTarget)
	v.change("POST /api/dyno/v1/retention", v.setRetention)
}

func (v *Server) settings(w http.ResponseWriter, r *http.Request) {
	if v.service.Settings == nil {
		absent(w)
		return
	}
	x, err := v.service.Settings.Settings(r.Context())
	v.reply(w, r, x, err)
}

func (v *Server) discover(w http.ResponseWriter, r *http.Request) {
	if v.service.Settings == nil {
		absent(w)
		return
	}
	x, err := v.service.Settings.Discover(r.Context())
	x.Found = list(x.Found)
	v.reply(w, r, x, err)
}

func (v *Server) grants(w http.ResponseWriter, r *http.Request) {
	p := params{values: r.URL.Query()}
	task, flavor := p.need("task"), p.need("flavor")
	user := p.text("user")
	if user == "" {
		user = "dyno"
	}
	if v.service.Settings == nil || p.err != nil {
		refuse(w, p.err)
		return
	}
	all, err := v.service.Settings.Grants(dbms.Flavor(flavor), task, user, p.values["schema"])
	v.reply(w, r, map[string]any{"task": task, "flavor": flavor, "user": user, "statements": list(all)}, err)
}

// entry is how a target is written in requests. There is no place for a password in it.
type entry struct {
	Name        string `json:"name"`
	URL         string `json:"url"`
	Defaults    string `json:"defaults_file"`
	PasswordEnv string `json:"password_env"`
}

func (e entry) target() ledger.Target {
	return ledger.Target{Name: e.Name, URL: e.URL, Defaults: e.Defaults, PasswordEnv: e.PasswordEnv}
}

func (v *Server) addTarget(w http.ResponseWriter, r *http.Request) {
	if v.service.Settings == nil {
		absent(w)
		return
	}
	var x struct {
		entry
		Replace bool `json:"replace"`
	}
	err := decodeJSON(r, &x)
	if err == nil && (x.Name == "" || x.URL == "") {
		err = fmt.Errorf("%w: name and url are needed", ErrBadRequest)
	}
	var t ledger.Target
	if err == nil {
		t, err = v.service.Settings.AddTarget(r.Context(), x.target(), x.Replace)
	}
	if err != nil {
		v.fail(w, r, err)
		return
	}
	respondJSON(w, http.StatusCreated, t)
}

func (v *Server) checkTarget(w http.ResponseWriter, r *http.Request) {
	if v.service.Settings == nil {
		absent(w)
		return
	}
	var x entry
	err := decodeJSON(r, &x)
	if err == nil && x.Name == "" && x.URL == "" {
		err = fmt.Errorf("%w: the name of a target of the inventory is needed, or a url", ErrBadRequest)
	}
	var c app.Checked
	if err == nil {
		c, err = v.service.Settings.Inspect(r.Context(), x.target())
	}
	v.reply(w, r, c, err)
}

func (v *Server) setTargetPassword(w http.ResponseWriter, r *http.Request) {
	if v.service.Settings == nil {
		absent(w)
		return
	}
	var x struct {
		Name     string `json:"name"`
		URL      string `json:"url"`
		Password string `json:"password"`
	}
	err := decodeJSON(r, &x)
	if err == nil && (x.Name == "" || x.Password == "") {
		err = fmt.Errorf("%w: name and password are needed", ErrBadRequest)
	}
	var t ledger.Target
	if err == nil {
		t, err = v.service.Settings.SetTargetPassword(r.Context(), x.Name, x.URL, x.Password)
	}
	v.reply(w, r, t, err)
}

func (v *Server) setRetention(w http.ResponseWriter, r *http.Request) {
	if v.service.Settings == nil {
		absent(w)
		return
	}
	var x struct {
		Name string  `json:"name"`
		Days float64 `json:"days"`
	}
	err := decodeJSON(r, &x)
	if err == nil {
		err = v.service.Settings.SetRetention(x.Name, x.Days)
	}
	v.reply(w, r, x, err)
}

func (v *Server) removeTarget(w http.ResponseWriter, r *http.Request) {
	if v.service.Settings == nil {
		absent(w)
		return
	}
	var x struct {
		Name string `json:"name"`
	}
	err := decodeJSON(r, &x)
	if err == nil && x.Name == "" {
		err = fmt.Errorf("%w: the name is missing", ErrBadRequest)
	}
	if err == nil {
		err = v.service.Settings.RemoveTarget(r.Context(), x.Name)
	}
	v.reply(w, r, map[string]string{"removed": x.Name}, err)
}
