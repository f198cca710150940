package report

import (
	"bufio"
	"fmt"
	"io"
)

// digestOut writes a form of a digest piece by piece and keeps the first error until the end.
type digestOut struct {
	b   *bufio.Writer
	err error
}

func newDigestOut(w io.Writer) *digestOut { return &digestOut{b: bufio.NewWriterSize(w, 1<<16)} }

func (o *digestOut) text(s string) {
	if o.err == nil {
		_, o.err = o.b.WriteString(s)
	}
}

// end writes what is left and returns the first error, of writing what.
func (o *digestOut) end(what string) error {
	if o.err == nil {
		o.err = o.b.Flush()
	}
	if o.err != nil {
		return fmt.Errorf("write %s: %w", what, o.err)
	}
	return nil
}

// written writes all of s, which is what.
func written(w io.Writer, s, what string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}
