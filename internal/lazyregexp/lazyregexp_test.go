package lazyregexp

import (
	"sync"
	"testing"
)

func TestPattern(t *testing.T) {
	p := New(`^a(b*)$`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if m := p.FindStringSubmatch("abb"); len(m) != 2 || m[1] != "bb" || p.MatchString("b") {
				t.Error(m)
			}
		})
	}
	all.Wait()
}

// TestWrong sees that a wrong one does not end a program that never uses it.
func TestWrong(t *testing.T) {
	p := New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("a wrong pattern is used")
		}
	}()
	p.MatchString("")
}
