package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// tokenMark begins every API token, so that people and scanners know one when they see it.
const tokenMark = "dyno_"

// newSecret returns 256 random bits as 43 characters that need no escaping in a header or a cookie.
func newSecret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails, see crypto/rand
	return base64.RawURLEncoding.EncodeToString(b)
}

// newID returns a short name for a row; it lets nobody in.
func newID(mark string) string {
	b := make([]byte, 5)
	_, _ = rand.Read(b)
	return mark + hex.EncodeToString(b)
}

// digest is the form in which a secret is kept and looked up. The secrets are 256 random bits, so a plain hash cannot
// be searched, and a look-up by it tells nothing about how much of a guess is right.
func digest(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// bound is the digest of a session's secret for the account that opened it; "" is for none in particular.
func bound(secret, account string) []byte {
	if account == "" {
		return digest(secret)
	}
	return digest(secret + " " + account)
}

// wellFormed reports whether a text can be a secret at all, before the file is asked.
func wellFormed(secret string) bool {
	if len(secret) != 43 {
		return false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(secret)
	return err == nil && len(b) == 32
}

// csrfOf derives a session's CSRF token from its secret: it need not be stored, and who knows it does not know the
// secret.
func csrfOf(secret string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte("dyno csrf 1"))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// clip shortens what came from outside to one line of at most n bytes that can be shown anywhere.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	return s
}
