package endpoint

import (
	"fmt"
	"io"
	"log/slog"
	"unique"
)

// Secret holds a password so that no way of printing it shows it: not fmt with any verb, not JSON, not slog, and not
// a struct that holds it in an unexported field. Two secrets are == when their texts are. The zero Secret is empty.
type Secret struct{ h unique.Handle[string] }

const hidden = "***"

// NewSecret returns a secret with the text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{unique.Make(text)}
}

// Reveal returns the text itself, for the one place that sends it to a server.
func (s Secret) Reveal() string {
	if s.Empty() {
		return ""
	}
	return s.h.Value()
}

// Empty reports whether there is no text.
func (s Secret) Empty() bool { return s == Secret{} }

// String returns three stars, or nothing for an empty secret.
func (s Secret) String() string {
	if s.Empty() {
		return ""
	}
	return hidden
}

// GoString returns the same as String.
func (s Secret) GoString() string { return s.String() }

// Format writes the same as String whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// MarshalJSON writes null: a secret is never stored.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// MarshalText writes the same as String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue gives slog the same as String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
