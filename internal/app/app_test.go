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
	f(nil, "find a place")
}
