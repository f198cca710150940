package app

import (
	"os"
	"strings"
	"testing"
)

func TestDefaultHome(t *testing.T) {
	f := func(env map[string]string, want string) {
		t.Helper()
		got, err := DefaultHome(func(k string) string { return env[k] })
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%v: got %q, want %q", env, got, want)
		}
	}
	f(map[string]string{"DYNO_HOME": "/srv/dyno", "HOME": "/home/joe"}, "/srv/dyno")
	if os.Geteuid() == 0 {
		f(map[string]string{"HOME": "/home/joe", "XDG_DATA_HOME": "/data"}, "/var/lib/dyno")
		return
	}
	f(map[string]string{"HOME": "/home/joe"}, "/home/joe/.local/share/dyno")
	f(map[string]string{"HOME": "/home/joe", "XDG_DATA_HOME": "/data"}, "/data/dyno")
	f(map[string]string{"HOME": "/home/joe", "XDG_DATA_HOME": "relative"}, "/home/joe/.local/share/dyno")
	f(nil, "find a directory")
}

// alone gives a test an App of its own: a home without an inventory, and a home directory without the developer's own
// files.
func alone(t *testing.T, env ...string) *App {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	m := map[string]string{"HOME": os.Getenv("HOME")}
	for i := 0; i+1 < len(env); i += 2 {
		m[env[i]] = env[i+1]
	}
	a := &App{Home: t.TempDir(), Version: "test", Environ: func(k string) string { return m[k] }}
	t.Cleanup(func() { a.Close() })
	return a
}
