package capture

import (
	"strings"
	"testing"

	mysqlsources "github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/state"
)

func TestWithoutValues(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := withoutValues(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	f("", "")
	f("not run: it calls f, which may have side effects", "not run: it calls f, which may have side effects")
	f("Error 1525 (HY000): Incorrect DATE value: 'hunter2'", "error 1525 of the server")
	f("Error 1064: You have an error near 'hunter2'", "error 1064 of the server")
	f("ask db1: Error 1292 (22007): Incorrect value: 'hunter2'", "ask db1: error 1292 of the server")
}

func TestWithholdSecrets(t *testing.T) {
	f := func(name, value, want string) {
		t.Helper()
		m := map[string]string{name: value}
		if withholdSecrets(m); m[name] != want {
			t.Errorf("%s=%s: %q", name, value, m[name])
		}
	}
	f("report_password", "hunter2", "(withheld)")
	f("report_password", "", "")
	f("wsrep_sst_auth", "u:hunter2", "(withheld)")
	f("file_key_management_filekey", "hunter2", "(withheld)")
	f("disconnect_on_expired_password", "ON", "ON")
	f("default_password_lifetime", "90", "90")
	f("old_passwords", "1", "1")
}

// TestWithholdLastStatement: what an idle blocker ran last holds values as what runs does.
func TestWithholdLastStatement(t *testing.T) {
	m := state.State{Sessions: []state.Session{{ID: 1, Last: "UPDATE t SET v = '" + secret + "' WHERE id = 1"}}}
	if mysqlsources.Redact(&m); strings.Contains(m.Sessions[0].Last, secret) || m.Sessions[0].Last == "" {
		t.Errorf("last statement %q", m.Sessions[0].Last)
	}
}
