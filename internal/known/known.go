// Package known tells a measured zero from a missing measurement.
//
// Half of the sources Dyno reads can be absent, denied or off. A float64 cannot say so: its zero value reads
// as "healthy". A Value says "unknown" until somebody measured it, and JSON shows that as null or, with
// omitzero, by leaving the key out.
package known

import (
	"bytes"
	"encoding/json"
)

// Value is a T that may not have been observed. The zero Value is unknown.
type Value[T any] struct {
	v  T
	ok bool
}

// Of returns a known value.
func Of[T any](v T) Value[T] { return Value[T]{v: v, ok: true} }

// None returns an unknown value; it equals the zero Value.
func None[T any]() Value[T] { return Value[T]{} }

// Get returns the value and whether it was observed.
func (x Value[T]) Get() (T, bool) { return x.v, x.ok }

// OK reports whether the value was observed.
func (x Value[T]) OK() bool { return x.ok }

// Or returns the value, or d when it is unknown. Use it for display and never for judgement.
func (x Value[T]) Or(d T) T {
	if x.ok {
		return x.v
	}
	return d
}

// IsZero reports whether the value is unknown, so that the json option omitzero drops it.
func (x Value[T]) IsZero() bool { return !x.ok }

// MarshalJSON writes the value, or null when it is unknown.
func (x Value[T]) MarshalJSON() ([]byte, error) {
	if !x.ok {
		return []byte("null"), nil
	}
	return json.Marshal(x.v)
}

// UnmarshalJSON reads a value; null means unknown.
func (x *Value[T]) UnmarshalJSON(b []byte) error {
	if bytes.Equal(bytes.TrimSpace(b), []byte("null")) {
		*x = Value[T]{}
		return nil
	}
	if err := json.Unmarshal(b, &x.v); err != nil {
		return err
	}
	x.ok = true
	return nil
}
