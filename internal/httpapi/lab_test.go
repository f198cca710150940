package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

func TestLab(t *testing.T) {
	h := newWorld(t, Options{})
	f := func(method, path, body string, code int, want string, headers ...string) {
		t.Helper()
		w := request(h, method, "/api/dyno/v1/"+path, body, headers...)
		if w.Code != code || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %d %s", path, w.Code, w.Body, code, want)
		}
		if code >= 400 {
			told(t, w)
		}
	}
	get := func(path string, code int, want string) {
		t.Helper()
		f("GET", path, "", code, want)
	}
	post := func(path, body string, code int, want string) {
		t.Helper()
		f("POST", path, body, code, want, "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin")
	}
	get("experiments", 200, `{"experiments":[]}`)
	get("experiment?id=x-2", 404, "x-2")
	get("experiment", 400, "")
	get("experiment?with=x-1", 400, "")
	get("experiment?id=x-1&with=x-2", 404, "")
	get("recipes", 200, `"name":"threads"`)
	get("recipe?name=threads", 200, "")
	get("recipe?name=nothing", 404, "")
	get("recipe", 400, "")
	get("runs", 200, `{"runs":[]}`)
	get("runs?limit=0", 400, "")
	get("runs?limit=1000000", 400, "")
	get("run?id=r-2", 404, "")
	get("run", 400, "")
	get("documents?limit=3", 200, `{"documents":[]}`)
	get("documents?limit=x", 400, "")
	post("recipe/run", `{"name":"nothing"}`, 404, "")
	post("recipe/run", `{"name":"threads","install":true}`, 400, "")
	post("recipe/run", `{`, 400, "")
	post("experiment/resume", `{"id":"x-2"}`, 404, "")
	for _, path := range []string{"recipe/run", "experiment/resume"} {
		f("POST", path, `{"name":"threads","id":"x-1"}`, http.StatusUnsupportedMediaType, "")
		f("POST", path, `{"id":"x-1"}`, http.StatusForbidden, "", "Content-Type", "application/json", "Sec-Fetch-Site",
			"cross-site")
	}
	if all := h.Tasks.All(); len(all) > 0 {
		t.Errorf("begun: %+v", all)
	}
}
