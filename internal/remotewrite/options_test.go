package remotewrite

import (
	"errors"
	"strings"
	"testing"

	"dyno/internal/metric"
)

func TestOptions(t *testing.T) {
	f := func(change func(*Options), want string) {
		t.Helper()
		o := Options{URL: "https://example.org/api/v1/write", Cursor: t.TempDir() + "/c"}
		change(&o)
		_, err := New(o, broken{})
		switch {
		case want == "" && err != nil:
			t.Errorf("%v", err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v, want %q", err, want)
		case err != nil && strings.Contains(err.Error(), "s3cret"):
			t.Errorf("the error shows the password: %v", err)
		}
	}
	wrong := func(change func(*Options), want string) {
		t.Helper()
		f(change, want)
		o := Options{URL: "https://example.org/api/v1/write", Cursor: "c"}
		change(&o)
		if _, err := New(o, broken{}); !errors.Is(err, ErrOptions) {
			t.Errorf("%v is no ErrOptions", err)
		}
	}
	f(func(*Options) {}, "")
	f(func(o *Options) { o.User, o.Password.Env = "u", "X" }, "")
	f(func(o *Options) { o.Bearer.File = "/x" }, "")
	f(func(o *Options) { o.URL, o.User, o.Password.Env = "http://127.0.0.1:9/w", "u", "X" }, "")
	f(func(o *Options) { o.CA = "/nowhere.pem" }, "no such file")
	f(func(o *Options) { o.Cert, o.Key = "/nowhere.pem", "/nowhere.key" }, "no such file")
	wrong(func(o *Options) { o.URL = "" }, "no URL of http")
	wrong(func(o *Options) { o.URL = "ftp://h/" }, "no URL of http")
	wrong(func(o *Options) { o.URL = "https:///x" }, "no URL of http")
	wrong(func(o *Options) { o.URL = "https://u:s3cret@h:x/" }, "no URL")
	wrong(func(o *Options) { o.URL = "https://u:s3cret@h/" }, "no user and password in")
	wrong(func(o *Options) { o.Cursor = "" }, "cursor")
	wrong(func(o *Options) { o.User, o.Bearer.Env = "u", "X" }, "exclude")
	wrong(func(o *Options) { o.Password.Env = "X" }, "needs a user")
	wrong(func(o *Options) { o.Cert = "c" }, "both")
	wrong(func(o *Options) { o.URL, o.Bearer.Env = "http://h/w", "X" }, "https only")
	wrong(func(o *Options) { o.Labels = metric.L("__name__", "x") }, "cannot be called")
}
