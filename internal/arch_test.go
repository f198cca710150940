// Package internal_test checks the architecture: the floor of each package, its allowed imports,
// and the external modules. It is the architecture document, so each new package needs a line here.
package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/dyno-perf/dyno"

// house lists the packages of each floor, the lowest first. A package imports lower floors only.
var house = []struct {
	name     string
	packages []string
}{
	{"values", []string{
		"internal/known", "internal/dbms", "internal/metric", "internal/event", "internal/hist", "internal/explain",
		"internal/stat", "internal/unit", "internal/progress", "internal/limit", "internal/suggest", "internal/pace",
		"internal/sketch", "internal/source", "internal/lazyregexp", "internal/guard", "internal/store/failure",
		"internal/shape", "internal/sqltext", "internal/attribute", "recipes",
	}},
	{"text and codecs", []string{
		"internal/mysql/mytext", "internal/mysql/sqlshape", "internal/schema", "internal/class", "internal/mysql/wire",
		"internal/mysql/slowlog", "internal/mysql/figures", "internal/exposition", "internal/workload",
		"internal/postgres/pgtext", "internal/lock",
	}},
	{"the domain", []string{
		"internal/loadresult", "internal/mysql/arith", "internal/panel", "internal/digest",
		"internal/mysql/logdigest", "internal/mysql/ddl", "internal/state",
		"internal/incident", "internal/snapshot", "internal/reading", "internal/finding", "internal/journal",
		"internal/plan", "internal/trial", "internal/workload/script", "internal/workload/tpcc",
	}},
	{"the operating system", []string{"internal/platform", "internal/clock"}},
	{"access", []string{
		"internal/endpoint", "internal/host", "internal/nodeexporter", "internal/tunnel", "internal/userfile",
		"internal/store/reserve", "internal/store/sqlitefile", "internal/mysql/deadlock",
	}},
	{"connections", []string{
		"internal/mysql/target", "internal/mysql/catalog", "internal/scrape", "internal/postgres/conn",
		"internal/sandbox/maker",
	}},
	{"engines", []string{
		"internal/family", "internal/load", "internal/mysql/sources", "internal/mysql/panels",
		"internal/postgres/sources", "internal/postgres/panels",
		"internal/mysql/digestsource", "internal/mysql/alter", "internal/sandbox", "internal/change",
		"internal/mysql/sandbox", "internal/postgres/sandbox",
		"internal/remotewrite", "internal/store/series", "internal/store/history", "internal/store/trials",
		"internal/store/ledger", "internal/store/access",
	}},
	{"judgement", []string{
		"internal/diagnose", "internal/advise", "internal/proof", "internal/compare", "internal/lockwait",
	}},
	{"rules", []string{
		"internal/advise/index", "internal/mysql/advise/schema", "internal/mysql/advise/config", "internal/advise/host",
		"internal/advise/session", "internal/advise/config", "internal/mysql/advise", "internal/mysql/advise/session",
		"internal/mysql/advise/host", "internal/postgres/advise", "internal/mysql/symptoms",
		"internal/postgres/symptoms",
	}},
	// above judgement, which never sees the planted cause
	{"loads and faults", []string{"internal/fault", "internal/mysql/loader", "internal/postgres/loader"}},
	{"steps", []string{
		"internal/mysql/capture", "internal/collector", "internal/experiment", "internal/mysql/apply",
		"internal/report",
		"internal/postgres/change",
		"internal/mysql/fault", "internal/postgres/fault", "internal/mysql/trial", "internal/postgres/trial",
		"internal/testbed", "internal/recipe", "internal/judge", "internal/task", "internal/postgres/capture",
	}},
	{"families", []string{"internal/mysql", "internal/mysql/indextrial", "internal/postgres"}},
	{"wiring", []string{"internal/app"}},
	{"tasks", []string{"internal/service", "internal/lab", "internal/demo", "internal/discovery"}},
	{"views", []string{"internal/screen", "internal/httpapi", "internal/web"}},
	{"verbs", []string{"internal/cli"}},
	{"program", []string{"cmd/dyno"}},
}

// floors tells the floor of every package.
var floors = func() map[string]int {
	m := map[string]int{}
	for i, f := range house {
		for _, p := range f.packages {
			m[p] = i
		}
	}
	return m
}()

// siblings lists the only edges allowed within one floor, with the reason. There are at most mostSiblings.
var siblings = map[string]string{
	"internal/mysql/sqlshape -> internal/mysql/mytext": "what the parser does not say of a text is read by the rules " +
		"of quoting",
	"internal/mysql/logdigest -> internal/digest": "what logs sum up to is a report",
	"internal/journal -> internal/finding":        "an entry records the action it carried out",
	"internal/testbed -> internal/experiment":     "a testbed answers with the experiment's own Unusable",
	"internal/trial -> internal/plan":             "a result carries its plan",
	"internal/snapshot -> internal/state":         "a snapshot is made of the other values",
	"internal/reading -> internal/state":          "a reading is made of the other values",
	"internal/incident -> internal/finding":       "an incident has findings, and their severity",
	"internal/incident -> internal/state":         "incidents are found in states",
	"internal/endpoint -> internal/tunnel":        "a URL may name a jump host",
	"internal/endpoint -> internal/host":          "the kernel says whose socket is at the other end of a connection",
	"internal/mysql/advise/session -> internal/advise/session": "who waits for whom is read once, whatever the " +
		"rule",
	"internal/mysql/advise/host -> internal/advise/host": "facts of a machine are worded once, whatever the " +
		"rule",
	"internal/mysql -> internal/mysql/indextrial": "a trial is made of the steps, such as changes",
	"internal/service -> internal/discovery":      "the web UI lists the servers of this machine",
}

const mostSiblings = 15

// thirdParty lists every module outside the standard library, who may import it and why.
var thirdParty = []struct {
	prefix string
	users  []string // "" for tests and every package
	why    string
}{
	{"github.com/HdrHistogram/hdrhistogram-go", []string{"internal/hist"}, "the field's histogram"},
	{
		"github.com/go-sql-driver/mysql",
		[]string{"internal/mysql/target"},
		"the field's driver; everybody else asks a target",
	},
	{
		"github.com/jackc/pgx/v5",
		[]string{
			"internal/postgres", "internal/postgres/conn", "internal/postgres/sources", "internal/postgres/change",
			"internal/postgres/capture", "internal/postgres/loader", "internal/postgres/trial",
		},
		"PostgreSQL's driver",
	},
	{"github.com/pingcap/tidb/pkg/parser", []string{"internal/mysql/sqlshape"}, "a real SQL parser for judgement"},
	{"github.com/prometheus/procfs", []string{"internal/host"}, "/proc"},
	{
		"github.com/prometheus/prometheus",
		[]string{"internal/store/series", "internal/remotewrite"},
		"the series store, PromQL, and the messages of remote write",
	},
	{"modernc.org/sqlite", []string{"internal/store/sqlitefile"}, "the ledger, the history and the users, without cgo"},
	{"charm.land/bubbletea", []string{"internal/screen"}, "terminal screens"},
	{"charm.land/lipgloss", []string{"internal/screen"}, "colours and boxes of terminal screens"},
	{"github.com/klauspost/compress/snappy", []string{"internal/remotewrite"}, "remote write is sent in snappy"},
	{"github.com/oklog/ulid", []string{"internal/store/series"}, "names of the blocks of the series store"},
	{"github.com/prometheus/common", []string{"internal/store/series"}, "names and durations of PromQL"},
	{"github.com/goccy/go-yaml", []string{"internal/plan"}, "YAML with positions in its errors"},
	{"gonum.org/v1/gonum/mathext", []string{"internal/stat"}, "the incomplete beta function of Student's t"},
	{"github.com/spf13/cobra", []string{"internal/cli"}, "verbs and flags"},
	{"github.com/spf13/pflag", []string{"internal/cli"}, "comes with cobra"},
	{"golang.org/x/crypto", []string{"internal/store/access"}, "argon2id for passwords"},
	{"golang.org/x/sync", nil, "errgroup: every goroutine has an owner"},
	{
		"github.com/klauspost/compress/zstd",
		[]string{"internal/mysql/digestsource", "internal/store/history"},
		"logs that were compressed with zstd, states that are kept",
	},
	{"golang.org/x/sys", []string{
		"internal/clock", "internal/host", "internal/load", "internal/platform", "internal/postgres/loader",
		"internal/sandbox", "internal/mysql/target", "internal/userfile",
	}, "system calls that package syscall lacks"},
	{"golang.org/x/term", []string{"internal/cli"}, "password prompts and the width of the terminal"},
	{"github.com/google/go-cmp", []string{}, "differences in tests"},
	{"github.com/rogpeppe/go-internal", []string{}, "testscript for the command line"},
	{"github.com/chromedp", []string{}, "a real browser in tests"},
}

// pure lists the floors that do no I/O and read no clock, and impure what they may not import for that.
var (
	pure   = []int{0, 1, 2, 7, 8}
	impure = []string{
		"os", "os/exec", "os/signal", "net", "net/http", "syscall", "io/ioutil", "database/sql", "log",
		"log/slog", "runtime/debug", "testing",
	}
	// clocks are the functions that make an answer depend on when it was asked.
	clocks = map[string][]string{"time": {
		"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer",
		"NewTicker", "AfterFunc",
	}}
)

// banned lists imports that nobody makes, with what to use instead.
var banned = map[string]string{
	"math/rand":                   "math/rand/v2 with an explicit seed",
	"io/ioutil":                   "io and os",
	"plugin":                      "an explicit list",
	"log":                         "log/slog with the target attached",
	"github.com/stretchr/testify": "the standard library and go-cmp",
}

type pkg struct {
	ImportPath                         string
	Dir                                string
	Imports, TestImports, XTestImports []string
	GoFiles                            []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var ps []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module+"/")
		ps = append(ps, p)
	}
	if len(ps) == 0 {
		t.Fatal("go list names no package")
	}
	return ps
}

// free reports whether a package is a tool or a test bed that stands outside the house.
func free(path string) bool {
	return path == "internal" || strings.HasPrefix(path, "test") || strings.HasPrefix(path, "build/") ||
		strings.HasPrefix(path, "bench")
}

// check returns what is wrong with an import by a package of the house.
func check(from, imp string, test bool) error {
	if why, bad := banned[imp]; bad {
		return fmt.Errorf("%s imports %s: use %s", from, imp, why)
	}
	local, isLocal := strings.CutPrefix(imp, module+"/")
	first, _, _ := strings.Cut(imp, "/")
	switch {
	case isLocal && free(local):
		if !test {
			return fmt.Errorf("%s imports %s: only tests may", from, local)
		}
	case isLocal:
		a, ok := floors[from]
		if !ok {
			return fmt.Errorf("%s is on no floor: give it a line in the map", from)
		}
		b, ok := floors[local]
		if !ok {
			return fmt.Errorf("%s imports %s, which is on no floor: give it a line in the map", from, local)
		}
		if b > a {
			return fmt.Errorf("%s (floor %d) imports %s (floor %d): a package imports lower floors only", from, a,
				local, b)
		}
		if a == b && test { // real parts, not stand-ins, even where the program keeps them apart
			return nil
		}
		if a == b && siblings[from+" -> "+local] == "" {
			return fmt.Errorf("%s imports its sibling %s on floor %d: what both need lives lower, or the edge is "+
				"listed with its reason", from, local, a)
		}
	case strings.Contains(first, "."):
		for _, m := range thirdParty {
			if imp == m.prefix || strings.HasPrefix(imp, m.prefix+"/") {
				if test || m.users == nil || slices.Contains(m.users, from) {
					return nil
				}
				return fmt.Errorf("%s imports %s: only %v may (%s)", from, imp, m.users, m.why)
			}
		}
		return fmt.Errorf("%s imports %s, which is not on the list of modules", from, imp)
	default:
		if f, ok := floors[from]; !test && ok && slices.Contains(pure, f) && slices.Contains(impure, imp) {
			return fmt.Errorf("%s (floor %d) imports %s: floors %v do no I/O", from, f, imp, pure)
		}
	}
	return nil
}

func TestFloors(t *testing.T) {
	seen, imports := map[string]bool{}, map[string]bool{}
	for _, p := range packages(t) {
		seen[p.ImportPath] = true
		for _, imp := range p.Imports {
			imports[p.ImportPath+" "+strings.TrimPrefix(imp, module+"/")] = true
		}
		if free(p.ImportPath) {
			continue
		}
		if _, ok := floors[p.ImportPath]; !ok {
			t.Errorf("%s is on no floor: give it a line in the map", p.ImportPath)
		}
		for _, imp := range p.Imports {
			if err := check(p.ImportPath, imp, false); err != nil {
				t.Error(err)
			}
		}
		for _, imp := range append(p.TestImports, p.XTestImports...) {
			if err := check(p.ImportPath, imp, true); err != nil {
				t.Errorf("in a test: %v", err)
			}
		}
		if slices.Contains(pure, floors[p.ImportPath]) {
			checkClock(t, p)
		}
	}
	if len(siblings) > mostSiblings {
		t.Errorf("%d edges within floors: at most %d", len(siblings), mostSiblings)
	}
	for edge := range siblings {
		from, to, _ := strings.Cut(edge, " -> ")
		if !imports[from+" "+to] {
			t.Errorf("no package makes the edge %s", edge)
		}
	}
	for path := range floors {
		if !seen[path] {
			t.Errorf("%s has a floor but does not exist", path)
		}
	}
}

// familyOf names the wing of a package, "" for the middle.
func familyOf(path string) string {
	switch {
	case path == "internal/mysql" || strings.HasPrefix(path, "internal/mysql/"):
		return "MySQL"
	case path == "internal/postgres" || strings.HasPrefix(path, "internal/postgres/"):
		return "PostgreSQL"
	}
	return ""
}

// TestWing holds two walls: no family of servers knows another, and of all other packages only app knows families.
func TestWing(t *testing.T) {
	of := map[string]int{}
	for _, p := range packages(t) {
		from := familyOf(p.ImportPath)
		if free(p.ImportPath) {
			continue
		}
		of[from]++
		for _, imp := range p.Imports {
			imp = strings.TrimPrefix(imp, module+"/")
			if to := familyOf(imp); to != "" && to != from && p.ImportPath != "internal/app" {
				t.Errorf("%s imports %s: only package app knows families, and no family knows another",
					p.ImportPath, imp)
			}
		}
	}
	if of["MySQL"] < 10 || of["PostgreSQL"] < 5 || of[""] < 50 {
		t.Errorf("%d packages of MySQL, %d of PostgreSQL, %d of all families", of["MySQL"], of["PostgreSQL"], of[""])
	}
}

// checkClock fails when a file of a pure package asks for the time.
func checkClock(t *testing.T, p pkg) {
	t.Helper()
	for _, name := range p.GoFiles {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		local := map[string]string{} // name in this file → import path
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			as := filepath.Base(path)
			if i.Name != nil {
				as = i.Name.Name
			}
			local[as] = path
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(clocks[local[x.Name]], sel.Sel.Name) {
				t.Errorf("%s: %s.%s: floors %v read no clock, time comes in as a value", fset.Position(sel.Pos()),
					x.Name, sel.Sel.Name, pure)
			}
			return true
		})
	}
}

// TestArchitecturePage holds docs/architecture.md against the tree: its table of floors is the map, and what "Where to
// add things" names is there.
func TestArchitecturePage(t *testing.T) {
	b, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	quoted := regexp.MustCompile("`([^`]+)`")
	told := 0
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) ([a-z ]+) \| ([^|]*) \|`).FindAllStringSubmatch(page, -1) {
		n, _ := strconv.Atoi(row[1])
		if n >= len(house) || house[n].name != row[2] {
			t.Errorf("floor %d is not %q", n, row[2])
			continue
		}
		told++
		var of []string
		for _, m := range quoted.FindAllStringSubmatch(row[3], -1) {
			of = append(of, m[1])
		}
		for _, p := range house[n].packages {
			if i := slices.Index(of, strings.TrimPrefix(p, "internal/")); i < 0 {
				t.Errorf("floor %d lacks %s", n, p)
			} else {
				of = slices.Delete(of, i, i+1)
			}
		}
		if len(of) > 0 {
			t.Errorf("floor %d has no %v", n, of)
		}
	}
	if told != len(house) {
		t.Errorf("the page tells %d of %d floors", told, len(house))
	}
	_, add, found := strings.Cut(page, "\n## Where to add things\n")
	add, _, _ = strings.Cut(add, "\n\nHow to build")
	paths := 0
	for _, m := range quoted.FindAllStringSubmatch(add, -1) {
		path := strings.NewReplacer("KIND", "*", "NAME", "*", "FAMILY", "*").Replace(strings.TrimSuffix(m[1], "/"))
		if !strings.Contains(path, "/") {
			continue
		}
		paths++
		if is, err := filepath.Glob("../" + path); err != nil || len(is) == 0 {
			t.Errorf("to add things to %s: there is no such place", m[1])
		}
	}
	if !found || paths < 10 {
		t.Errorf("%d places to add things", paths)
	}
}

// TestMapRefuses tries the imports that the map is there to refuse.
func TestMapRefuses(t *testing.T) {
	refused := func(from, imp string) {
		t.Helper()
		if check(from, imp, false) == nil {
			t.Errorf("%s may import %s", from, imp)
		}
	}
	allowed := func(from, imp string) {
		t.Helper()
		if err := check(from, imp, false); err != nil {
			t.Error(err)
		}
	}
	refused("internal/load", "github.com/dyno-perf/dyno/internal/mysql/alter")  // siblings
	refused("internal/known", "github.com/dyno-perf/dyno/internal/state")       // upward
	refused("internal/mysql/target", "github.com/dyno-perf/dyno/internal/load") // upward
	// judgement never sees the planted cause
	refused("internal/advise/index", "github.com/dyno-perf/dyno/internal/fault")
	refused("internal/advise/index", "github.com/dyno-perf/dyno/internal/mysql/fault")
	refused("internal/advise/index", "github.com/dyno-perf/dyno/internal/postgres/fault")
	refused("internal/diagnose", "github.com/dyno-perf/dyno/internal/fault")
	refused("internal/diagnose", "github.com/dyno-perf/dyno/internal/nowhere") // unlisted
	refused("internal/diagnose", "os")                                         // judgement is pure
	refused("internal/scrape", "github.com/go-sql-driver/mysql")
	refused("internal/scrape", "example.org/unheard/of")
	// when to read is the same for all families
	refused("internal/scrape", "github.com/dyno-perf/dyno/internal/mysql/target")
	refused("internal/load", "math/rand")
	refused("internal/cli", "github.com/dyno-perf/dyno/test/servers")
	allowed("internal/mysql/sources", "github.com/dyno-perf/dyno/internal/mysql/target")
	allowed("internal/snapshot", "github.com/dyno-perf/dyno/internal/class")
	allowed("internal/store/series", "github.com/prometheus/prometheus/tsdb")
	allowed("internal/host", "os")
}
