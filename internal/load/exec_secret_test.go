//go:build unix

package load

import (
	"strings"
	"testing"
)

// TestCommandsAreKeptWithoutSecrets: what is kept of a run holds no password that its command shows to be one, and the
// rest as it was.
func TestCommandsAreKeptWithoutSecrets(t *testing.T) {
	f := func(command, want string) {
		t.Helper()
		r, err := Exec(t.Context(), ExecConfig{Command: "exit 0; " + command, Events: 1}, nil)
		if got := strings.TrimPrefix(r.Options["command"], "exit 0; "); err != nil || got != want {
			t.Errorf("of %s is kept %s, want %s; %v", command, got, want, err)
		}
	}
	f(`mysql -uroot -pS3cret -P3306 -h db1 -e 'SELECT 1'`, `mysql -uroot -p*** -P3306 -h db1 -e 'SELECT 1'`)
	f(`--password=S3cret shop`, `--password=*** shop`)
	f(`--password='S3 cret' shop`, `--password=*** shop`)
	f(`--db-password S3cret shop`, `--db-password *** shop`)
	f(`MYSQL_PWD="S3 cret" mysql`, `MYSQL_PWD=*** mysql`)
	f(`API_TOKEN=S3cret; curl -u anna:S3cret db1`, `API_TOKEN=***; curl -u anna:*** db1`)
	f(`curl -H "Authorization: Bearer S3cret" db1`, `curl -H "Authorization: Bearer ***" db1`)
	f(`mysql://anna:S3c@ret@db1:3306/shop`, `mysql://anna:***@db1:3306/shop`)
	f(`sshpass -p S3cret ssh db1`, `sshpass -p *** ssh db1`)
	f(`mysql -e "ALTER USER a IDENTIFIED BY 'S3 cret'"`, `mysql -e "ALTER USER a IDENTIFIED BY ***"`)
	f(`mysql --defaults-file="$DYNO_DEFAULTS_FILE" -e "SELECT password FROM users WHERE a = 'b:c'"`,
		`mysql --defaults-file="$DYNO_DEFAULTS_FILE" -e "SELECT password FROM users WHERE a = 'b:c'"`)
	f(`mkdir -p /tmp/x http://db1:8080/a`, `mkdir -p /tmp/x http://db1:8080/a`)
}
