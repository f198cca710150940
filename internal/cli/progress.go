package cli

import (
	"fmt"
	"strings"
	"time"

	"dyno/internal/progress"
	"dyno/internal/unit"
)

// progress returns a sink that draws one line on the terminal: what, how far, how long still. Anywhere else it draws nothing.
func (e *env) progress() progress.Sink {
	if e.quiet || e.json() || !isTerminal(e.Err) {
		return nil
	}
	var last time.Time
	return func(p progress.Progress) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if p.End {
			e.clearLine()
			return
		}
		if p.At.Sub(last) < 100*time.Millisecond {
			return
		}
		last = p.At
		e.clearLine()
		fmt.Fprint(e.Err, "  "+progressLine(p))
		e.line = true
	}
}

func (e *env) clearLine() {
	if e.line {
		fmt.Fprint(e.Err, "\r\x1b[K")
		e.line = false
	}
}

// progressLine says what is being done, the share in percent and the time left.
func progressLine(p progress.Progress) string {
	var b strings.Builder
	b.WriteString(p.Step)
	f, known := p.Fraction()
	if known {
		const cells = 20
		n := int(f * cells)
		fmt.Fprintf(&b, "  %s%s %3.0f %%", strings.Repeat("█", n), strings.Repeat("░", cells-n), f*100)
	}
	switch {
	case p.Unit == "bytes" && p.Done > 0:
		b.WriteString("  " + unit.Bytes(p.Done))
	case p.Unit != "s" && p.Done > 0:
		b.WriteString("  " + unit.Count(p.Done) + " " + p.Unit)
	}
	if left, ok := p.Remaining(); ok {
		b.WriteString("  " + left.Round(time.Second).String() + " left")
	} else if d := p.At.Sub(p.Started); !known && d > time.Second {
		b.WriteString("  for " + d.Round(time.Second).String())
	}
	return b.String()
}
