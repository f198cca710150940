//go:build bench

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/demo"
	"github.com/dyno-perf/dyno/internal/fault"
)

// tools are the programs that look at the same servers.
var tools = []string{"mysqltuner", "pt-variable-advisor", "pt-duplicate-key-checker"}

// right are the words that count as having named the cause, by Dyno's rule for it, in any advice of a tool. It is
// enough that a tool names the variable, or says in general what is wrong: neither the object nor the value has to be
// right. Rules that are not here are about something that these tools do not look at.
var right = map[string]*regexp.Regexp{
	"small-buffer-pool": regexp.MustCompile(`innodb_buffer_pool_size`),
	"small-redo":        regexp.MustCompile(`innodb_log_file_size|innodb_redo_log_capacity`),
	"small-log-buffer":  regexp.MustCompile(`innodb_log_buffer_size`),
	"table-cache":       regexp.MustCompile(`table_(open_)?cache|table_definition_cache`),
	"disk-temp-tables":  regexp.MustCompile(`tmp_table_size|max_heap_table_size|temptable`),
	"session-memory": regexp.MustCompile(
		`(?i)(sort|join|read|read_rnd)_buffer_size|memory (footprint|usage)|total memory|reduce your overall`),
	"connection-churn":      regexp.MustCompile(`(?i)thread_cache_size|connection pool`),
	"query-cache":           regexp.MustCompile(`query_cache`),
	"commit-flush":          regexp.MustCompile(`innodb_flush_log_at_trx_commit|sync_binlog`),
	"concurrency-limit":     regexp.MustCompile(`innodb_thread_concurrency`),
	"concurrency-unlimited": regexp.MustCompile(`innodb_thread_concurrency|thread_pool|thread_handling`),
	"double-buffering":      regexp.MustCompile(`innodb_flush_method`),
	"io-capacity":           regexp.MustCompile(`innodb_io_capacity|innodb_max_dirty_pages_pct`),
	"unindexed-join":        regexp.MustCompile(`(?i)join.*without index|join_buffer_size|joins? .*index`),
	"fragmented-table":      regexp.MustCompile(`(?i)optimize table|defragment|fragmented`),
	"replica-lag":           regexp.MustCompile(`(?i)slave_parallel|replica_parallel|seconds behind|lag`),
}

// askTools runs the tools on a server of the table.
func askTools(ctx context.Context, l *demo.AccuracyLine, s demo.Beside) error {
	dir, err := os.MkdirTemp("", "dyno-tools-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	login := filepath.Join(dir, "client.cnf")
	if err := os.WriteFile(login, []byte("[client]\nuser=root\nsocket="+s.Socket+"\n"), 0o600); err != nil {
		return err
	}
	l.Tools = map[string]demo.ToolLine{}
	for _, name := range tools {
		said, err := advice(ctx, name, login)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t := demo.ToolLine{Others: []string{}}
		if err != nil {
			t.Error = err.Error()
		}
		for _, a := range said {
			if named(name, a, s.Expects) {
				t.Found, t.Named = true, append(t.Named, a)
			} else {
				t.Others = append(t.Others, a)
			}
		}
		l.Tools[name] = t
	}
	return nil
}

// named reports whether a piece of advice is about something that was planted.
func named(tool, advice string, expects []fault.Expectation) bool {
	return slices.ContainsFunc(expects, func(e fault.Expectation) bool {
		switch {
		case e.Rule == "":
			return false
		case tool == "pt-duplicate-key-checker":
			return e.Rule == "redundant-index" && strings.Contains(advice, "`"+e.Table.Table+"`")
		case e.Variable != "" && strings.Contains(advice, e.Variable):
			return true
		}
		r := right[e.Rule]
		return r != nil && r.MatchString(advice)
	})
}

// patience is for a tool on a server that has no CPU to spare.
const patience = 90 * time.Second

// advice runs a tool and returns what it asks to change, a line each.
func advice(ctx context.Context, name, login string) (said []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var argv []string
	switch name {
	case "mysqltuner":
		argv = []string{"mysqltuner"}
		if p := os.Getenv("MYSQLTUNER"); p != "" {
			argv = []string{"perl", p}
		}
		argv = append(argv, "--defaults-file", login, "--nocolor", "--nogood", "--noinfo",
			"--nosysstat", "--skippassword")
	case "pt-variable-advisor":
		argv = []string{name, "--defaults-file", login, "--no-version-check", "localhost"}
	case "pt-duplicate-key-checker":
		argv = []string{
			name, "--defaults-file", login, "--no-version-check", "--ignore-databases",
			"mysql,sys,performance_schema,information_schema",
		}
	}
	if name == "mysqltuner" {
		path := argv[0]
		if path == "perl" {
			path = argv[1]
		} else if path, err = exec.LookPath(path); err != nil {
			return nil, err
		}
		if argv[0], err = repaired(path, filepath.Dir(login)); err != nil {
			return nil, err
		}
		argv = append([]string{"perl", argv[0]}, argv[slices.Index(argv, "--defaults-file"):]...)
	}
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err = c.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	text := out.String()
	switch name {
	case "mysqltuner":
		_, rest, ok := strings.Cut(text, "-------- Recommendations ---")
		if !ok {
			return nil, fmt.Errorf("mysqltuner gave no recommendations: %s", brief(errs.String()+lastLine(text)))
		}
		return tunerAdvice(rest), nil
	case "pt-variable-advisor":
		return advisorAdvice(text), nil
	}
	if !strings.Contains(text, "# Summary of indexes") && strings.TrimSpace(text) != "" {
		return nil, fmt.Errorf("pt-duplicate-key-checker: %s", brief(errs.String()+text))
	}
	return checkerAdvice(text), nil
}

// repaired makes a copy of mysqltuner that runs to its end on MariaDB 10.11: version 1.9.9 divides by
// innodb_buffer_pool_chunk_size there, which is 0, and gives no advice at all.
func repaired(path, dir string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	b = bytes.ReplaceAll(b, []byte(`!defined( $myvar{'innodb_buffer_pool_chunk_size'} )`),
		[]byte(`!$myvar{'innodb_buffer_pool_chunk_size'}`))
	to := filepath.Join(dir, "mysqltuner")
	return to, os.WriteFile(to, b, 0o600)
}

// tunerAdvice takes the lines of mysqltuner's last section: general recommendations and variables to adjust. Those that
// ask to look at a log or to run another report, and not to change anything, are left out in its favour.
func tunerAdvice(text string) (said []string) {
	_, text, _ = strings.Cut(text, "\n")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		low := strings.ToLower(line)
		if line == "" || strings.HasSuffix(line, ":") || strings.HasPrefix(line, "***") {
			continue
		}
		harmless := slices.ContainsFunc([]string{
			"error.log", "started within last 24 hours", "cve", "error line", "slow query log", "end of life",
			"upgrade", "password", "dedicated",
			"run the following", "name resolution", "see http", "read this before", "this is mysqltuner",
			"before changing", "check warning",
		}, func(w string) bool { return strings.Contains(low, w) })
		if !harmless {
			said = append(said, line)
		}
	}
	return said
}

// advisorAdvice takes what pt-variable-advisor warns of; its notes are left out in its favour.
func advisorAdvice(text string) (said []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimPrefix(line, "#")); strings.HasPrefix(line, "WARN") ||
			strings.HasPrefix(line, "CRIT") {
			said = append(said, line)
		}
	}
	return said
}

// checkerAdvice takes the statements of pt-duplicate-key-checker.
func checkerAdvice(text string) (said []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "ALTER TABLE") {
			said = append(said, strings.TrimSpace(line))
		}
	}
	return said
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func brief(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return s[:min(len(s), 300)]
}
