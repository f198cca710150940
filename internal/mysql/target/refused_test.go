package target

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

func TestRefusedHost(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		err := &endpoint.Error{
			Op: "connect", Kind: endpoint.AuthFailed, Err: &mysql.MySQLError{Number: 1045, Message: text},
		}
		if got := RefusedHost(err, "dyno"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	f("Access denied for user 'dyno'@'10.0.0.5' (using password: YES)", "10.0.0.5")
	f("Access denied for user 'root'@'10.0.0.5' (using password: YES)", "")
	f("Access denied for user 'dyno'@'a\x1b[2J' (using password: YES)", "")
	f("Access denied for user 'dyno'@'open", "")
}
