package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigFile(t *testing.T) {
	o, f, err := parsed(t, "--threads=8")
	if err != nil {
		t.Fatal(err)
	}
	if err := readConfigFile(write(t, "c", "# mine\n\nthreads=2\n time = 60 "+
		"\nmysql_user='me'\nhistogram\n--rate=\"500\"\n"), f); err != nil {
		t.Fatal(err)
	}
	if o.threads.given != "8" || o.time.String() != "60" || o.user != "me" || !o.histogram || o.rate != "500" {
		t.Errorf("threads %s, time %v, user %s, histogram %v, rate %s", o.threads.given, &o.time,
			o.user, o.histogram, o.rate)
	}

	bad := func(text, want string) {
		t.Helper()
		_, f, _ := parsed(t)
		err := readConfigFile(write(t, "c", text), f)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	bad("threads=2\ntreads=3\n", "line 2: unknown option treads, did you mean threads?")
	bad("threads\n", "line 1: threads has no value")
	bad("time=soon\n", "line 1")
	bad("mysql-password=secret\n", "line 1: mysql-password: no password")
	_, f, _ = parsed(t)
	if err := readConfigFile("/nowhere", f); err == nil {
		t.Error("a file that is not there was read")
	}
}
