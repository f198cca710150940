package ledger

import (
	"fmt"
	"net/url"
	"strings"
)

// withoutPassword refuses a URL that carries a password: the ledger is no place for one, and who put it there must
// learn of it. The error does not repeat the URL.
func withoutPassword(what, raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil { // url.Error would repeat it
		return fmt.Errorf("%s: %w: its URL does not parse, so whether it contains a password is unknown", what,
			ErrSecret)
	}
	if _, has := u.User.Password(); has {
		return fmt.Errorf("%s: %w in its URL", what, ErrSecret)
	}
	for k, vs := range u.Query() {
		if secretKey(k) && strings.Join(vs, "") != "" {
			return fmt.Errorf("%s: %w in its URL, parameter %s", what, ErrSecret, k)
		}
	}
	return nil
}

// secretKey reports whether an option of this name holds a secret.
func secretKey(k string) bool {
	k = strings.ToLower(k)
	for _, s := range []string{"password", "passwd", "pwd", "secret", "token"} {
		if strings.Contains(k, s) {
			return true
		}
	}
	return false
}
