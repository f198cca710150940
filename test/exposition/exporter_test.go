// Package exposition_test holds what Dyno exposes against the real mysqld_exporter on the same server.
package exposition_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/exposition"
	"github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/test/servers"
)

// exposed is what a page of metrics says.
type exposed struct {
	values map[string]float64 // by series as text
	names  map[string]string  // by series: its name
	types  map[string]string  // by name
}

func parse(t *testing.T, page []byte) exposed {
	t.Helper()
	e := exposed{map[string]float64{}, map[string]string{}, map[string]string{}}
	p, err := textparse.New(page, exposition.Text.ContentType(), labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		typ, err := p.Next()
		if errors.Is(err, io.EOF) {
			return e
		}
		if err != nil {
			t.Fatal(err)
		}
		switch typ {
		case textparse.EntryType:
			name, kind := p.Type()
			e.types[string(name)] = string(kind)
		case textparse.EntrySeries:
			_, _, v := p.Series()
			var ls labels.Labels
			p.Labels(&ls)
			ls = ls.WithoutEmpty() // to Prometheus, an empty label is none
			e.values[ls.String()], e.names[ls.String()] = v, ls.Get("__name__")
		}
	}
}

// exporter runs the real one until it has answered.
func exporter(t *testing.T, s *servers.Server, args ...string) exposed {
	t.Helper()
	dir := os.Getenv("DYNO_TEST_PEERS")
	if dir == "" {
		t.Fatal("DYNO_TEST_PEERS names no folder with the programs: run build/peers")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cnf := filepath.Join(t.TempDir(), "my.cnf")
	if err := os.WriteFile(cnf, []byte("[client]\nuser=root\nsocket="+s.Socket+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "usr/bin/prometheus-mysqld-exporter"), append(args, "--config.my-cnf="+cnf,
		"--web.listen-address="+addr)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get("http://" + addr + "/metrics")
		if err == nil {
			page, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil && bytes.Contains(page, []byte("mysql_up 1")) {
				return parse(t, page)
			}
		}
		if time.Now().After(end) {
			t.Fatalf("mysqld_exporter does not answer: %v", err)
		}
	}
}

// ours is one round of every source, written and read back.
func ours(t *testing.T, s *servers.Server) exposed {
	t.Helper()
	spec, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	sc, err := sources.New(x, scrape.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := sc.Once(ctx)
	var b bytes.Buffer
	if err := exposition.Write(&b, exposition.Text, sources.Help.Of, exposition.Group{Samples: r.Samples}); err != nil {
		t.Fatal(err)
	}
	return parse(t, b.Bytes())
}

// notOurs are the exporter's own figures. mysql_up is said by who runs the scraper.
var notOurs = regexp.MustCompile(`^(go_|process_|promhttp_|mysql_exporter_|mysqld_exporter_|mysql_up$)`)

// texts are status variables whose values are words or dates, which Dyno does not keep as numbers.
var texts = regexp.MustCompile(
	`^mysql_global_status_(wsrep_cluster_status|max_used_connections_time|ssl_server_not_(after|before))$`)

// upAndDown are states that the exporter calls counters.
var upAndDown = regexp.MustCompile(`^mysql_info_schema_innodb_cmpmem_pages_(used|free)_total$`)

// states are counters of InnoDB that the exporter takes for the other kind, and names accordingly.
var states = regexp.MustCompile(
	`^mysql_info_schema_innodb_metrics_(change_buffer_ibuf_size_total|lock_lock_(deadlocks|timeouts|row_lock_current_waits_total)|` +
		`os_os_(log_)?pending_[a-z]+_total|buffer_buffer_pool_bytes_dirty_total)$`)

// steady are values that do not change between two looks at a server where nobody works.
var steady = regexp.MustCompile(
	`^mysql_(global_variables_|version_info$|transaction_isolation$|galera_variables_info$)`)

// TestExporter: every series of mysqld_exporter's default collectors and of those for InnoDB is there, under the same
// name with the same labels and a type that does not contradict, and constants have the same value.
func TestExporter(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "SET GLOBAL innodb_monitor_enable = 'module_buffer_page'")
			theirs, mine := exporter(t, s, "--collect.info_schema.innodb_metrics", "--collect.engine_innodb_status"),
				ours(t, s)
			n := 0
			var missing []string
			for series, name := range theirs.names {
				if notOurs.MatchString(name) || texts.MatchString(name) || states.MatchString(name) {
					continue
				}
				n++
				v, ok := mine.values[series]
				if !ok {
					missing = append(missing, fmt.Sprint(series, " ", theirs.values[series]))
					continue
				}
				if a, b := theirs.types[name], mine.types[name]; a != b && a != "unknown" &&
					!upAndDown.MatchString(name) {
					t.Errorf("%s is a %s, the exporter has a %s", name, b, a)
				}
				if w := theirs.values[series]; steady.MatchString(name) && v != w && !(math.IsNaN(v) && math.IsNaN(w)) {
					t.Errorf("%s is %v, the exporter has %v", series, v, w)
				}
			}
			slices.Sort(missing)
			if len(missing) > 0 {
				t.Errorf("%d of %d series are missing:\n%s", len(missing), n, strings.Join(missing, "\n"))
			}
			t.Logf("%d series of the exporter, %d of Dyno", n, len(mine.values))
		})
	}
}
