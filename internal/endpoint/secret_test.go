package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const password = "hunter2-swordfish"

func TestSecretIsNeverShown(t *testing.T) {
	type inside struct{ spec Spec } // an unexported field is printed without calling any method
	s := Spec{Network: "tcp", Address: "h:3306", User: "u", Password: NewSecret(password)}
	hide := func(how, got string) {
		t.Helper()
		if strings.Contains(got, password) || strings.Contains(got, "swordfish") ||
			strings.Contains(got, fmt.Sprintf("%x", password)) {
			t.Errorf("%s shows the password: %s", how, got)
		}
	}
	for _, v := range []any{
		s.Password, &s.Password, s, &s,
		inside{s},
		&inside{s},
		[]Secret{s.Password},
		map[string]Secret{"p": s.Password},
		&Error{Op: "x", Target: s.Where(), Err: errors.New("x")},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			hide(fmt.Sprintf("%T %s", v, verb), fmt.Sprintf(verb, v))
		}
		b, err := json.Marshal(v)
		if err != nil && !strings.Contains(err.Error(), "unsupported") {
			t.Errorf("%T: %v", v, err)
		}
		hide(fmt.Sprintf("%T json", v), string(b))
		var log bytes.Buffer
		for _, h := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
			slog.New(h).Info("x", "v", v)
		}
		hide(fmt.Sprintf("%T slog", v), log.String())
	}
	hide("URL", s.URL())
	if got := s.Password.Reveal(); got != password {
		t.Errorf("revealed %q", got)
	}
	if fmt.Sprint(s.Password) != "***" || fmt.Sprint(Secret{}) != "" {
		t.Errorf("a set and an empty secret look alike: %v %v", s.Password, Secret{})
	}
}

func TestSecretsCompareByText(t *testing.T) {
	if NewSecret("a") != NewSecret(strings.Clone("a")) || NewSecret("a") == NewSecret("b") ||
		NewSecret("") != (Secret{}) || !NewSecret("").Empty() {
		t.Error("secrets do not compare by their texts")
	}
	if (Secret{}).Reveal() != "" {
		t.Error("the zero secret has a text")
	}
}
