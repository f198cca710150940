package httpapi

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/discovery"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/access"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/task"
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
	ofReport  = ofID("diagnosis, proof, run, demo or comparison")
	anyTarget = asked{name: "target", about: "name of a target; all without it", kind: "string"}
	from      = asked{name: "from", about: "start of the window, inclusive; relative times such as -1h30m or now-7d " +
		"are accepted; default: one hour before to", kind: "time"}
	until = asked{name: "to", about: "end of the window, inclusive; relative times such as -5m are accepted; " +
		"default: now", kind: "time"}
)

func ofID(what string) asked {
	return asked{name: "id", about: "id of the " + what, kind: "string", need: true}
}

func limitOf(usual int) asked {
	return asked{name: "limit", about: "maximum number of results", kind: "count", usual: usual}
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
	Compare []*float64 `json:"compare,omitzero"` // the mean, this much earlier
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
		By    string `json:"by,omitzero"` // one line for each value of this label: those with the most
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
	Secret string `json:"token"` // shown only once
}

// classAny is a class with or without its trend.
type classAnyList struct {
	Classes []classRow `json:"classes"`
	// of a search: how many classes have it, those that the list leaves out too
	Found    known.Value[int] `json:"found,omitzero"`
	Coverage Coverage         `json:"coverage"`
}

type intent struct {
	Finding   string         `json:"finding"`
	Diagnosis string         `json:"diagnosis"`
	Execute   bool           `json:"execute"`
	Preview   change.Preview `json:"preview"`
	Text      []string       `json:"text"`
}

// either is an answer of one of two forms: a preview, or with execute a task and 202.
type either struct{ preview, task any }

func described() []answered {
	idBody := struct {
		ID string `json:"id"`
	}{}
	return []answered{
		{path: "GET /{$}", room: "about", about: "Name, version and all paths.", gives: struct {
			Application string   `json:"application"`
			Version     string   `json:"version"`
			Paths       []string `json:"paths"`
		}{}},
		{path: "GET /openapi.yaml", room: "about", about: "This document.", gives: "application/yaml"},

		{path: "GET /targets", room: "fleet", about: "All watched servers.", gives: struct {
			Targets []targetRow `json:"targets"`
		}{}},
		{path: "GET /health", room: "fleet", about: "Current problems of Dyno itself: it cannot store, has gaps, is " +
			"starved of CPU, cannot query a server. Worst first.", gives: struct {
			Troubles []service.Trouble `json:"troubles"`
		}{}},
		{
			path: "GET /sources", room: "fleet", about: "Data sources of a target, including unavailable ones.",
			params: []asked{ofTarget}, errors: []int{404}, gives: struct {
				Target  string   `json:"target"`
				Sources []Source `json:"sources"`
			}{},
		},
		{
			path: "GET /cost", room: "fleet", about: "Overhead of watching a target, as means over a span that ends " +
				"now.",
			errors: []int{404}, gives: service.Price{}, params: []asked{
				ofTarget, {name: "span", about: "how far back", kind: "span", usual: "5m"},
			},
		},

		{
			path: "GET /settings", room: "settings", about: "Configuration of this process, and its retention.",
			gives: service.Settings{},
		},
		{path: "GET /discover", room: "settings", about: "Servers on this machine, for operators. It logs in once to " +
			"each; the result is cached for five seconds.", gives: discovery.Discovery{}},
		{path: "GET /grants", room: "settings", about: "Statements that grant an account exactly what a task needs. " +
			"Nothing is executed.", params: []asked{
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
		{
			path: "POST /target/add", room: "settings",
			about: "Adds a server to the inventory. It takes no password: " +
				"name the file or the variable of Dyno's that holds it. Without redact a target that is replaced is " +
				"redacted as before.", code: 201, errors: []int{409},
			need: []string{"name", "url"}, body: struct {
				Name        string `json:"name"`
				URL         string `json:"url"`
				Defaults    string `json:"defaults_file"`
				PasswordEnv string `json:"password_env"`
				Redact      bool   `json:"redact"`
				Replace     bool   `json:"replace"`
			}{}, gives: ledger.Target{},
		},
		{
			path: "POST /target/check", room: "settings", about: "Tests the connection to a server of the inventory " +
				"(name) or one that may be added to it (url), and reports what can be observed there.",
			errors: []int{404},
			body:   entry{}, gives: app.Checked{},
		},
		{
			path: "POST /target/password", room: "settings", about: "Stores the password of a target in a file that " +
				"only Dyno's account can read, and sends it only to the target's address. With url the target gets " +
				"that " +
				"address, and is added if none has that name. No response contains the password.", errors: []int{404},
			need: []string{"name", "password"}, body: struct {
				Name     string `json:"name"`
				URL      string `json:"url"`
				Password string `json:"password"`
				Redact   bool   `json:"redact"`
			}{}, gives: ledger.Target{},
		},
		{
			path: "POST /target/redact", room: "settings", about: "From now on stores and shows no literals of a " +
				"target's statements, or with redact false stores and shows them again. What was stored before stays.",
			errors: []int{404}, need: []string{"name", "redact"}, body: struct {
				Name   string `json:"name"`
				Redact bool   `json:"redact"`
			}{}, gives: ledger.Target{},
		},
		{
			path: "POST /retention", room: "settings", about: "Changes how much of a kind of data is stored. keep, " +
				"keep-minutes, keep-states and keep-classes take days; max-series, max-minutes, max-states, " +
				"max-incidents, max-classes, max-locks, max-plans, max-events and max-diagnoses take bytes. If dyno " +
				"serve was given a flag for it, the response is 409.",
			errors: []int{409}, need: []string{"name"}, body: struct {
				Name  string  `json:"name"`
				Days  float64 `json:"days"`
				Bytes float64 `json:"bytes"`
			}{}, gives: struct {
				Name  string  `json:"name"`
				Days  float64 `json:"days,omitzero"`
				Bytes float64 `json:"bytes,omitzero"`
			}{},
		},
		{path: "POST /target/remove", room: "settings", about: "Removes a server from the inventory. Its stored data " +
			"is kept.", errors: []int{404}, need: []string{"name"}, body: struct {
			Name string `json:"name"`
		}{}, gives: struct {
			Removed string `json:"removed"`
		}{}},

		{path: "GET /session", room: "access", about: "The current user.", gives: who{}},
		{
			path: "POST /login", room: "access", about: "Opens a session and sets its cookie.", errors: []int{409, 429},
			need: []string{"name", "password"}, body: struct {
				Name     string `json:"name"`
				Password string `json:"password"`
			}{}, gives: who{},
		},
		{
			path: "POST /login/token", room: "access", about: "Opens the first session with the first-run token and " +
				"adds its operator. If the response of /session has link, the token alone opens one without adding a " +
				"user.",
			errors: []int{409, 429}, need: []string{"token"}, body: struct {
				Token    string `json:"token"`
				Name     string `json:"name"`
				Password string `json:"password"`
			}{}, gives: who{},
		},
		{
			path: "POST /logout", room: "access", about: "Ends this session, or all sessions of this user.",
			errors: []int{409}, body: struct {
				Everywhere bool `json:"everywhere"`
			}{}, gives: success{},
		},
		{path: "GET /sessions", room: "access", about: "Sessions: one's own; an operator sees all.", gives: struct {
			Sessions []sessionRow `json:"sessions"`
		}{}},
		{
			path: "POST /session/remove", room: "access", about: "Ends a session.", errors: []int{404},
			need: []string{"id"}, body: idBody, gives: success{},
		},
		{path: "GET /users", room: "access", about: "Users, for operators.", gives: struct {
			Users []access.User `json:"users"`
		}{}},
		{
			path: "POST /user/add", room: "access", about: "Adds a user. The first one is an operator; after that, a " +
				"login is required.", code: 201, errors: []int{409}, need: []string{"name", "role", "password"},
			body: struct {
				Name     string      `json:"name"`
				Role     access.Role `json:"role"`
				Password string      `json:"password"`
			}{}, gives: struct {
				Name string      `json:"name"`
				Role access.Role `json:"role"`
			}{},
		},
		{
			path: "POST /user/password", room: "access", about: "Sets a password and ends the user's other sessions.",
			errors: []int{404, 429}, need: []string{"password"}, body: struct {
				Name     string `json:"name"`
				Current  string `json:"current"`
				Password string `json:"password"`
			}{}, gives: success{},
		},
		{
			path: "POST /user/role", room: "access", about: "Changes the role of a user, effective from the next " +
				"request.",
			errors: []int{404, 409}, need: []string{"name", "role"}, body: struct {
				Name string      `json:"name"`
				Role access.Role `json:"role"`
			}{}, gives: success{},
		},
		{
			path: "POST /user/remove", room: "access", about: "Removes a user.", errors: []int{404, 409},
			need: []string{"name"}, body: struct {
				Name string `json:"name"`
			}{}, gives: struct {
				Tokens []string `json:"tokens"` // created by the user and still valid
			}{},
		},
		{path: "GET /tokens", room: "access", about: "API tokens, for operators.", gives: struct {
			Tokens []access.Token `json:"tokens"`
		}{}},
		{
			path: "POST /token/add", room: "access", about: "Creates an API token; its secret is shown only once.",
			code: 201, errors: []int{409}, need: []string{"name", "role"}, body: struct {
				Name string      `json:"name"`
				Role access.Role `json:"role"`
				Days int         `json:"days"`
			}{}, gives: newToken{},
		},
		{
			path: "POST /token/remove", room: "access", about: "Revokes an API token.", errors: []int{404},
			need: []string{"id"}, body: idBody, gives: success{},
		},
		{
			path: "GET /audit", room: "access", about: "The audit log, newest first, for operators.",
			params: []asked{limitOf(100), {name: "before", about: "entries before this one", kind: "integer"}},
			gives: struct {
				Entries []access.Entry `json:"entries"`
			}{},
		},

		{path: "GET /state", room: "activity", about: "The newest state at or before a time: sessions, locks, " +
			"transactions.", errors: []int{404}, params: []asked{ofTarget, {
			name: "at", about: "time; default: now",
			kind: "time",
		}}, gives: state.State{}},
		{
			path: "GET /locks", room: "activity", about: "Deadlocks and lock waits of a window, and which " +
				"query classes blocked which.", errors: []int{404},
			params: []asked{ofTarget, from, until, limitOf(100)}, gives: history.Locks{},
		},
		{
			path: "GET /deadlock", room: "activity", about: "One deadlock: who held what and waited for what.",
			errors: []int{404}, params: []asked{ofTarget, ofID("deadlock")}, gives: lock.Deadlock{},
		},
		{
			path: "GET /states", room: "activity", about: "Times for which a state is stored.", errors: []int{404},
			params: []asked{ofTarget, from, until, limitOf(1000)}, gives: struct {
				Target string      `json:"target"`
				Times  []time.Time `json:"times"`
			}{},
		},
		{
			path: "GET /events", room: "activity", about: "Events on the timeline.", errors: []int{404},
			params: []asked{anyTarget, from, until, {name: "kind", about: "only these", kind: "string", many: true}},
			gives:  eventList{},
		},
		{
			path: "POST /annotate", room: "activity", about: "Adds a note to the timeline.",
			code: 201, errors: []int{404},
			need: []string{"text"}, body: struct {
				Text   string    `json:"text"`
				Target string    `json:"target"`
				At     time.Time `json:"at"`
				Until  time.Time `json:"until"`
			}{}, gives: event.Event{},
		},
		{
			path: "GET /stream", room: "activity", about: "Server-sent events: each sample of each target as it " +
				"arrives.",
			params: []asked{
				{name: "target", about: "only these", kind: "string", many: true},
				{name: "full", about: "1: whole states", kind: "string"},
			},
			gives: "text/event-stream", errors: []int{404},
		},

		{
			path: "GET /classes", room: "queries", about: "Query classes of a window, by time, highest first.",
			errors: []int{404}, params: []asked{
				ofTarget, from, until, limitOf(50),
				{name: "search", about: "only classes with all of these words, 16 different ones at most, in their " +
					"statement, id, tables or default database, case-insensitive", kind: "string"},
				{name: "lines", about: "1: each with its trend", kind: "string"},
			}, gives: classAnyList{},
		},
		{
			path: "GET /class", room: "queries", about: "One class over a window.", errors: []int{404},
			params: []asked{ofTarget, ofID("query class"), from, until}, gives: classFull{},
		},
		{
			path: "GET /latency", room: "queries", about: "How the times of statements were distributed over a " +
				"window: quantiles and a heat map, of a class or of all statements of the server.",
			errors: []int{404}, params: []asked{
				ofTarget, from, until,
				{name: "id", about: "id of a class; default: all statements of the server", kind: "string"},
			}, gives: service.Latency{},
		},
		{
			path: "GET /compare-classes", room: "queries", about: "The classes of two periods, joined.",
			errors: []int{404}, params: []asked{
				ofTarget, from, until,
				{name: "before_from", about: "start of the earlier period", kind: "time"},
				{name: "before_to", about: "its end; default: from", kind: "time"},
				limitOf(200),
			}, gives: service.PeriodComparison{},
		},

		{
			path: "GET /graphs", room: "overview",
			about:  "Data of graphs. Bucket i covers [from+i*step, from+(i+1)*step).",
			errors: []int{404}, params: []asked{
				ofTarget, from, until,
				{name: "points", about: "maximum number of buckets, up to 2000", kind: "integer", usual: 600},
				{name: "step", about: "length of a bucket, instead of points", kind: "span"},
				{name: "panel", about: "only these", kind: "string", many: true},
				{name: "compare", about: "also return the data this much earlier", kind: "span"},
			}, gives: struct {
				Target string  `json:"target"`
				From   int64   `json:"from"` // Unix seconds
				To     int64   `json:"to"`
				Step   int64   `json:"step"` // seconds
				Panels []graph `json:"panels"`
			}{},
		},
		{
			path: "GET /deltas", room: "overview", about: "How much each counter of a server and its machine grew " +
				"between two times, from the newest samples up to each. Never negative: after a restart in " +
				"between, what it grew since.",
			errors: []int{404}, params: []asked{ofTarget, from, until}, gives: service.Deltas{},
		},
		{path: "GET /panels", room: "overview", about: "All panels, without data.", gives: struct {
			Panels []panelDefinition `json:"panels"`
		}{}},

		{
			path: "GET /findings", room: "findings", about: "Findings on a target in the hour before its newest " +
				"diagnosis, that diagnosis, and the history of its diagnoses.", errors: []int{404},
			params: []asked{ofTarget, limitOf(50)}, gives: struct {
				Target    string                   `json:"target"`
				Every     float64                  `json:"every_seconds,omitzero"` // between scheduled diagnoses
				Diagnosis *service.DiagnosisDetail `json:"diagnosis,omitempty"`
				History   []app.DiagnosisSummary   `json:"history"`
				service.Findings
			}{},
		},
		{path: "POST /finding/ignore", room: "findings", about: "Ignores an open finding for 1 minute to 366 days; 0 " +
			"seconds reopen it.", errors: []int{404}, need: []string{"target", "finding"}, body: struct {
			Target  string  `json:"target"`
			Finding string  `json:"finding"`
			Seconds float64 `json:"seconds"` // for how long
		}{}, gives: ledger.Ignored{}},
		{path: "GET /diagnoses", room: "findings", about: "Summary of the newest diagnosis of every target, with the " +
			"findings that are open now.", gives: struct {
			Diagnoses []app.DiagnosisSummary `json:"diagnoses"`
		}{}},
		{
			path: "GET /diagnosis", room: "findings", about: "One diagnosis.",
			errors: []int{404}, params: []asked{ofID("diagnosis")},
			gives: service.DiagnosisDetail{},
		},
		{
			path: "POST /diagnose", room: "findings",
			about: "Diagnoses a target in a task, whose result is the id of " +
				"the diagnosis. With window it observes the target for that long, 3 to 600 seconds. Without, it " +
				"diagnoses what serve read of the target last, up to a minute and a half, and asks the server only " +
				"for the rest; a target that has not been watched for long enough is observed for 10 seconds. With " +
				"from and to it diagnoses a past window, of 3 s to 10 min, from stored data. With redact the " +
				"diagnosis holds no literal of a statement.",
			code: 202, errors: []int{404, 409}, need: []string{"target"}, body: struct {
				Target string    `json:"target"`
				Window float64   `json:"window"`
				Redact bool      `json:"redact"`
				From   time.Time `json:"from,omitzero"`
				To     time.Time `json:"to,omitzero"`
			}{}, gives: task.Task{},
		},

		{
			path: "GET /incidents", room: "incidents", about: "Incidents that lie in or reach into a time, newest " +
				"first.", errors: []int{404}, params: []asked{anyTarget, from, until, limitOf(100)},
			gives: incidentList{},
		},
		{
			path: "GET /incident", room: "incidents", about: "One incident, with the classes of its time and the " +
				"times whose states are stored for it.", errors: []int{404}, params: []asked{ofID("incident")},
			gives: incidentFull{},
		},

		{
			path: "GET /changes", room: "changes", about: "The journal, newest first.", errors: []int{404},
			params: []asked{anyTarget, limitOf(100)}, gives: struct {
				Changes []service.JournalAction `json:"changes"`
			}{},
		},
		{
			path: "GET /change", room: "changes", about: "One action with its proofs.", errors: []int{404},
			params: []asked{ofID("action")}, gives: service.ChangeDetail{},
		},
		{
			path: "POST /apply", room: "changes", about: "Without execute, a preview of applying a finding's change; " +
				"with execute, and the statement of the preview as confirm, 202 and the task that applies it.",
			errors: []int{404, 409, 422}, need: []string{"target", "finding"}, body: struct {
				Target   string `json:"target"`
				Finding  string `json:"finding"`
				Execute  bool   `json:"execute"`
				Confirm  string `json:"confirm"`
				Blocking bool   `json:"blocking"`
			}{}, gives: either{intent{}, task.Task{}},
		},
		{
			path: "POST /undo", room: "changes", about: "The same for undoing an action.", errors: []int{404, 409, 422},
			need: []string{"id"}, body: struct {
				ID       string `json:"id"`
				Execute  bool   `json:"execute"`
				Confirm  string `json:"confirm"`
				Blocking bool   `json:"blocking"`
			}{}, gives: either{change.UndoPreview{}, task.Task{}},
		},
		{path: "POST /kill", room: "changes", about: "Ends a session with KILL, if it still belongs to that user, " +
			"and records that in the journal.", errors: []int{404, 409, 422}, need: []string{
			"target", "session",
			"user", "confirm",
		}, body: struct {
			Target  string `json:"target"`
			Session uint64 `json:"session"`
			User    string `json:"user"`    // whose session it is
			Confirm string `json:"confirm"` // the statement: KILL and the session
		}{}, gives: journal.Entry{}},
		{
			path: "POST /prove", room: "changes",
			about: "Compares live traffic with the time before an action, in a task.", code: 202,
			errors: []int{404, 409, 422}, need: []string{"id"}, body: struct {
				ID     string  `json:"id"`
				Window float64 `json:"window"`
			}{}, gives: task.Task{},
		},
		{
			path: "GET /report", room: "changes", about: "The document of a diagnosis, proof, run, demo or comparison.",
			errors: []int{404}, params: []asked{ofReport}, gives: report.Document{},
		},
		{
			path: "GET /report.html", room: "changes", about: "The same as a self-contained HTML page.",
			errors: []int{404}, params: []asked{ofReport}, gives: "text/html",
		},

		{path: "GET /tasks", room: "tasks", about: "Long-running tasks of this process, newest first.", gives: struct {
			Tasks []task.Task `json:"tasks"`
		}{}},
		{
			path: "GET /task", room: "tasks", about: "One task.", errors: []int{404},
			params: []asked{ofID("task")}, gives: task.Task{},
		},
		{
			path: "POST /task/cancel", room: "tasks", about: "Cancels a task.", errors: []int{404, 409},
			need: []string{"id"}, body: idBody, gives: task.Task{},
		},

		{path: "GET /experiments", room: "experiments", about: "Experiments, newest first.", gives: struct {
			Experiments []lab.Line `json:"experiments"`
		}{}},
		{
			path: "GET /experiment", room: "experiments", about: "One experiment, also while it runs; with another " +
				"one, " +
				"both side by side.", errors: []int{404, 409},
			params: []asked{ofID("experiment"), {name: "with", about: "id of another experiment", kind: "string"}},
			gives:  lab.Experiment{},
		},
		{
			path: "POST /experiment/resume", room: "experiments",
			about: "Resumes an interrupted experiment, in a task.",
			code:  202, errors: []int{404, 409}, need: []string{"id"}, body: idBody, gives: task.Task{},
		},
		{path: "GET /recipes", room: "experiments", about: "Experiments that ship with Dyno.", gives: struct {
			Recipes []lab.Recipe `json:"recipes"`
		}{}},
		{
			path: "GET /recipe", room: "experiments", about: "Dry run of a recipe.", errors: []int{404},
			params: []asked{
				{name: "name", about: "name of the recipe", kind: "string", need: true},
				{name: "scale", about: "small, medium or full", kind: "string", usual: "small"},
			}, gives: lab.DryRun{},
		},
		{
			path: "POST /recipe/run", room: "experiments", about: "Runs a recipe in a task.", code: 202,
			errors: []int{404, 409}, need: []string{"name"}, body: struct {
				Name  string            `json:"name"`
				Scale string            `json:"scale"`
				Set   map[string]string `json:"set"`
			}{}, gives: task.Task{},
		},
		{
			path: "GET /runs", room: "experiments", about: "Load runs, newest first.",
			params: []asked{anyTarget, limitOf(100)}, gives: struct {
				Runs []lab.Run `json:"runs"`
			}{},
		},
		{
			path: "GET /run", room: "experiments", about: "One load run.", errors: []int{404},
			params: []asked{ofID("run")},
			gives:  lab.RunDetail{},
		},
		{
			path: "GET /documents", room: "experiments", about: "Stored reports of demos and proofs.",
			params: []asked{limitOf(100)}, gives: struct {
				Documents []lab.Document `json:"documents"`
			}{},
		},
	}
}

const below = "/api/dyno/v1"

// document writes the description of all paths.
func document(t *testing.T) []byte {
	s := newSchemas(t)
	problem := yaml.MapSlice{item("$ref", "#/components/schemas/"+s.component(reflect.TypeFor[problem]()))}
	said := map[int]string{
		400: "A parameter or the body is missing or wrong.", 401: "A login is required.",
		403: "The role, the origin, the CSRF token or --read-only forbids it.",
		404: "Not found, or no data is stored for it.",
		405: "Method not allowed; Allow lists the allowed ones.", 409: "It conflicts with the current state.",
		413: "The body is longer than 1 MiB.", 415: "The body is not JSON.", 421: "The request named another host.",
		422: "It cannot be evaluated.", 429: "Too many attempts; Retry-After has the seconds to wait.",
		500: "The program or its store failed; the log of `dyno serve` has the reason.",
		503: "Temporarily unavailable, or timed out.",
	}
	codes := make([]int, 0, len(said))
	for c := range said {
		codes = append(codes, c)
	}
	slices.Sort(codes)
	var refusals yaml.MapSlice
	for _, c := range codes {
		refusals = append(refusals, item(strconv.Itoa(c), yaml.MapSlice{
			item("description", said[c]),
			item("content", yaml.MapSlice{item("application/json", yaml.MapSlice{item("schema", problem)})}),
		}))
	}
	paths := yaml.MapSlice{}
	at := map[string]int{}
	for _, a := range described() {
		method, path, _ := strings.Cut(a.path, " ")
		path = below + strings.ReplaceAll(path, "{$}", "")
		op := yaml.MapSlice{
			item("operationId", operationID(method, path)), item("tags", []string{a.room}),
			item("summary", a.about),
		}
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
			op = append(op, item("requestBody", yaml.MapSlice{
				item("required", true),
				item("content", yaml.MapSlice{item("application/json",
					yaml.MapSlice{item("schema", bodySchema(s, a))})}),
			}))
		}
		answer := func(x any) yaml.MapSlice {
			if media, ok := x.(string); ok {
				return yaml.MapSlice{item(media, yaml.MapSlice{item("schema", yaml.MapSlice{item("type", "string")})})}
			}
			return yaml.MapSlice{item("application/json",
				yaml.MapSlice{item("schema", never(lists(s, reflect.TypeOf(x))))})}
		}
		res := yaml.MapSlice{}
		code := a.code
		if code == 0 {
			code = 200
		}
		if e, ok := a.gives.(either); ok {
			res = append(res, item("200", yaml.MapSlice{
				item("description", "The preview."),
				item("content", answer(e.preview)),
			}),
				item("202", yaml.MapSlice{
					item("description", "The task has started."),
					item("content", answer(e.task)),
				}))
		} else {
			word := map[int]string{200: "The response.", 201: "Created.", 202: "The task has started."}[code]
			res = append(res, item(strconv.Itoa(code), yaml.MapSlice{
				item("description", word),
				item("content", answer(a.gives)),
			}))
		}
		fail := []int{400, 401, 403, 421, 500, 503}
		if method == "POST" {
			fail = append(fail, 413, 415)
		}
		fail = append(fail, a.errors...)
		slices.Sort(fail)
		for _, c := range slices.Compact(fail) {
			res = append(res, item(strconv.Itoa(c),
				yaml.MapSlice{item("$ref", "#/components/responses/"+strconv.Itoa(c))}))
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
	for _, n := range filled {
		if s.all[n] == nil {
			t.Errorf("filled has %s, which is no component", n)
		}
	}
	var parts yaml.MapSlice
	for _, n := range names {
		parts = append(parts, item(n, s.all[n]))
	}
	doc := yaml.MapSlice{
		item("openapi", "3.1.0"),
		item("info", yaml.MapSlice{
			item("title", "Dyno"), item("version", "1"),
			item("description", "Dyno's own JSON API, served by `dyno serve`. docs/api.md describes logins, times, "+
				"errors and the stream, and the Prometheus API, which is served at /api/v1.\nWhat was not observed "+
				"is omitted or null; a zero was measured. Clients must ignore members that they do not know."),
			item("license", yaml.MapSlice{item("name", "Apache-2.0"), item("identifier", "Apache-2.0")}),
		}),
		item("servers", []yaml.MapSlice{{item("url", "http://127.0.0.1:8306")}}),
		item("security", []yaml.MapSlice{{}, {item("token", []string{})}, {item("session", []string{})}}),
		item("paths", paths),
		item("components", yaml.MapSlice{
			item("securitySchemes", yaml.MapSlice{
				item("token", yaml.MapSlice{
					item("type", "http"), item("scheme", "bearer"),
					item("description", "an API token"),
				}),
				item("session", yaml.MapSlice{
					item("type", "apiKey"), item("in", "cookie"), item("name", "dyno-8306"),
					item("description", "cookie of a login in the web UI; the number is the port, and with TLS the "+
						"name begins with __Host-"),
				}),
			}),
			item("parameters", yaml.MapSlice{item("csrf", yaml.MapSlice{
				item("name", csrfHeader), item("in", "header"),
				item("required", false), item("description", "the session's csrf, as GET session returns it; "+
					"required with a session, not with a token"),
				item("schema", yaml.MapSlice{item("type", "string")}),
			})}),
			item("responses", refusals),
			item("schemas", parts),
		}),
	}
	b, err := yaml.MarshalWithOptions(doc, yaml.Indent(2), yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("# Made of the types that are answered with: go test ./internal/httpapi -run TestOpenAPI "+
		"-update\n"), b...)
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
	for _, w := range strings.FieldsFunc(strings.TrimPrefix(path, below), func(r rune) bool {
		return strings.ContainsRune("/-.{}", r)
	}) {
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
		schema = append(schema, item("description", "Unix seconds with decimals, or RFC 3339"),
			item("examples", []string{"1762171200.5", "2026-11-03T12:00:00Z"}))
	case "span":
		schema = append(schema, item("description", "seconds, or as 90s, 5m, 1h30m, 7d"),
			item("examples", []string{"300", "5m"}))
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
	x := yaml.MapSlice{
		item("name", p.name), item("in", "query"), item("required", p.need),
		item("description", p.about),
	}
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

// unzip returns what the program has of the document.
func unzip(t *testing.T) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(openAPI))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOpenAPI holds openapi.yaml to the types that are answered with, and to the paths that there are, both ways.
func TestOpenAPI(t *testing.T) {
	want := document(t)
	if *rewrite {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a valid one
		_, _ = z.Write(want)                                  // a Buffer takes everything
		_ = z.Close()
		if err := errors.Join(os.WriteFile("openapi.yaml", want, 0o644),
			os.WriteFile("openapi.yaml.gz", b.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	} else if has, err := os.ReadFile("openapi.yaml"); err != nil || !bytes.Equal(has, want) ||
		!bytes.Equal(unzip(t), want) {
		t.Error("openapi.yaml is not as the code has it: go test ./internal/httpapi -run TestOpenAPI -update")
	}
	var have []string
	for _, a := range described() {
		have = append(have, strings.Replace(a.path, " ", " "+below, 1))
	}
	paths := New(bare(), Options{}).Paths()
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

// crowded has more of everything than lists have without a limit.
func crowded(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, Options{})
	ctx, began := t.Context(), time.Unix(1762171200, 0)
	w.putClasses(t, began.Add(-time.Minute), 210)
	w.putClasses(t, began, 210)
	for i := range 120 {
		at, n := began.Add(time.Duration(i)*time.Second), fmt.Sprintf("%03d", i)
		doc, err := report.Encode(&report.Document{Kind: report.Demo, ID: "m-" + n, At: at})
		good(t, err)
		good(t, errors.Join(
			w.ledger.PutEntry(ctx, journal.Entry{ID: "a-" + n, Target: "shop", Planned: at, State: journal.Done}),
			w.ledger.Diagnoses.Put(ctx, ledger.Diagnosis{ID: "d-" + n, Target: "shop", At: at}),
			w.ledger.PutRun(ctx, loadresult.Run{ID: "r-" + n, Target: "shop", Started: at}),
			w.ledger.Documents.Put(ctx, string(report.Demo), "m-"+n, "", "", doc),
			w.ledger.Incidents.Put(ctx, []incident.Incident{{ID: "i-" + n, Target: "shop", From: at, To: at}}),
			w.History.Locks.Put(ctx, "shop", lock.Seen{Deadlocks: []lock.Deadlock{{ID: n, At: at}}}, nil),
		))
	}
	for i := range 1010 {
		good(t, w.History.PutState(&state.State{Target: "shop", At: began.Add(time.Duration(i) * time.Second)}))
	}
	good(t, w.History.Flush(ctx))
	for range 120 {
		_, err := w.Access.Audit.Begin(ctx, access.Entry{Who: "anna", What: "note"})
		good(t, err)
	}
	return w
}

// free is what is left of this machine.
var free = lazyregexp.New(`"(disk|memory)_free_bytes":[0-9]+`)

// TestDefaults holds the default of each parameter to what is done without it.
func TestDefaults(t *testing.T) {
	v := crowded(t)
	ask := func(path string, q url.Values) string {
		t.Helper()
		w := request(v, "GET", path+"?"+q.Encode(), "")
		if w.Code != 200 {
			t.Fatalf("%s?%s: %d %s", path, q.Encode(), w.Code, w.Body)
		}
		return free.ReplaceAllString(w.Body.String(), "") // it changes meanwhile
	}
	tried := 0
	for _, a := range described() {
		path, is := strings.CutPrefix(a.path, "GET ")
		if path == "/cost" { // it tells of now: see TestTargetsInJSON
			continue
		}
		q := url.Values{"flavor": {"mysql"}, "task": {"watch"}, "name": {"threads"}}
		for _, p := range a.params {
			if p.kind == "time" {
				q.Set(p.name, map[bool]string{
					true:  "1762171200",
					false: "1762174800",
				}[strings.HasSuffix(p.name, "from")])
			}
			if p.need && q.Get(p.name) == "" {
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
			q.Set(p.name, map[string]string{
				"count": "7", "integer": "7", "span": "7m",
				"string": map[string]string{"scale": "medium", "user": "other"}[p.name],
			}[p.kind])
			other := ask(below+path, q)
			if without != with || with == other {
				t.Errorf("%s: without %s it asks for %s, with its default for %s, with another value for %s", a.path,
					p.name, without, with, other)
			}
			q.Del(p.name)
		}
	}
	if tried < 11 {
		t.Errorf("%d defaults were tried", tried)
	}
}
