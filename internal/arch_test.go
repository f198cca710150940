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
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/dyno-perf/dyno"

// floors tells the floor of every package. A package imports lower floors only.
var floors = map[string]int{
	"internal/known":           0,
	"internal/dbms":            0,
	"internal/metric":          0,
	"internal/event":           0,
	"internal/incident":        0,
	"internal/hist":            0,
	"internal/run":             0,
	"internal/class":           0,
	"internal/schema":          0,
	"internal/explain":         0,
	"internal/snapshot":        0,
	"internal/finding":         0,
	"internal/journal":         0,
	"internal/stat":            0,
	"internal/unit":            0,
	"internal/progress":        0,
	"internal/sqltext":         0,
	"internal/sqlshape":        0,
	"internal/workload":        0,
	"internal/workload/script": 0,
	"internal/limit":           0,
	"internal/suggest":         0,
	"internal/pace":            0,
	"internal/plan":            0,
	"internal/trial":           0,
	"internal/arith":           0,
	"internal/wire":            0,
	"internal/slowlog":         0,
	"internal/sketch":          0,
	"internal/digest":          0,
	"internal/state":           0,
	"internal/source":          0,
	"internal/reading":         0,
	"internal/exposition":      0,
	"internal/panel":           0,
	"internal/pattern":         0,
	"internal/store/failure":   0,
	"recipes":                  0,

	"internal/workload/tpcc": 0,

	"internal/target":   1,
	"internal/catalog":  1,
	"internal/clock":    1,
	"internal/host":     1,
	"internal/platform": 1,
	"internal/tunnel":   1,
	"internal/userfile": 1,

	"internal/store/reserve":    1,
	"internal/store/sqlitefile": 1,

	"internal/load":          2,
	"internal/scrape":        2,
	"internal/digestsource":  2,
	"internal/alter":         2,
	"internal/sandbox":       2,
	"internal/store/series":  2,
	"internal/store/ledger":  2,
	"internal/store/trials":  2,
	"internal/store/history": 2,
	"internal/store/access":  2,
	"internal/remotewrite":   2,

	"internal/diagnose":       3,
	"internal/advise":         3,
	"internal/advise/index":   3,
	"internal/advise/schema":  3,
	"internal/advise/config":  3,
	"internal/advise/host":    3,
	"internal/advise/session": 3,
	"internal/proof":          3,
	"internal/compare":        3,

	"internal/capture":    4,
	"internal/collector":  4,
	"internal/experiment": 4,
	"internal/apply":      4,
	"internal/report":     4,
	"internal/fault":      4,
	"internal/testbed":    4,
	"internal/recipe":     4,
	"internal/judge":      4,
	"internal/task":       4,

	"internal/app": 5,

	"internal/service":    6,
	"internal/lab":        6,
	"internal/demo":       6,
	"internal/discovery":  6,
	"internal/indextrial": 6,

	"internal/cli":     7,
	"internal/screen":  7,
	"internal/httpapi": 7,
	"internal/web":     7,

	"cmd/dyno": 8,
}

// siblings lists the only edges allowed within one floor, with the reason.
var siblings = map[string]string{
	"internal/class -> internal/known":    "a figure that a source does not tell is unknown",
	"internal/schema -> internal/known":   "statistics may be missing",
	"internal/schema -> internal/sqltext": "definitions are read by the rules of quoting",
	"internal/sqlshape -> internal/sqltext": "what the parser does not say of a text is read by the rules of " +
		"quoting",
	"internal/workload -> internal/sqltext":         "markers in quotes are none",
	"internal/workload/script -> internal/sqltext":  "statements of scripts are read by the rules of quoting",
	"internal/run -> internal/hist":                 "a tick carries the latencies of its operations",
	"internal/finding -> internal/known":            "evidence may be text alone",
	"internal/finding -> internal/schema":           "an action names the index it adds",
	"internal/finding -> internal/source":           "evidence names the source it was read from",
	"internal/class -> internal/source":             "a class names the source it was read from",
	"internal/reading -> internal/source":           "the parts of a reading name their sources",
	"internal/panel -> internal/source":             "lines of graphs name their sources",
	"internal/journal -> internal/finding":          "an entry records the action it carried out",
	"internal/arith -> internal/dbms":               "each flavor has its own arithmetic",
	"internal/snapshot -> internal/dbms":            "a snapshot names the flavor of its target",
	"internal/snapshot -> internal/known":           "what was not observed is unknown",
	"internal/snapshot -> internal/metric":          "a snapshot is made of the other values",
	"internal/snapshot -> internal/event":           "a snapshot is made of the other values",
	"internal/snapshot -> internal/class":           "a snapshot is made of the other values",
	"internal/snapshot -> internal/schema":          "a snapshot is made of the other values",
	"internal/snapshot -> internal/explain":         "a snapshot is made of the other values",
	"internal/plan -> internal/limit":               "a variant may be a limit",
	"internal/plan -> internal/suggest":             "unknown words name the nearest right one",
	"internal/workload -> internal/suggest":         "unknown words name the nearest right one",
	"internal/workload/script -> internal/workload": "scripts are one kind of workload",
	"internal/workload/script -> internal/suggest":  "unknown words name the nearest right one",
	"internal/plan -> internal/unit":                "sizes in plans are written as people write them",
	"internal/plan -> internal/workload":            "a plan's workload and options are checked before anything runs",
	"internal/arith -> internal/unit":               "rules are told in words with sizes",
	"internal/testbed -> internal/experiment":       "a testbed answers with the experiment's own Unusable",
	"internal/trial -> internal/plan":               "a result carries its plan",
	"internal/trial -> internal/hist":               "a trial carries the latencies of its operations",
	"internal/trial -> internal/stat":               "cells carry intervals and verdicts",

	"internal/workload/tpcc -> internal/workload": "one workload in a package of its own",

	"internal/host -> internal/platform":             "each system has its own way",
	"internal/target -> internal/platform":           "each system has its own way",
	"internal/tunnel -> internal/platform":           "each system has its own way",
	"internal/userfile -> internal/platform":         "each system has its own way",
	"internal/store/reserve -> internal/platform":    "each system has its own way",
	"internal/store/sqlitefile -> internal/platform": "each system has its own way",

	"internal/plan -> internal/pattern":          "expressions are compiled when they are used",
	"internal/sqltext -> internal/pattern":       "expressions are compiled when they are used",
	"internal/digest -> internal/slowlog":        "the entries of logs are what is digested",
	"internal/digest -> internal/sqltext":        "classes are told apart by their fingerprints",
	"internal/digest -> internal/sketch":         "medians over all values",
	"internal/digest -> internal/suggest":        "unknown names in a filter are told the nearest",
	"internal/digest -> internal/known":          "a figure that a source does not tell is unknown",
	"internal/state -> internal/known":           "what was not observed is unknown",
	"internal/state -> internal/source":          "sources that gave nothing are told alike everywhere",
	"internal/snapshot -> internal/source":       "a snapshot is made of the other values",
	"internal/snapshot -> internal/state":        "a snapshot is made of the other values",
	"internal/state -> internal/metric":          "headline figures are made of samples",
	"internal/state -> internal/sqltext":         "sessions name the class of their statement",
	"internal/reading -> internal/metric":        "a reading is made of the other values",
	"internal/reading -> internal/snapshot":      "a reading is made of the other values",
	"internal/reading -> internal/state":         "a reading is made of the other values",
	"internal/reading -> internal/event":         "a reading is made of the other values",
	"internal/incident -> internal/event":        "incidents are kinds of events",
	"internal/incident -> internal/known":        "what was not observed neither begins nor ends an incident",
	"internal/incident -> internal/state":        "incidents are found in states",
	"internal/exposition -> internal/metric":     "samples in Prometheus' text format",
	"internal/target -> internal/tunnel":         "a URL may name a jump host",
	"internal/target -> internal/host":           "the kernel says whose socket is at the other end of a connection",
	"internal/advise/index -> internal/advise":   "rules share one view of the snapshot",
	"internal/advise/schema -> internal/advise":  "rules share one view of the snapshot",
	"internal/advise/config -> internal/advise":  "rules share one view of the snapshot",
	"internal/advise/host -> internal/advise":    "rules share one view of the snapshot",
	"internal/advise/session -> internal/advise": "rules share one view of the snapshot",
	"internal/report -> internal/judge": "the document of one kind of advice says how many findings of " +
		"other kinds there are",
	"internal/service -> internal/discovery": "the web UI lists the servers of this machine",
	"internal/cli -> internal/screen":        "watch draws on a terminal",
	"internal/cli -> internal/httpapi":       "serve answers over HTTP",
	"internal/cli -> internal/web":           "serve shows the page",
	"internal/panel -> internal/unit":        "figures of graphs have units",
	"internal/panel -> internal/metric":      "graphs are made of series",
	"internal/digest -> internal/stat":       "two periods are compared by the lab's statistics",
}

// thirdParty lists every module outside the standard library, who may import it and why.
var thirdParty = []struct {
	prefix string
	users  []string // "" for tests and every package
	why    string
}{
	{"github.com/HdrHistogram/hdrhistogram-go", []string{"internal/hist"}, "the field's histogram"},
	{"github.com/go-sql-driver/mysql", []string{"internal/target"}, "the field's driver; everybody else asks a target"},
	{"github.com/pingcap/tidb/pkg/parser", []string{"internal/sqlshape"}, "a real SQL parser for judgement"},
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
	{"github.com/spf13/cobra", []string{"internal/cli"}, "verbs and flags"},
	{"github.com/spf13/pflag", []string{"internal/cli"}, "comes with cobra"},
	{"gonum.org/v1/gonum/mathext", []string{"internal/stat"}, "the incomplete beta function of Student's t"},
	{"golang.org/x/crypto", []string{"internal/store/access"}, "argon2id for passwords"},
	{"golang.org/x/sync", nil, "errgroup: every goroutine has an owner"},
	{
		"github.com/klauspost/compress/zstd",
		[]string{"internal/digestsource", "internal/store/history"},
		"logs that were compressed with zstd, states that are kept",
	},
	{"golang.org/x/sys", []string{
		"internal/clock", "internal/host", "internal/load", "internal/platform",
		"internal/sandbox", "internal/target", "internal/userfile",
	}, "system calls that package syscall lacks"},
	{"golang.org/x/term", []string{"internal/cli"}, "password prompts and the width of the terminal"},
	{"github.com/google/go-cmp", []string{}, "differences in tests"},
	{"github.com/rogpeppe/go-internal", []string{}, "testscript for the command line"},
	{"github.com/chromedp", []string{}, "a real browser in tests"},
}

// pure lists the floors that do no I/O and read no clock, and impure what they may not import for that.
var (
	pure   = []int{0, 3}
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
	seen := map[string]bool{}
	for _, p := range packages(t) {
		seen[p.ImportPath] = true
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
	for path := range floors {
		if !seen[path] {
			t.Errorf("%s has a floor but does not exist", path)
		}
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
	refused("internal/load", "github.com/dyno-perf/dyno/internal/scrape") // siblings
	refused("internal/target", "github.com/dyno-perf/dyno/internal/load") // upward
	// judgement never sees the planted cause
	refused("internal/advise/index", "github.com/dyno-perf/dyno/internal/fault")
	refused("internal/diagnose", "github.com/dyno-perf/dyno/internal/nowhere") // unlisted
	refused("internal/diagnose", "os")                                         // judgement is pure
	refused("internal/scrape", "github.com/go-sql-driver/mysql")
	refused("internal/scrape", "example.org/unheard/of")
	refused("internal/load", "math/rand")
	refused("internal/cli", "github.com/dyno-perf/dyno/test/servers")
	allowed("internal/scrape", "github.com/dyno-perf/dyno/internal/target")
	allowed("internal/snapshot", "github.com/dyno-perf/dyno/internal/class")
	allowed("internal/store/series", "github.com/prometheus/prometheus/tsdb")
	allowed("internal/host", "os")
}
