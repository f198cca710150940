package remotewrite

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/prompb"
)

func TestCredential(t *testing.T) {
	f := func(c Credential, want, fails string) {
		t.Helper()
		got, err := c.read()
		if got != want || (err == nil) != (fails == "") || err != nil && !strings.Contains(err.Error(), fails) {
			t.Errorf("%+v: %q %v", c, got, err)
		}
	}
	file := func(text string) string {
		p := filepath.Join(t.TempDir(), "s")
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Setenv("DYNO_TEST_SECRET", "s3cret")
	f(Credential{Env: "DYNO_TEST_SECRET"}, "s3cret", "")
	f(Credential{Env: "DYNO_TEST_NO_SECRET"}, "", "is empty")
	f(Credential{File: file(" s3cret \r\n")}, " s3cret ", "")
	f(Credential{File: file("\n")}, "", "is empty")
	f(Credential{File: file("a\nb")}, "", "more than one line")
	f(Credential{File: "/nowhere"}, "", "no such file")
	f(Credential{}, "", "is named")
}

// TestLogin: the receiver gets what the file holds, also after that has changed.
func TestLogin(t *testing.T) {
	st := open(t)
	put(t, st, base(), "a")
	secret := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(secret, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(change func(*Options), header string) {
		t.Helper()
		r := newScript(t, func(n int, w http.ResponseWriter, _ prompb.WriteRequest) bool {
			if n > 1 {
				return true
			}
			w.WriteHeader(http.StatusUnauthorized)
			return false
		})
		o := options(t, r.URL)
		change(&o)
		s := until(t, o, st, caughtUp())
		if got := r.heads[len(r.heads)-1].Get("Authorization"); got != header || s.Failures != 1 {
			t.Errorf("%q, want %q; %+v", got, header, s)
		}
	}
	f(func(o *Options) { o.User, o.Password.File = "u", secret }, "Basic dTpvbGQ=")
	f(func(o *Options) { o.Bearer.File = secret }, "Bearer old")
	if err := os.WriteFile(secret, []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f(func(o *Options) { o.Bearer.File = secret }, "Bearer new")
}
