package known

import (
	"encoding/json"
	"testing"
)

func TestUnknownIsNotZero(t *testing.T) {
	type row struct {
		A Value[int]     `json:"a,omitzero"`
		B Value[float64] `json:"b"`
		C Value[uint64]  `json:"c,omitzero"`
	}
	f := func(in row, want string) {
		t.Helper()
		b, err := json.Marshal(in)
		if err != nil || string(b) != want {
			t.Fatalf("marshal: got %s (%v), want %s", b, err, want)
		}
		var back row
		if err := json.Unmarshal(b, &back); err != nil || back != in {
			t.Fatalf("round trip of %s: got %+v (%v), want %+v", b, back, err, in)
		}
	}
	f(row{}, `{"b":null}`)
	f(row{A: Of(0), B: Of(0.5)}, `{"a":0,"b":0.5}`)
	f(row{C: Of(uint64(1<<63 + 1))}, `{"b":null,"c":9223372036854775809}`)

	if v, ok := None[int]().Get(); ok || v != 0 {
		t.Fatal("None is known")
	}
	var x Value[int]
	if err := json.Unmarshal([]byte(`"text"`), &x); err == nil || x.OK() {
		t.Fatalf("a wrong type was accepted: %v", x)
	}
}
