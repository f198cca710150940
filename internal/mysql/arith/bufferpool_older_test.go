//go:build install

package arith

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// TestPoolTableOfOlderServers tries the same combinations on a build that is installed: DYNO_TEST_MYSQL_TREE names its
// folder, that of MySQL 8.0.33 for example, with bin/mysqld in it.
func TestPoolTableOfOlderServers(t *testing.T) {
	tree := os.Getenv("DYNO_TEST_MYSQL_TREE")
	if tree == "" {
		t.Fatal("DYNO_TEST_MYSQL_TREE names no installed MySQL")
	}
	base := []string{"--no-defaults", "--basedir=" + tree, "--lc-messages-dir=" + tree + "/share"}
	if os.Geteuid() == 0 {
		base = append(base, "--user=root")
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	if out, err := exec.Command(tree+"/bin/mysqld", append(base[:len(base):len(base)], "--initialize-insecure",
		"--datadir="+fresh)...).CombinedOutput(); err != nil {
		t.Fatalf("initialise: %v\n%s", err, out)
	}
	t.Log("\n" + poolTable(t, func(t *testing.T, settings ...string) *sql.DB {
		dir, err := os.MkdirTemp("", "dyno-pool-") // t.TempDir can be longer than a socket's path may be
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if out, err := exec.Command("cp", "-a", fresh, dir+"/data").CombinedOutput(); err != nil {
			t.Fatalf("copy: %v %s", err, out)
		}
		args := append(base[:len(base):len(base)], "--datadir="+dir+"/data", "--socket="+dir+"/s", "--skip-networking",
			"--mysqlx=OFF", "--pid-file="+dir+"/pid",
			"--log-error="+dir+"/error.log", "--secure-file-priv=")
		for _, s := range settings {
			args = append(args, "--"+s)
		}
		c := exec.Command(tree+"/bin/mysqld", args...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
		x := mysql.NewConfig()
		x.User, x.Net, x.Addr, x.Logger = "root", "unix", dir+"/s", &mysql.NopLogger{}
		k, err := mysql.NewConnector(x)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(k)
		t.Cleanup(func() { db.Close() })
		for end := time.Now().Add(time.Minute); db.Ping() != nil; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				log, _ := os.ReadFile(dir + "/error.log")
				t.Fatalf("%s does not answer:\n%s", strings.TrimPrefix(tree, "/"), log)
			}
		}
		return db
	}))
}
