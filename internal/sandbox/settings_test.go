package sandbox

import (
	"errors"
	"slices"
	"strings"
	"testing"

	mysqlsandbox "github.com/dyno-perf/dyno/internal/mysql/sandbox"
)

func TestReadSettings(t *testing.T) {
	good := func(in map[string]string, port int, options ...string) {
		t.Helper()
		s, err := readSettings(mysqlsandbox.Maker{}, in)
		if err != nil || s.port != port || !slices.Equal(s.options(), options) {
			t.Errorf("%v: %d %q %v", in, s.port, s.options(), err)
		}
	}
	bad := func(in map[string]string, says ...string) {
		t.Helper()
		_, err := readSettings(mysqlsandbox.Maker{}, in)
		if !errors.Is(err, ErrSettings) {
			t.Fatalf("%v: %v", in, err)
		}
		for _, s := range says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%v: %v does not say %q", in, err, s)
			}
		}
	}
	good(nil, 0)
	good(map[string]string{"port": "3307", "Max-Connections": "10", "--sql_mode": ""}, 3307,
		"--max-connections=10", "--sql-mode=")
	good(map[string]string{"log_error_verbosity": "3", "performance_schema": "ON"}, 0, "--log-error-verbosity=3",
		"--performance-schema=ON")
	bad(map[string]string{"port": "0"}, "port")
	bad(map[string]string{"port": "99999"}, "port")
	bad(map[string]string{"datadir": "/x", "user": "root", "a b": "1"}, "datadir", "user", "a b") // all at once
	bad(map[string]string{"loose_datadir": "/x"}, "datadir")
	for _, name := range []string{
		"skip-grant-tables", "enable-skip-grant-tables", "loose-loose-skip-grant-tables", "loose_enable_skip_grant",
		"autoset-disable_skip_grant_tables",
	} {
		bad(map[string]string{name: "1"}, "everyone on this machine")
	}
	bad(map[string]string{"datad": "/x"}, "datad") // servers take the beginning of a name
	bad(map[string]string{"defaults-file": "/x"}, "option files")
	bad(map[string]string{"max_connections": "1\n--user=root"}, "line break")
	bad(map[string]string{"max_connections": "1", "max-connections": "2"}, "twice")
	bad(map[string]string{"": "1"})
}

func TestInitialSettings(t *testing.T) {
	s, err := readSettings(mysqlsandbox.Maker{}, map[string]string{"innodb_page_size": "4k", "max_connections": "5"})
	if err != nil || !slices.Equal(s.initial(), []string{"--innodb-page-size=4k"}) {
		t.Fatal(s.initial(), err)
	}
}
