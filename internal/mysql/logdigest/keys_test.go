package logdigest

import (
	"math/rand/v2"
	"testing"
)

func TestKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	var k keys
	want := map[[2]uint64]uint32{}
	if k.get([2]uint64{1, 2}) != 0 {
		t.Error("nothing has a class")
	}
	for i := range uint32(5000) {
		key := [2]uint64{r.Uint64N(50), r.Uint64()} // many meet
		if i%7 > 0 {
			key[0] = r.Uint64()
		}
		k.put(key, i+1)
		want[key] = i + 1
	}
	for key, class := range want {
		if got := k.get(key); got != class {
			t.Fatalf("%v is %d, want %d", key, got, class)
		}
		key[1]++
		if got := k.get(key); got != 0 {
			t.Fatalf("%v is %d, want nothing", key, got)
		}
	}
}
