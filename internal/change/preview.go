package change

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Preview is what an action would do on a server as it is now.
type Preview struct {
	Target  string         `json:"target"`
	Server  string         `json:"server"` // the server's own identity
	Finding string         `json:"finding,omitzero"`
	Action  finding.Action `json:"action"` // with the statements as they would be sent
	Words   string         `json:"words"`  // what would be done, in a sentence

	Rows       known.Value[uint64]  `json:"rows,omitzero"`
	TableBytes known.Value[uint64]  `json:"table_bytes,omitzero"`
	Bytes      known.Value[float64] `json:"bytes,omitzero"`        // estimate of what it adds on disk
	SecondsLo  known.Value[float64] `json:"seconds_low,omitzero"`  // estimate of the time it takes, on a quick disk …
	SecondsHi  known.Value[float64] `json:"seconds_high,omitzero"` // … and on a slow one

	Warnings []string `json:"warnings,omitempty"` // warnings to read first
	Blockers []string `json:"blockers,omitempty"` // it is blocked while one of them holds
}

// OK reports whether nothing stands against the action.
func (p Preview) OK() bool { return len(p.Blockers) == 0 }

// Text returns the preview as lines for people.
func (p Preview) Text() []string {
	out := []string{p.Words, "", "  " + p.Action.SQL, ""}
	if p.Action.Undo != "" {
		out = append(out, "To undo:", "  "+p.Action.Undo, "")
	}
	var size []string
	if n, ok := p.Rows.Get(); ok {
		size = append(size, "about "+unit.Count(float64(n))+" rows")
	}
	if n, ok := p.TableBytes.Get(); ok {
		size = append(size, "table "+unit.Bytes(float64(n)))
	}
	if n, ok := p.Bytes.Get(); ok {
		size = append(size, "the change adds at most about "+unit.Bytes(n))
	}
	if lo, ok := p.SecondsLo.Get(); ok {
		if hi, ok := p.SecondsHi.Get(); ok {
			if hi < 1 {
				size = append(size, "takes less than a second")
			} else {
				size = append(size, "takes roughly "+unit.Seconds(max(lo, 0.1))+" to "+unit.Seconds(hi))
			}
		}
	}
	if len(size) > 0 {
		out = append(out, "Size: "+strings.Join(size, "; ")+".")
	}
	for _, w := range p.Warnings {
		out = append(out, "Note: "+w)
	}
	for _, b := range p.Blockers {
		out = append(out, "Blocked: "+b)
	}
	return out
}

// Block adds what stands against the action.
func (p *Preview) Block(format string, args ...any) {
	p.Blockers = append(p.Blockers, fmt.Sprintf(format, args...))
}

// Warn adds what is worth knowing before.
func (p *Preview) Warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// UndoPreview is what undoing an action would do on the server as it is now.
type UndoPreview struct {
	Entry    journal.Entry `json:"entry"`              // as the server shows it, which may differ from the journal after a crash
	SQL      string        `json:"sql"`                // as it would be sent
	Warnings []string      `json:"warnings,omitempty"` // warnings to read first
	Blockers []string      `json:"blockers,omitempty"` // it is blocked while one of them holds
}

// OK reports whether nothing stands against it.
func (r UndoPreview) OK() bool { return len(r.Blockers) == 0 }
