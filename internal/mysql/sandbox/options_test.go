package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

func TestByVersion(t *testing.T) {
	data := t.TempDir()
	f := func(flavor, version, want string) {
		t.Helper()
		if got := strings.Join(byVersion(maker.Server{Flavor: dbms.Flavor(flavor), Version: version}, data),
			" "); got != want {
			t.Errorf("%s %s: %q", flavor, version, got)
		}
	}
	f("mariadb", "11.4.5", "") // a data directory without a certificate
	if err := os.WriteFile(filepath.Join(data, certFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f("mariadb", "10.1.23", "")
	f("mariadb", "10.11.19", "")
	f("mariadb", "11.4.5", "--ssl-key="+data+"/server-key.pem --ssl-cert="+data+"/server-cert.pem")
	f("mariadb", "12.0.2", "--ssl-key="+data+"/server-key.pem --ssl-cert="+data+"/server-cert.pem")
	f("mysql", "5.6.14", "")
	f("mysql", "5.7.44", "") // knows the variable once the plugin is loaded
	f("mysql", "8.0.33", "--loose-mysqlx=OFF")
	f("mysql", "9.7.4", "--loose-mysqlx=OFF")
	f("percona", "8.0.36", "--loose-mysqlx=OFF")
}
