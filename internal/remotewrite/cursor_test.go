package remotewrite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCursor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cursor")
	if _, ok, err := load(path, "h/w"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	c := cursor{To: "h/w", Acked: 7, Window: 9, Done: "a\x00b\x01c"}
	for range 2 {
		if err := c.save(path); err != nil {
			t.Fatal(err)
		}
	}
	c.Version = cursorVersion
	if got, ok, err := load(path, "h/w"); got != c || !ok || err != nil {
		t.Errorf("%+v %v %v", got, ok, err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	f := func(text, to, want string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := load(path, to); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	f("", "h/w", "remove it")
	f("{}", "h/w", "damaged")
	f(`{"version":2,"to":"h/w","acked":7}`, "h/w", "newer dyno (version 2")
	f(`{"version":1,"to":"h/w","acked":0}`, "h/w", "damaged")
	f(`{"version":1,"to":"h/w","acked":7}`, "other/w", "is of the receiver h/w, not of other/w")
}
