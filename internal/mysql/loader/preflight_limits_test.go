package loader

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/workload"
)

// said fails the test when the remarks are not exactly of this severity and with this text; "" is for none.
func said(t *testing.T, p *preflight, severity load.Severity, text string) {
	t.Helper()
	switch {
	case text == "" && len(p.remarks) == 0:
	case text != "" && len(p.remarks) == 1 && p.remarks[0].Severity == severity &&
		strings.Contains(p.remarks[0].String(), text):
	default:
		t.Errorf("%v of %v: %q, want %s %q", p.vars, p.status, p.remarks, severity, text)
	}
	p.remarks = nil
}

func planOf(t *testing.T, w workload.Workload, o map[string]string) *workload.Plan {
	t.Helper()
	p, err := w.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPreflightConnections(t *testing.T) {
	f := func(threads int, limit, used string, account uint64, severity load.Severity, text string) {
		t.Helper()
		p := &preflight{
			config: load.Config{Threads: threads}, vars: map[string]string{"max_connections": limit},
			status: map[string]string{"threads_connected": used}, accountLimit: account,
		}
		p.connections()
		said(t, p, severity, text)
	}
	f(100, "151", "51", 0, "", "")
	f(100, "151", "52", 0, load.Warn, "max_connections=151, and 52 are in use; SET GLOBAL max_connections=172")
	f(152, "151", "1", 0, load.Refuse, "152 sessions are more than the server takes")
	f(100, "", "", 0, "", "")
	f(9, "151", "1", 10, "", "")
	f(10, "151", "1", 10, load.Refuse, "max_user_connections=10")
}

func TestPreflightStatements(t *testing.T) {
	f := func(threads int, mode load.PSMode, limit, used string, severity load.Severity, text string) {
		t.Helper()
		p := &preflight{
			config: load.Config{Threads: threads, PSMode: mode}, plan: planOf(t, workload.ReadWrite{},
				map[string]string{"tables": "10"}),
			vars:   map[string]string{"max_prepared_stmt_count": limit},
			status: map[string]string{"prepared_stmt_count": used},
		}
		p.statements()
		said(t, p, severity, text)
	}
	// Nine statements for each table; BEGIN and COMMIT are sent as text.
	f(10, load.Auto, "900", "0", "", "")
	f(10, load.Auto, "900", "1", load.Warn, "1 are in use")
	f(11, load.Auto, "900", "0", load.Refuse, "11 sessions prepare 90 statements each, more than the server keeps: "+
		"max_prepared_stmt_count=900; SET GLOBAL max_prepared_stmt_count=1010, or --db-ps-mode=disable")
	f(11, load.Disable, "900", "0", "", "")
	f(1, load.Auto, "0", "0", load.Refuse, "max_prepared_stmt_count=0")
	f(1, load.Auto, "", "", "", "")
}

func TestPreflightTables(t *testing.T) {
	f := func(threads, tables int, cache, parts, definitions string, severity load.Severity, text string) {
		t.Helper()
		p := &preflight{
			config: load.Config{Threads: threads}, plan: &workload.Plan{Tables: make([]workload.Table, tables)},
			vars: map[string]string{
				"table_open_cache": cache, "table_open_cache_instances": parts,
				"table_definition_cache": definitions,
			},
		}
		p.tables()
		said(t, p, severity, text)
	}
	f(16, 100, "4000", "16", "2000", "", "")
	f(64, 100, "4000", "16", "2000", load.Note, "100 tables and 64 sessions need up to 6400")
	f(64, 300, "4000", "16", "2000", load.Warn, "300 tables and 64 sessions need 4800 to 19200; SET GLOBAL "+
		"table_open_cache=19600")
	f(1, 3000, "4000", "16", "2000", load.Warn, "table_definition_cache=2000")
	f(1, 300, "200", "", "2000", load.Warn, "300 tables and 1 sessions need 300 to 300")
	f(64, 0, "10", "1", "10", "", "")
	f(64, 300, "", "", "", "", "")
}

func TestPreflightFiles(t *testing.T) {
	p := &preflight{config: load.Config{Threads: 1000}}
	p.filesOf(1100)
	said(t, p, "", "")
	p.filesOf(1099)
	said(t, p, load.Refuse, "ulimit -n 1100")
	p.config.Threads = 1
	p.files()
	said(t, p, "", "")
}
