package tunnel

import (
	"errors"
	"strings"
	"testing"
)

func TestParseJump(t *testing.T) {
	f := func(text string, want Jump) {
		t.Helper()
		j, err := ParseJump(text)
		if err != nil || j != want {
			t.Errorf("%s: %+v %v", text, j, err)
			return
		}
		if again, err := ParseJump(j.String()); err != nil || again != want {
			t.Errorf("%s becomes %s: %+v %v", text, j, again, err)
		}
	}
	f("ssh://h", Jump{Host: "h"})
	f("ssh://h/", Jump{Host: "h"})
	f("ssh://u@h:2222", Jump{"u", "h", 2222})
	f("ssh://dom%5Cu@h", Jump{User: `dom\u`, Host: "h"})
	f("ssh://u%40corp@h", Jump{User: "u@corp", Host: "h"})
	f("ssh://u@[::1]:22", Jump{"u", "::1", 22})

	bad := func(text, why string) {
		t.Helper()
		_, err := ParseJump(text)
		if !errors.Is(err, ErrJump) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	bad("", "ssh://")
	bad("h", "ssh://")
	bad("http://h", "ssh://")
	bad("ssh:h", "ssh://")
	bad("ssh://", "no host")
	bad("ssh://u:s3cret@h", "no password")
	bad("ssh://u:s3cret@h:x", "not a URL")
	bad("ssh://@h", "user is empty")
	bad("ssh://h:0", "port")
	bad("ssh://h:70000", "port")
	bad("ssh://h/path", "follow")
	bad("ssh://h?x=1", "follow")
	bad("ssh://-oProxyCommand=touch%20x", "")
	bad("ssh://-l@h", "hyphen")
	bad("ssh://u%0Ax@h", "blanks")
	bad("ssh://u%ff@h", "characters")
	bad("ssh://[fe80::1%25eth0]", "characters")
	for _, user := range []string{
		"$(touch%20x)", "u;x", "u%60x%60", "u%7Cx", "u%26x", "u%3Ex", "u%27x", "u%22x",
		"u$HOME", "%25r", "u%5C",
	} {
		bad("ssh://"+user+"@h", "the user has characters that no name of a user has")
	}
}

func TestJumpAsText(t *testing.T) {
	f := func(j Jump, want string) {
		t.Helper()
		b, err := j.MarshalText()
		var again Jump
		if err != nil || string(b) != want || again.UnmarshalText(b) != nil || again != j {
			t.Errorf("%+v: %q %v, read as %+v", j, b, err, again)
		}
	}
	f(Jump{}, "")
	f(Jump{"u", "h", 22}, "ssh://u@h:22")
	if err := new(Jump).UnmarshalText([]byte("x")); !errors.Is(err, ErrJump) {
		t.Error(err)
	}
}

func FuzzParseJump(f *testing.F) {
	for _, s := range []string{"ssh://u@h:22", "ssh://[::1]", "ssh://d%5Cu@h", "ssh://-x", "ssh://%20@h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		j, err := ParseJump(text)
		if err != nil {
			return
		}
		if again, err := ParseJump(j.String()); err != nil || again != j {
			t.Fatalf("%q reads as %+v, which is %q, which reads as %+v %v", text, j, j, again, err)
		}
	})
}
