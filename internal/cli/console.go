package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/dyno-perf/dyno/internal/userfile"
)

// console is where a command's results, remarks and progress go, in the form that the user asked for.
type console struct {
	Streams
	environ func(string) string
	output  string // "text" or "json"
	quiet   bool

	mu   sync.Mutex // serialises writes
	line bool       // a progress line stands there
}

func (c *console) json() bool { return c.output == "json" }

// remark tells the user something beside the result.
func (c *console) remark(format string, a ...any) {
	if c.quiet {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clearLine()
	fmt.Fprintf(c.Err, format+"\n", a...)
}

// writeJSON writes one object on a line of its own.
func (c *console) writeJSON(v any) error {
	enc := json.NewEncoder(c.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// toOut writes to a file, or to standard output.
func (c *console) toOut(path string, write func(io.Writer) error) error {
	if path == "" {
		c.mu.Lock()
		c.clearLine()
		c.mu.Unlock()
		return write(raw(c.Out))
	}
	if err := userfile.Replace(path, write); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := raw(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns the columns of the terminal, 100 where there is none.
func (c *console) width() int {
	if n := columns(c.Out); n >= 40 {
		return min(n, 140)
	}
	return 100
}

// columns returns how wide the terminal behind w is, 0 where there is none or it does not tell.
func columns(w io.Writer) int {
	if f, ok := raw(w).(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// color reports whether the output may be coloured.
func (c *console) color() bool { return c.colorOn(c.Out) }

// colorOn reports whether what goes to w may be coloured: on a terminal, unless NO_COLOR (https://no-color.org) says
// otherwise. Output and error output are asked for by themselves: one may be a file.
func (c *console) colorOn(w io.Writer) bool {
	return isTerminal(w) && c.environ("NO_COLOR") == "" && c.environ("TERM") != "dumb"
}

func (c *console) bold(s string) string { return c.style(c.Out, 1, s) }
func (c *console) dim(s string) string  { return c.style(c.Out, 2, s) }

// style gives a text that goes to w the style of that number there, where it is wanted.
func (c *console) style(w io.Writer, n rune, s string) string {
	if !c.colorOn(w) {
		return s
	}
	return styled(n, s)
}
