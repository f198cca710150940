package wire

import (
	"fmt"
	"runtime"
	"strings"
)

// Shaped runs f, which takes the rows of an answer apart by the columns that it asked for: an answer of another shape is an error, not the end
// of the process. Other panics are mistakes of this program's, and go on.
func Shaped(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if e, ok := p.(runtime.Error); ok && strings.Contains(e.Error(), "out of range") {
				err = fmt.Errorf("the server's answer has another shape than was asked for: %w", e)
				return
			}
			panic(p)
		}
	}()
	return f()
}
