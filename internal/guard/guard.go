// Package guard keeps a mistake of this program, which the answers of one server bring to light, from ending what it
// does for others.
package guard

import (
	"fmt"
	"runtime"
	"strings"
)

// Shaped runs f, which takes the rows of an answer apart by the columns that it asked for: an answer of another shape
// is an error, not the end of the process. Other panics are mistakes of this program's, and go on.
func Shaped(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if e, ok := p.(runtime.Error); ok && strings.Contains(e.Error(), "out of range") {
				err = fmt.Errorf("the server's answer has a shape other than requested: %w", e)
				return
			}
			panic(p)
		}
	}()
	return f()
}

// Run runs f, which does what it does with the answers of one server: a mistake of this program's that they bring
// to light is an error, and not the end of a process that watches others too. It is for goroutines, which nothing else
// can hold.
func Run(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, 4<<10)
			err = fmt.Errorf("dyno could not read what the server said: %v\n%s", p, stack[:runtime.Stack(stack, false)])
		}
	}()
	return f()
}
