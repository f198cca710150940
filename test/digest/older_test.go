//go:build install

package digest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "keep the logs that this run makes with installed servers")

// TestOlderServers fetches servers as `dyno sandbox install` does, some 1.3 GB, and holds the logs that they write
// against the peers. DYNO_TEST_YARD names a home to keep the builds in. With -update the logs are kept for
// TestKeptLogs.
func TestOlderServers(t *testing.T) {
	needProgram(t)
	home := os.Getenv("DYNO_TEST_YARD")
	if home == "" {
		home = t.TempDir()
	}
	for _, spec := range []string{
		"mysql@5.5", "mysql@5.6", "mysql@8.0", "mysql@9", "mariadb@10.1", "mariadb@10.2", "mariadb@10.11",
		"mariadb@11.4", "mariadb@11.8",
	} {
		t.Run(spec, func(t *testing.T) {
			flavor, version, _ := strings.Cut(spec, "@")
			build := func() string {
				found, _ := filepath.Glob(filepath.Join(home, "servers", flavor+"-"+version+"*"))
				if len(found) == 0 {
					return ""
				}
				return found[0]
			}
			if build() == "" {
				c := exec.CommandContext(t.Context(), dynoPath, "sandbox", "install", spec)
				c.Env = append(os.Environ(), "DYNO_HOME="+home)
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("install %s: %v\n%s", spec, err, out)
				}
			}
			l := sandboxed(t, build())
			t.Logf("%s", l.version)
			work(t, l, 4)
			likePeers(t, l.log)
			if *update {
				small := sandboxed(t, build())
				work(t, small, 2)
				keep(t, build(), small.log)
			}
		})
	}
}

// keep stores the log of a build for TestKeptLogs.
func keep(t *testing.T, build, log string) {
	t.Helper()
	name := filepath.Base(build)
	text := strings.ReplaceAll(read(t, log), build, "/opt/"+name) // in the banner
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", name+".log.gz"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sandboxed starts the build in a directory, of any age, as a sandbox of its own.
func sandboxed(t *testing.T, build string) *logger {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "dyno-digest-") // the server's account must be able to enter
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	do := func(args ...string) string {
		c := exec.Command(dynoPath, args...)
		c.Env = append(os.Environ(), "DYNO_HOME="+home)
		out, err := c.Output()
		if err != nil {
			t.Errorf("dyno %s: %v %s", strings.Join(args, " "), err, stderr(err))
		}
		return string(out)
	}
	t.Cleanup(func() {
		do("sandbox", "rm", "--all")
		os.RemoveAll(home)
	})
	out := do("sandbox", "up", "log", "--server", serverProgram(t, build), "--output", "json", "--set",
		"innodb_buffer_pool_size=32M")
	if t.Failed() {
		t.FailNow()
	}
	var box struct{ Socket, Dir string }
	if err := json.Unmarshal([]byte(out), &box); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l := &logger{socket: box.Socket, url: "unix://" + box.Socket + "?user=root"}
	l.hello(t)
	return l
}

// serverProgram returns the server program of an unpacked build.
func serverProgram(t *testing.T, build string) string {
	t.Helper()
	for _, p := range []string{"bin/mysqld", "usr/sbin/mysqld", "sbin/mysqld", "usr/sbin/mariadbd", "bin/mariadbd"} {
		if _, err := os.Stat(filepath.Join(build, p)); err == nil {
			return filepath.Join(build, p)
		}
	}
	t.Fatalf("no server program in %s", build)
	return ""
}

func stderr(err error) string {
	if x, ok := err.(*exec.ExitError); ok { //nolint:errorlint // for a message
		return string(x.Stderr)
	}
	return ""
}
