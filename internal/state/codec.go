package state

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode returns the state as JSON without white space.
func Encode(s *State) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // statements are full of < and >
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("encode state of %s: %w", s.Target, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Decode reads what Encode wrote. Members that it does not know are passed over: they are of a later version.
func Decode(b []byte) (*State, error) {
	s := new(State)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	return s, nil
}
