package httpapi

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"dyno/internal/act"
	"dyno/internal/app"
	"dyno/internal/event"
	"dyno/internal/journal"
	"dyno/internal/known"
	"dyno/internal/report"
	"dyno/internal/state"
	"dyno/internal/store/access"
	"dyno/internal/store/ledger"
)

var rewrite = flag.Bool("update", false, "write openapi.yaml anew")

// answered is one path as the document tells it.
type answered struct {
	path   string // "GET /api/dyno/v1/targets"
	room   string // the part of the page
	about  string
	params []asked
	body   any      // what is sent, the zero value of a struct
	need   []string // members of the body that must be there
	gives  any      // what is answered, the zero value of a struct; a media type for what is no JSON
	code   int      // 0 is 200
	errors []int    // beside those that every path has
}

// asked is a parameter.
type asked struct {
	name, about string
	kind        string // "string", "integer", "count", "time", "span", "target"
	need, many  bool
	example     any
	usual       any // what counts without it, where that is one value
}

var (
	ofTarget  = asked{name: "target", about: "name of a target", kind: "string", need: true}
	anyTarget = asked{name: "target", about: "name of a target; without it all", kind: "string"}
	ofID      = asked{name: "id", about: "id", kind: "string", need: true}
	from      = asked{name: "from", about: "begin of the window, included, also told from now: -1h30m, now-7d; without it an hour before to", kind: "time"}
	until     = asked{name: "to", about: "end of the window, included, also told from now: -5m; without it now", kind: "time"}
)

func limitOf(usual int) asked {
	return asked{name: "limit", about: "at most so many", kind: "count", usual: usual}
}

type success struct {
	Status string `json:"status"`
}

type line struct {
	Name    string     `json:"name"`
	Expr    string     `json:"expr"` // PromQL of the line
	Limit   bool       `json:"limit,omitzero"`
	Rest    bool       `json:"rest,omitzero"`
	Unknown string     `json:"unknown,omitzero"` // why there are no figures
	Mean    []*float64 `json:"mean"`             // of each bucket, null where nothing was observed
	Min     []*float64 `json:"min,omitzero"`
	Max     []*float64 `json:"max,omitzero"`
	Compare []*float64 `json:"compare,omitzero"` // the mean so much earlier
}

type panelHead struct {
	ID      string `json:"id"`
	Group   string `json:"group"`
	Title   string `json:"title"`
	Unit    string `json:"unit"`
	About   string `json:"about"`
	Stacked bool   `json:"stacked"`
}

type graph struct {
	panelHead
	Lines []line `json:"lines"`
}

type panelDefinition struct {
	panelHead
	Lines []struct {
		Name  string `json:"name"`
		Expr  string `json:"expr"`
		Limit bool   `json:"limit,omitzero"`
		Rest  bool   `json:"rest,omitzero"`
	} `json:"lines"`
}

type targetRow struct {
	Target
	Labels map[string]string `json:"labels,omitempty"`
}

type sessionRow struct {
	access.Session
	This bool `json:"this"`
}

type newToken struct {
	access.Token
	Secret string `json:"token"` // told this once
}

// classAny is a class with or without its course.
type classAnyList struct {
	Classes  []classRow       `json:"classes"`
	Found    known.Value[int] `json:"found,omitzero"` // of a search: how many classes have it, those that the list leaves out too
	Coverage Coverage         `json:"coverage"`
}

type intent struct {
	Finding   string      `json:"finding"`
	Diagnosis string      `json:"diagnosis"`
	Execute   bool        `json:"execute"`
	Preview   act.Preview `json:"preview"`
	Text      []string    `json:"text"`
}

// either is an answer of one of two forms: a preview, or with execute a task and 202.
type either struct{ preview, task any }

func described() []answered {
	idBody := struct {
		ID string `json:"id"`
	}{}
	return []answered{
		{path: "GET /{$}", room: "this", about: "Name, version and all paths.", gives: struct {
			Application string   `json:"application"`
			Version     string   `json:"version"`
			Paths       []string `json:"paths"`
		}{}},
		{path: "GET /openapi.yaml", room: "this", about: "This document.", gives: "application/yaml"},

		{path: "GET /targets", room: "fleet", about: "Every server that is watched.", gives: struct {
			Targets []targetRow `json:"targets"`
		}{}},
		{path: "GET /health", room: "fleet", about: "What is wrong with Dyno itself now: it cannot store, has gaps, is starved of CPU, cannot ask a server. The worst first.", gives: struct {
			Troubles []app.Trouble `json:"troubles"`
		}{}},
		{path: "GET /sources", room: "fleet", about: "What is read of a target, also what gives nothing.", params: []asked{ofTarget}, errors: []int{404}, gives: struct {
			Target  string   `json:"target"`
			Sources []Source `json:"sources"`
		}{}},
		{path: "GET /cost", room: "fleet", about: "What watching a target costs, as means over a span that ends now.", errors: []int{404}, gives: app.Price{}, params: []asked{
			ofTarget, {name: "span", about: "how far back", kind: "span", usual: "5m"},
		}},

		{path: "GET /settings", room: "settings", about: "How this process is set up, and what it keeps.", gives: app.Settings{}},
		{path: "GET /discover", room: "settings", about: "Servers of this machine, for operators. It logs in once to each; an answer holds for five seconds.", gives: app.Discovery{}},
		{path: "GET /grants", room: "settings", about: "Statements that give an account what a task needs, and no more. Nothing is executed.", params: []asked{
			{name: "task", about: "watch, explain, change or load", kind: "string", need: true, example: "watch"},
			{name: "flavor", about: "mysql, percona or mariadb", kind: "string", need: true, example: "mariadb"},
			{name: "user", about: "account, name or name@host", kind: "string", usual: "dyno"},
			{name: "schema", about: "schema that the task may touch", kind: "string", many: true},
		}, gives: struct {
			Task       string   `json:"task"`
			Flavor     string   `json:"flavor"`
			User       string   `json:"user"`
			Statements []string `json:"statements"`
		}{}},
		{path: "POST /target/add", room: "settings", about: "Puts a server into the inventory. There is no place for a password: name the file or the variable of Dyno's that holds it.", code: 201, errors: []int{409}, need: []string{"name", "url"}, body: struct {
			Name        string `json:"name"`
			URL         string `json:"url"`
			Defaults    string `json:"defaults_file"`
			PasswordEnv string `json:"password_env"`
			Replace     bool   `json:"replace"`
		}{}, gives: ledger.Target{}},
		{path: "POST /target/check", room: "settings", about: "Tries to reach a server of the inventory (name) or one that may be added to it (url), and tells what can be observed there.", errors: []int{404}, body: entry{}, gives: app.Checked{}},
		{path: "POST /target/password", room: "settings", about: "Keeps a password for a target, in a file that only Dyno's account reads, and sends it nowhere but to the target's address. With url the target gets that address, and is added when there is none of that name. No answer has the password.", errors: []int{404}, need: []string{"name", "password"}, body: struct {
			Name     string `json:"name"`
			URL      string `json:"url"`
			Password string `json:"password"`
		}{}, gives: ledger.Target{}},
		{path: "POST /retention", room: "settings", about: "Changes for how many days a kind of data is kept. name is the flag of dyno serve without its dashes: keep, keep-minutes, keep-states, keep-classes. Where that flag was given the answer is 409.", errors: []int{409}, need: []string{"name", "days"}, body: struct {
			Name string  `json:"name"`
			Days float64 `json:"days"`
		}{}, gives: struct {
			Name string  `json:"name"`
			Days float64 `json:"days"`
		}{}},
		{path: "POST /target/remove", room: "settings", about: "Takes a server off the inventory. What was stored about it stays.", errors: []int{404}, need: []string{"name"}, body: struct {
			Name string `json:"name"`
		}{}, gives: struct {
			Removed string `json:"removed"`
		}{}},

		{path: "GET /session", room: "access", about: "Who is asking.", gives: who{}},
		{path: "POST /login", room: "access", about: "Opens a session and sets its cookie.", errors: []int{409, 429}, need: []string{"name", "password"}, body: struct {
			Name     string `json:"name"`
			Password string `json:"password"`
		}{}, gives: who{}},
		{path: "POST /login/token", room: "access", about: "Opens the first session with the first-run token, and adds its operator. Where the answer of /session has link, the token alone opens one without adding a user.", errors: []int{409, 429}, need: []string{"token"}, body: struct {
			Token    string `json:"token"`
			Name     string `json:"name"`
			Password string `json:"password"`
		}{}, gives: who{}},
		{path: "POST /logout", room: "access", about: "Ends this session, or all of this user.", errors: []int{409}, body: struct {
			Everywhere bool `json:"everywhere"`
		}{}, gives: success{}},
		{path: "GET /sessions", room: "access", about: "Sessions: the own ones, an operator sees all.", gives: struct {
			Sessions []sessionRow `json:"sessions"`
		}{}},
		{path: "POST /session/remove", room: "access", about: "Ends a session.", errors: []int{404}, need: []string{"id"}, body: idBody, gives: success{}},
		{path: "GET /users", room: "access", about: "Users, for operators.", gives: struct {
			Users []access.User `json:"users"`
		}{}},
		{path: "POST /user/add", room: "access", about: "Adds a user. The first is an operator, and from then on a login is needed.", code: 201, errors: []int{409}, need: []string{"name", "role", "password"}, body: struct {
			Name     string      `json:"name"`
			Role     access.Role `json:"role"`
			Password string      `json:"password"`
		}{}, gives: struct {
			Name string      `json:"name"`
			Role access.Role `json:"role"`
		}{}},
		{path: "POST /user/password", room: "access", about: "Sets a password and ends the user's other sessions.", errors: []int{404, 429}, need: []string{"password"}, body: struct {
			Name     string `json:"name"`
			Current  string `json:"current"`
			Password string `json:"password"`
		}{}, gives: success{}},
		{path: "POST /user/role", room: "access", about: "Changes what a user may do, from the next request on.", errors: []int{404, 409}, need: []string{"name", "role"}, body: struct {
			Name string      `json:"name"`
			Role access.Role `json:"role"`
		}{}, gives: success{}},
		{path: "POST /user/remove", room: "access", about: "Removes a user.", errors: []int{404, 409}, need: []string{"name"}, body: struct {
			Name string `json:"name"`
		}{}, gives: struct {
			Tokens []string `json:"tokens"` // that the user made and that still let somebody in
		}{}},
		{path: "GET /tokens", room: "access", about: "API tokens, for operators.", gives: struct {
			Tokens []access.Token `json:"tokens"`
		}{}},
		{path: "POST /token/add", room: "access", about: "Makes an API token; its secret is told this once.", code: 201, errors: []int{409}, need: []string{"name", "role"}, body: struct {
			Name string      `json:"name"`
			Role access.Role `json:"role"`
			Days int         `json:"days"`
		}{}, gives: newToken{}},
		{path: "POST /token/remove", room: "access", about: "From now on the token lets nobody in.", errors: []int{404}, need: []string{"id"}, body: idBody, gives: success{}},
		{path: "GET /audit", room: "access", about: "What was tried, newest first, for operators.", params: []asked{limitOf(100), {name: "before", about: "entries before this one", kind: "integer"}}, gives: struct {
			Entries []access.Entry `json:"entries"`
		}{}},

		{path: "GET /state", room: "now and then", about: "The newest state at or before a moment: sessions, locks, transactions.", errors: []int{404}, params: []asked{ofTarget, {name: "at", about: "moment; now without it", kind: "time"}}, gives: state.State{}},
		{path: "GET /states", room: "now and then", about: "Moments at which a state is kept.", errors: []int{404}, params: []asked{ofTarget, from, until, limitOf(1000)}, gives: struct {
			Target string      `json:"target"`
			Times  []time.Time `json:"times"`
		}{}},
		{path: "GET /events", room: "now and then", about: "Marks on the timeline.", errors: []int{404}, params: []asked{anyTarget, from, until, {name: "kind", about: "only these", kind: "string", many: true}}, gives: eventList{}},
		{path: "POST /annotate", room: "now and then", about: "Keeps a note on the timeline.", code: 201, errors: []int{404}, need: []string{"text"}, body: struct {
			Text   string    `json:"text"`
			Target string    `json:"target"`
			At     time.Time `json:"at"`
			Until  time.Time `json:"until"`
		}{}, gives: event.Event{}},
		{path: "GET /stream", room: "now and then", about: "Server-sent events: each reading of each target as it comes.", params: []asked{{name: "target", about: "only these", kind: "string", many: true}, {name: "full", about: "1: whole states", kind: "string"}}, gives: "text/event-stream", errors: []int{404}},

		{path: "GET /classes", room: "queries", about: "Query classes of a window, those with the most time first.", errors: []int{404}, params: []asked{ofTarget, from, until, limitOf(50), {name: "search", about: "only classes with all of these words in their statement, id, tables or default database, whatever the case", kind: "string"}, {name: "lines", about: "1: each with its course", kind: "string"}}, gives: classAnyList{}},
		{path: "GET /class", room: "queries", about: "One class over a window.", errors: []int{404}, params: []asked{ofTarget, ofID, from, until}, gives: classFull{}},
		{path: "GET /compare-classes", room: "queries", about: "The classes of two periods, joined.", errors: []int{404}, params: []asked{
			ofTarget, from, until, {name: "before_from", about: "begin of the period before", kind: "time"}, {name: "before_to", about: "its end; from without it", kind: "time"}, limitOf(200),
		}, gives: app.PeriodComparison{}},

		{path: "GET /graphs", room: "server", about: "Figures of graphs. Bucket i covers [from+i*step, from+(i+1)*step).", errors: []int{404}, params: []asked{
			ofTarget, from, until,
			{name: "points", about: "at most so many buckets, no more than 2000", kind: "integer", usual: 600},
			{name: "step", about: "seconds of a bucket, in place of points", kind: "span"},
			{name: "panel", about: "only these", kind: "string", many: true},
			{name: "compare", about: "also so many seconds earlier", kind: "span"},
		}, gives: struct {
			Target string  `json:"target"`
			From   int64   `json:"from"` // Unix seconds
			To     int64   `json:"to"`
			Step   int64   `json:"step"` // seconds
			Panels []graph `json:"panels"`
		}{}},
		{path: "GET /panels", room: "server", about: "The panels that there are, without figures.", gives: struct {
			Panels []panelDefinition `json:"panels"`
		}{}},

		{path: "GET /findings", room: "findings", about: "What was found on a target in the hour before its newest diagnosis, that diagnosis, and the history of its diagnoses.", errors: []int{404}, params: []asked{ofTarget, limitOf(50)}, gives: struct {
			Target    string        `json:"target"`
			Every     float64       `json:"every_seconds,omitzero"` // between two looks that nobody asks for
			Diagnosis *app.Judged   `json:"diagnosis,omitempty"`
			History   []app.Verdict `json:"history"`
			app.Findings
		}{}},
		{path: "POST /finding/ignore", room: "findings", about: "Takes a finding from those that are open, for 1 minute to 366 days; 0 seconds show it again.", errors: []int{404}, need: []string{"target", "finding"}, body: struct {
			Target  string  `json:"target"`
			Finding string  `json:"finding"`
			Seconds float64 `json:"seconds"` // for how long
		}{}, gives: ledger.Ignored{}},
		{path: "GET /verdicts", room: "findings", about: "The newest diagnosis of every target in short, with the findings that are open now.", gives: struct {
			Verdicts []app.Verdict `json:"verdicts"`
		}{}},
		{path: "GET /diagnosis", room: "findings", about: "One diagnosis.", errors: []int{404}, params: []asked{ofID}, gives: app.Judged{}},
		{path: "POST /diagnose", room: "findings", about: "Looks at a target in a task, whose result is the id of a diagnosis.", code: 202, errors: []int{404, 409}, need: []string{"target"}, body: struct {
			Target string  `json:"target"`
			Window float64 `json:"window"`
			Redact bool    `json:"redact"`
		}{}, gives: app.Task{}},

		{path: "GET /changes", room: "changes", about: "The journal, newest first.", errors: []int{404}, params: []asked{anyTarget, limitOf(100)}, gives: struct {
			Changes []app.Change `json:"changes"`
		}{}},
		{path: "GET /change", room: "changes", about: "One action with its proofs.", errors: []int{404}, params: []asked{ofID}, gives: app.ChangeDetail{}},
		{path: "POST /apply", room: "changes", about: "Without execute what carrying out a finding would do; with it, and the statement of the preview as confirm, 202 and the task that does it.", errors: []int{404, 409, 422}, need: []string{"target", "finding"}, body: struct {
			Target   string `json:"target"`
			Finding  string `json:"finding"`
			Execute  bool   `json:"execute"`
			Confirm  string `json:"confirm"`
			Blocking bool   `json:"blocking"`
		}{}, gives: either{intent{}, app.Task{}}},
		{path: "POST /undo", room: "changes", about: "The same for taking an action back.", errors: []int{404, 409, 422}, need: []string{"id"}, body: struct {
			ID       string `json:"id"`
			Execute  bool   `json:"execute"`
			Confirm  string `json:"confirm"`
			Blocking bool   `json:"blocking"`
		}{}, gives: either{app.UndoPreview{}, app.Task{}}},
		{path: "POST /kill", room: "changes", about: "Ends a session with KILL, if it is still of that user, and writes that into the journal.", errors: []int{404, 409, 422}, need: []string{"target", "session", "user", "confirm"}, body: struct {
			Target  string `json:"target"`
			Session uint64 `json:"session"`
			User    string `json:"user"`    // whose session it is
			Confirm string `json:"confirm"` // the statement: KILL and the session
		}{}, gives: journal.Entry{}},
		{path: "POST /prove", room: "changes", about: "Compares live traffic with the time before an action, in a task.", code: 202, errors: []int{404, 409, 422}, need: []string{"id"}, body: struct {
			ID     string  `json:"id"`
			Window float64 `json:"window"`
		}{}, gives: app.Task{}},
		{path: "GET /report", room: "changes", about: "The document of a diagnosis, proof, run, demo or comparison.", errors: []int{404}, params: []asked{ofID}, gives: report.Document{}},
		{path: "GET /report.html", room: "changes", about: "The same as a page that needs nothing else.", errors: []int{404}, params: []asked{ofID}, gives: "text/html"},

		{path: "GET /tasks", room: "tasks", about: "Long work of this process, newest first.", gives: struct {
			Tasks []app.Task `json:"tasks"`
		}{}},
		{path: "GET /task", room: "tasks", about: "One task.", errors: []int{404}, params: []asked{ofID}, gives: app.Task{}},
		{path: "POST /task/cancel", room: "tasks", about: "Asks a task to end.", errors: []int{404, 409}, need: []string{"id"}, body: idBody, gives: app.Task{}},

		{path: "GET /experiments", room: "lab", about: "Experiments, newest first.", gives: struct {
			Experiments []app.LabLine `json:"experiments"`
		}{}},
		{path: "GET /experiment", room: "lab", about: "One experiment, also while it runs; with another one, both side by side.", errors: []int{404, 409}, params: []asked{ofID, {name: "with", about: "id of another one", kind: "string"}}, gives: app.LabExperiment{}},
		{path: "POST /experiment/resume", room: "lab", about: "Goes on with one that was interrupted, in a task.", code: 202, errors: []int{404, 409}, need: []string{"id"}, body: idBody, gives: app.Task{}},
		{path: "GET /recipes", room: "lab", about: "Experiments that ship with Dyno.", gives: struct {
			Recipes []app.LabRecipe `json:"recipes"`
		}{}},
		{path: "GET /recipe", room: "lab", about: "What running a recipe would mean.", errors: []int{404}, params: []asked{{name: "name", about: "of the recipe", kind: "string", need: true}, {name: "scale", about: "small, medium or full", kind: "string", usual: "small"}}, gives: app.LabDryRun{}},
		{path: "POST /recipe/run", room: "lab", about: "Runs a recipe in a task.", code: 202, errors: []int{404, 409}, need: []string{"name"}, body: struct {
			Name  string            `json:"name"`
			Scale string            `json:"scale"`
			Set   map[string]string `json:"set"`
		}{}, gives: app.Task{}},
		{path: "GET /runs", room: "lab", about: "Runs of loads, newest first.", params: []asked{anyTarget, limitOf(100)}, gives: struct {
			Runs []app.LabRun `json:"runs"`
		}{}},
		{path: "GET /run", room: "lab", about: "One run.", errors: []int{404}, params: []asked{ofID}, gives: app.LabRunDetail{}},
		{path: "GET /documents", room: "lab", about: "Stored reports of demos and proofs.", params: []asked{limitOf(100)}, gives: struct {
			Documents []app.LabDocument `json:"documents"`
		}{}},
	}
}

const below = "/api/dyno/v1"

// document writes the description of all paths.
func document(t *testing.T) []byte {
	s := newSchemas(t)
	problem := yaml.MapSlice{item("$ref", "#/components/schemas/"+s.component(reflect.TypeFor[problem]()))}
	said := map[int]string{
		400: "A parameter or the body is missing or wrong.", 401: "A login is needed.", 403: "The role, the origin, the CSRF token or --read-only forbids it.", 404: "There is no such thing, or nothing is kept of it.",
		405: "Not with this method; Allow has those that are.", 409: "It does not fit to how things are now.", 413: "The body is longer than 1 MiB.", 415: "The body is not JSON.", 421: "The request named another host.",
		422: "It cannot be worked out.", 429: "Too many tries; Retry-After has the seconds.", 500: "The program or its store erred; the log of `dyno serve` has the reason.", 501: "This process has no such part.", 503: "Not now, or not in time.",
	}
	codes := make([]int, 0, len(said))
	for c := range said {
		codes = append(codes, c)
	}
	slices.Sort(codes)
	var refusals yaml.MapSlice
	for _, c := range codes {
		refusals = append(refusals, item(strconv.Itoa(c), yaml.MapSlice{item("description", said[c]), item("content", yaml.MapSlice{item("application/json", yaml.MapSlice{item("schema", problem)})})}))
	}
	paths := yaml.MapSlice{}
	at := map[string]int{}
	for _, a := range described() {
		method, path, _ := strings.Cut(a.path, " ")
		path = below + strings.ReplaceAll(path, "{$}", "")
		op := yaml.MapSlice{item("operationId", operationID(method, path)), item("tags", []string{a.room}), item("summary", a.about)}
		var params []yaml.MapSlice
		for _, p := range a.params {
			params = append(params, parameter(p))
		}
		if method == "POST" {
			params = append(params, yaml.MapSlice{item("$ref", "#/components/parameters/csrf")})
		}
		if len(params) > 0 {
			op = append(op, item("parameters", params))
		}
		if a.body != nil {
			op = append(op, item("requestBody", yaml.MapSlice{item("required", true), item("content", yaml.MapSlice{item("application/json", yaml.MapSlice{item("schema", bodySchema(s, a))})})}))
		}
		answer := func(x any) yaml.MapSlice {
			if media, ok := x.(string); ok {
				return yaml.MapSlice{item(media, yaml.MapSlice{item("schema", yaml.MapSlice{item("type", "string")})})}
			}
			return yaml.MapSlice{item("application/json", yaml.MapSlice{item("schema", never(lists(s, reflect.TypeOf(x))))})}
		}
		res := yaml.MapSlice{}
		code := a.code
		if code == 0 {
			code = 200
		}
		if e, ok := a.gives.(either); ok {
			res = append(res, item("200", yaml.MapSlice{item("description", "The preview."), item("content", answer(e.preview))}), item("202", yaml.MapSlice{item("description", "The task has begun."), item("content", answer(e.task))}))
		} else {
			word := map[int]string{200: "The answer.", 201: "It was made.", 202: "The task has begun."}[code]
			res = append(res, item(strconv.Itoa(code), yaml.MapSlice{item("description", word), item("content", answer(a.gives))}))
		}
		fail := []int{400, 401, 403, 421, 500, 501, 503}
		if method == "POST" {
			fail = append(fail, 413, 415)
		}
		fail = append(fail, a.errors...)
		slices.Sort(fail)
		for _, c := range slices.Compact(fail) {
			res = append(res, item(strconv.Itoa(c), yaml.MapSlice{item("$ref", "#/components/responses/"+strconv.Itoa(c))}))
		}
		op = append(op, item("responses", res))
		if i, ok := at[path]; ok {
			paths[i].Value = append(paths[i].Value.(yaml.MapSlice), item(strings.ToLower(method), op))
		} else {
			at[path] = len(paths)
			paths = append(paths, item(path, yaml.MapSlice{item(strings.ToLower(method), op)}))
		}
	}
	names := make([]string, 0, len(s.all))
	for n := range s.all {
		names = append(names, n)
	}
	slices.Sort(names)
	var parts yaml.MapSlice
	for _, n := range names {
		parts = append(parts, item(n, s.all[n]))
	}
	doc := yaml.MapSlice{
		item("openapi", "3.1.0"),
		item("info", yaml.MapSlice{
			item("title", "Dyno"), item("version", "1"),
			item("description", "Dyno's own JSON, as `dyno serve` answers it. docs/api.md tells about logins, times, errors and the stream, and about Prometheus' API, which is answered at /api/v1.\nWhat was not observed is left out or null; a zero was measured. Readers must pass over members that they do not know."),
			item("license", yaml.MapSlice{item("name", "Apache-2.0"), item("identifier", "Apache-2.0")}),
		}),
		item("servers", []yaml.MapSlice{{item("url", "http://127.0.0.1:8306")}}),
		item("security", []yaml.MapSlice{{}, {item("token", []string{})}, {item("session", []string{})}}),
		item("paths", paths),
		item("components", yaml.MapSlice{
			item("securitySchemes", yaml.MapSlice{
				item("token", yaml.MapSlice{item("type", "http"), item("scheme", "bearer"), item("description", "an API token")}),
				item("session", yaml.MapSlice{item("type", "apiKey"), item("in", "cookie"), item("name", "dyno-8306"), item("description", "of a login on the page; the number is the port, and with TLS the name begins with __Host-")}),
			}),
			item("parameters", yaml.MapSlice{item("csrf", yaml.MapSlice{item("name", csrfHeader), item("in", "header"), item("required", false), item("description", "the session's csrf, which GET session tells; needed with a session, not with a token"), item("schema", yaml.MapSlice{item("type", "string")})})}),
			item("responses", refusals),
			item("schemas", parts),
		}),
	}
	b, err := yaml.MarshalWithOptions(doc, yaml.Indent(2), yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("# Made of the types that are answered with: go test ./internal/httpapi -run TestOpenAPI -update\n"), b...)
}

// lists is the schema of an answer itself: its own lists are never null.
func lists(s *schemas, t reflect.Type) yaml.MapSlice {
	if t.Name() != "" {
		return s.of(t)
	}
	x := s.object(t)
	for i, m := range x {
		if m.Key == "properties" {
			props := slices.Clone(m.Value.(yaml.MapSlice))
			for j := range props {
				if p, ok := props[j].Value.(yaml.MapSlice); ok && len(p) > 0 && p[0].Key == "type" {
					props[j].Value = never(p)
				}
			}
			x[i].Value = props
		}
	}
	return x
}

// operationID is a name for programs: getCompareClasses.
func operationID(method, path string) string {
	id := strings.ToLower(method)
	for _, w := range strings.FieldsFunc(strings.TrimPrefix(path, below), func(r rune) bool { return strings.ContainsRune("/-.{}", r) }) {
		id += strings.ToUpper(w[:1]) + w[1:]
	}
	if strings.HasSuffix(path, "/") {
		id += "Index"
	}
	return id
}

func parameter(p asked) yaml.MapSlice {
	schema := yaml.MapSlice{item("type", "string")}
	switch p.kind {
	case "integer":
		schema = yaml.MapSlice{item("type", "integer"), item("minimum", 0), item("maximum", 1<<31-1)}
	case "count":
		schema = yaml.MapSlice{item("type", "integer"), item("minimum", 1), item("maximum", 1<<31-1)}
	case "time":
		schema = append(schema, item("description", "Unix seconds with decimals, or RFC 3339"), item("examples", []string{"1762171200.5", "2026-11-03T12:00:00Z"}))
	case "span":
		schema = append(schema, item("description", "seconds, or as 90s, 5m, 1h30m, 7d"), item("examples", []string{"300", "5m"}))
	}
	if p.example != nil {
		schema = append(schema, item("examples", []any{p.example}))
	}
	if p.usual != nil {
		schema = append(schema, item("default", p.usual))
	}
	if p.need {
		schema = append(schema, item("minLength", 1))
	}
	if p.many {
		schema = yaml.MapSlice{item("type", "array"), item("items", schema)}
	}
	x := yaml.MapSlice{item("name", p.name), item("in", "query"), item("required", p.need), item("description", p.about)}
	return append(x, item("schema", schema))
}

func bodySchema(s *schemas, a answered) yaml.MapSlice {
	x := s.object(reflect.TypeOf(a.body))
	x = slices.DeleteFunc(x, func(m yaml.MapItem) bool { return m.Key == "required" })
	if len(a.need) > 0 {
		x = append(x, item("required", a.need))
	}
	return append(x, item("additionalProperties", false))
}

// TestOpenAPI holds openapi.yaml to the types that are answered with, and to the paths that there are, both ways.
func TestOpenAPI(t *testing.T) {
	want := document(t)
	if *rewrite {
		if err := os.WriteFile("openapi.yaml", want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(openAPI, want) {
		t.Error("openapi.yaml is not as the code has it: go test ./internal/httpapi -run TestOpenAPI -update")
	}
	var have []string
	for _, a := range described() {
		have = append(have, strings.Replace(a.path, " ", " "+below, 1))
	}
	paths := New(Service{}, Options{}).Paths()
	for _, p := range paths {
		if strings.Contains(p, " "+below) && !slices.Contains(have, p) {
			t.Errorf("the document has no %s", p)
		}
	}
	for _, p := range have {
		if !slices.Contains(paths, p) {
			t.Errorf("the document has %s, which nobody answers", p)
		}
	}
}

type allSettings = Settings // a field called Settings would hide the method

// listens keeps what it is asked.
type listens struct {
	allSettings
	Findings
	Changes
	Periods
	Lab
	Access
	asked string
}

func (l *listens) FindingsOf(context.Context, string) (app.Findings, error) {
	return app.Findings{}, nil
}

func (l *listens) note(args ...any) { l.asked = fmt.Sprint(args...) }

func (l *listens) Grants(flavor, task, user string, schemas []string) ([]string, error) {
	l.note(flavor, task, user, schemas)
	return nil, nil
}

func (l *listens) Verdicts(_ context.Context, target string, n int) ([]app.Verdict, error) {
	l.note(target, n)
	return nil, nil
}

func (l *listens) JudgedEvery() time.Duration { return 0 }

func (l *listens) Journal(_ context.Context, target string, n int) ([]app.Change, error) {
	l.note(target, n)
	return nil, nil
}

func (l *listens) CompareClasses(_ context.Context, target string, before, after app.Period, most int) (c app.PeriodComparison, err error) {
	l.note(target, before, after, most)
	return c, nil
}

func (l *listens) Graphs(_ context.Context, q app.GraphQuery) (g app.Graphs, err error) {
	l.note(q)
	return g, nil
}

func (l *listens) Recipe(_ context.Context, name, scale string, set map[string]string) (r app.LabDryRun, err error) {
	l.note(name, scale, set)
	return r, nil
}

func (l *listens) Runs(_ context.Context, target string, limit int) ([]app.LabRun, error) {
	l.note(target, limit)
	return nil, nil
}

func (l *listens) Documents(_ context.Context, limit int) ([]app.LabDocument, error) {
	l.note(limit)
	return nil, nil
}

func (l *listens) HasUsers(context.Context) (bool, error) { return false, nil }

func (l *listens) Audit(_ context.Context, before int64, n int) ([]access.Entry, error) {
	l.note(before, n)
	return nil, nil
}

// TestDefaults holds the default of each parameter to what is done without it.
func TestDefaults(t *testing.T) {
	f, l := &fleet{}, &listens{}
	s := f.service()
	s.Settings, s.Findings, s.Changes, s.Periods, s.Lab, s.Access, s.Graphs = l, l, l, l, l, l, l
	v := New(s, Options{})
	ask := func(path string, q url.Values) string {
		t.Helper()
		f.asked, l.asked = "", ""
		if w := request(v, "GET", path+"?"+q.Encode(), ""); w.Code != 200 || f.asked+l.asked == "" {
			t.Fatalf("%s?%s: %d %s, asked %q", path, q.Encode(), w.Code, w.Body, f.asked+l.asked)
		}
		return f.asked + l.asked
	}
	tried := 0
	for _, a := range described() {
		path, is := strings.CutPrefix(a.path, "GET ")
		q := url.Values{}
		for _, p := range a.params {
			if p.kind == "time" {
				q.Set(p.name, map[bool]string{true: "1762171200", false: "1762174800"}[strings.HasSuffix(p.name, "from")])
			}
			if p.need {
				q.Set(p.name, "shop")
			}
		}
		for _, p := range a.params {
			if p.usual == nil {
				continue
			}
			tried++
			if !is {
				t.Errorf("%s: a default of another method is not tried", a.path)
			}
			without := ask(below+path, q)
			q.Set(p.name, fmt.Sprint(p.usual))
			with := ask(below+path, q)
			q.Set(p.name, map[string]string{"count": "7", "integer": "7", "span": "7m", "string": "other"}[p.kind])
			other := ask(below+path, q)
			if without != with || with == other {
				t.Errorf("%s: without %s it asks for %s, with its default for %s, with another value for %s", a.path, p.name, without, with, other)
			}
			q.Del(p.name)
		}
	}
	if tried < 12 {
		t.Errorf("%d defaults were tried", tried)
	}
}
