package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/discovery"
)

// typed runs a command line with an empty home.
func typed(t *testing.T, args ...string) (code int, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	env := map[string]string{"DYNO_HOME": t.TempDir()}
	code = Run(t.Context(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &err}, func(k string) string {
		return env[k]
	}, "test")
	return code, err.String()
}

// TestServeRefuses: what would be passed over, or do something else than it says, is a usage error.
func TestServeRefuses(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		code, stderr := typed(t, args...)
		if code != exitUsage || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: code %d, %q, want %q", args, code, stderr, want)
		}
	}
	for _, flag := range []string{"--keep", "--keep-minutes", "--keep-states", "--keep-classes"} {
		f(flag+" -1h0m0s: must be a time above 0", "serve", flag+"=-1h")
		f(flag+" 0s: must be a time above 0", "serve", flag, "0")
	}
	f("write 15d, 36h or 90m", "serve", "--keep=10x")
	f("--max-size 1: must be 100 MiB or more", "serve", "--max-size", "1")
	f("--judge -1s: must be a time, or 0", "serve", "--judge=-1s")
	f("--remote-write-replay -1s: must be a time, or 0", "serve", "--remote-write-replay=-1s", "--remote-write",
		"http://127.0.0.1:1/write")
	f("--remote-write-user needs --remote-write", "serve", "--remote-write-user", "joe")
	f("--remote-write-token-file needs --remote-write", "serve", "--remote-write-token-file", "/none")
	f("--remote-write-backfill needs --remote-write", "serve", "--remote-write-backfill", "--remote-write", "")
	const receiver = "http://127.0.0.1:1/write"
	f("both say where the password is", "serve", "--remote-write", receiver, "--remote-write-user", "joe",
		"--remote-write-password-env", "X", "--remote-write-password-file", "/x")
	for want, flags := range map[string][]string{
		"not an http or https URL":    {"--remote-write", "ftp://127.0.0.1/write"},
		"no user and password in the": {"--remote-write", "http://joe:x@127.0.0.1/write"},
		"a password needs a user":     {"--remote-write", receiver, "--remote-write-password-env", "X"},
		"a user and a token exclude": {
			"--remote-write", receiver, "--remote-write-user", "joe",
			"--remote-write-token-file", "/x",
		},
		"goes over https only": {
			"--remote-write", "http://192.0.2.1/write", "--remote-write-user", "joe",
			"--remote-write-password-env", "X",
		},
	} {
		f(want, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	}
	f("the form is 127.0.0.1:8306", "serve", "--listen", "8306")
	f("without TLS only a loopback address", "serve", "--listen", "0.0.0.0:0")
	f("invalid port", "serve", "--listen", "127.0.0.1:99999")
	f("--discover", "serve", "--discover=flase")
	f("--lines 0: must be 1 or more", "user", "audit", "-n", "0")
	f("--lines -1: must be 1 or more", "user", "audit", "-n", "-1")
}

// TestServePortTaken: a port that another program has is no mistake of who typed it.
func TestServePortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if code, stderr := typed(t, "serve", "--listen", l.Addr().String()); code != exitFailed ||
		!strings.Contains(stderr, "address already in use") {
		t.Errorf("code %d, %q", code, stderr)
	}
	if !ofMachine(&net.DNSError{IsTemporary: true}) || ofMachine(&net.DNSError{IsNotFound: true}) {
		t.Error("a name that is not resolved now is told as one that does not exist, or the other way round")
	}
}

func TestDiscovering(t *testing.T) {
	f := func(flag string, want discovery.Options) {
		t.Helper()
		got, err := discovering(flag)
		if err != nil || got.None != want.None || !slices.Equal(got.Only, want.Only) {
			t.Errorf("%q: %+v, %v, want %+v", flag, got, err, want)
		}
	}
	f("true", discovery.Options{})
	f("on", discovery.Options{})
	f("false", discovery.Options{None: true})
	f("0", discovery.Options{None: true})
	f("/nowhere", discovery.Options{Only: []string{"/nowhere"}})
	f("/run/my sql/s,127.0.0.1:3307,[::1]:3306,[fe80::1%eth0]:3306,localhost:3306,db-1.example:1",
		discovery.Options{Only: []string{
			"/run/my sql/s", "127.0.0.1:3307", "[::1]:3306", "[fe80::1%eth0]:3306",
			"localhost:3306", "db-1.example:1",
		}})
	for _, bad := range []string{
		"", ",", "flase", "/a,", "/a, /b", "/a, 127.0.0.1:1", "127.0.0.1", ":3306",
		"127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "h:mysql", "run/s", "a b:1", "/a\n",
	} {
		_, err := discovering(bad)
		if x := (*exitError)(nil); !errors.As(err, &x) || x.code != exitUsage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestPeople(t *testing.T) {
	got := people(
		"root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/usr/sbin/nologin\n" +
			"anna:x:1000:1000:Anna:/home/anna:/bin/bash\n" +
			"ben:x:1001:1001::/home/ben:/usr/bin/zsh\nci:x:1002:1002::/srv/ci:/bin/false\n" +
			"nobody:x:65534:65534:nobody:/:/bin/sh\nbroken\nold:x:1003:1003::/home/old:\n")
	if !slices.Equal(got, []string{"anna", "ben"}) {
		t.Errorf("%q", got)
	}
}

// TestServeWithUsersLost: a file of users that was lost does not open the door, and what to do is told.
func TestServeWithUsersLost(t *testing.T) {
	home := t.TempDir()
	run := func(in string, args ...string) (int, string) {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		var out, err bytes.Buffer
		env := map[string]string{"DYNO_HOME": home}
		code := Run(ctx, args, Streams{In: strings.NewReader(in), Out: &out, Err: &err}, func(k string) string {
			return env[k]
		}, "test")
		return code, out.String() + err.String()
	}
	if code, said := run("three green bottles 7\n", "user", "add", "anna"); code != 0 {
		t.Fatal(said)
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(home + "/store/access.db" + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0", "--discover=false"}, {"user", "ls"}} {
		if code, said := run("", args...); code != exitFailed || !strings.Contains(said, "dyno user add") ||
			!strings.Contains(said, "lost") {
			t.Errorf("%q: %d, %s", args, code, said)
		}
	}
	if code, said := run("three green bottles 7\n", "user", "add", "anna"); code != 0 ||
		!strings.Contains(said, "as operator") {
		t.Error(said)
	}
	if code, said := run("", "user", "ls"); code != 0 || !strings.Contains(said, "anna") {
		t.Error(said)
	}
}

func TestSocketMode(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		if code, said := typed(t, append([]string{"serve"}, args...)...); code != exitUsage ||
			!strings.Contains(said, want) {
			t.Errorf("%q: %d, %q", args, code, said)
		}
	}
	for _, bad := range []string{"777", "6", "400", "rw", "0"} {
		f("600, 660 or 666", "--socket-mode", bad)
	}
	f("absolute path", "--listen", "unix:run/s")
	f("a socket has no TLS", "--listen", "unix:/run/s", "--tls-self-signed")
}

func TestDays(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10d": 240 * time.Hour, "1d12h": 36 * time.Hour,
		"0.5d": 12 * time.Hour, "36h": 36 * time.Hour, "-1h": -time.Hour, "0": 0,
	} {
		var d time.Duration
		if err := (*days)(&d).Set(text); err != nil || d != want {
			t.Errorf("%s: %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "d", "10", "1e9d", "-1d", "1dd"} {
		var d time.Duration
		if err := (*days)(&d).Set(text); err == nil {
			t.Errorf("%q: %v", text, d)
		}
	}
}
