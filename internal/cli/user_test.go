package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestTheAuditLogHoldsNamesAlone: what is typed in place of a name or a role is not written down.
func TestTheAuditLogHoldsNamesAlone(t *testing.T) {
	home := t.TempDir()
	run := func(want int, args ...string) string {
		t.Helper()
		var out, err bytes.Buffer
		getenv := func(k string) string { return map[string]string{"DYNO_HOME": home}[k] }
		if code := Run(t.Context(), args, Streams{
			In: strings.NewReader("three green bottles 7\n"), Out: &out,
			Err: &err,
		}, getenv, "test"); code != want {
			t.Fatalf("%q: code %d, %s", args, code, &err)
		}
		return out.String()
	}
	run(0, "user", "add", "anna")
	run(1, "user", "rm", "ben")
	const typed = "Mice7 and Men"
	run(2, "user", "add", typed)
	run(2, "user", "rm", typed)
	run(2, "user", "role", typed, "viewer")
	run(2, "user", "role", "anna", typed)
	run(2, "user", "password", typed)
	run(2, "user", "token", "add", typed)
	run(2, "user", "token", "add", "grafana", "--role", typed)
	run(1, "user", "token", "rm", typed)
	log := run(0, "user", "audit")
	for _, want := range []string{
		"user add name=anna role=operator: done", "user rm name=ben: failed: ",
		"token rm : failed: ",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the audit log lacks %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "Mice") || strings.Contains(log, "bottles") {
		t.Errorf("the audit log holds what was typed into the wrong place:\n%s", log)
	}
}
