package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/unit"
)

// progress returns a sink that draws one line on the terminal: what, how far, how long still. Anywhere else it draws
// nothing.
func (c *console) progress() progress.Sink {
	if c.quiet || c.json() || !isTerminal(c.Err) {
		return nil
	}
	var last time.Time
	return func(p progress.Progress) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if p.End {
			c.clearLine()
			return
		}
		if p.At.Sub(last) < 100*time.Millisecond {
			return
		}
		last = p.At
		c.clearLine()
		fmt.Fprint(raw(c.Err), fitted(p, cmp.Or(columns(c.Err), 80)))
		c.line = true
	}
}

func (c *console) clearLine() {
	if c.line {
		fmt.Fprint(raw(c.Err), "\r\x1b[K")
		c.line = false
	}
}

// fitted is the line of a progress on a terminal of so many columns. It is shorter than they are: a line that wraps
// cannot be taken back. What is being done gives way first, then the bar; how long still stays.
func fitted(p progress.Progress, columns int) string {
	most := max(columns-1, 1)
	p.Step = report.Visible(p.Step, false)
	line := []rune("  " + progressLine(p))
	if over := len(line) - most; over > 0 {
		step := []rune(p.Step)
		p.Step = string(step[:max(0, len(step)-over-1)]) + "…"
		line = []rune("  " + progressLine(p))
	}
	if len(line) > most {
		line = []rune(strings.Map(func(r rune) rune {
			if r == '█' || r == '░' {
				return -1
			}
			return r
		}, string(line)))
	}
	return string(line[:min(len(line), most)])
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
