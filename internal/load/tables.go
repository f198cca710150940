package load

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Verifier is a Server that checks the conditions of a workload's tables. It only reads, returns those that do not hold
// in the order of the plan, and ErrNoChecks where there are none.
type Verifier interface {
	Verify(ctx context.Context, d Data, sink progress.Sink) ([]Violation, error)
}

// Violation is a condition that the tables do not meet.
type Violation struct {
	Check   workload.Check
	Columns []string
	Rows    [][]string // what violates it, the first examples
	More    bool       // there are others
}

// String names the condition and what breaks it first.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "condition %s does not hold (%s)", v.Check.Name, v.Check.Title)
	for i, row := range v.Rows {
		b.WriteString([...]string{": ", "; "}[min(i, 1)])
		for j, x := range row {
			if j > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(v.Columns[j] + "=" + x)
		}
	}
	if v.More {
		b.WriteString("; and more")
	}
	return b.String()
}

// ErrNoChecks tells that nothing is known of a workload's tables that could be verified.
var ErrNoChecks = errors.New("this workload has no conditions to check")

// Warmer is a Server that reads the tables of a workload, so that it has in memory what fits there.
type Warmer interface {
	Warm(ctx context.Context, d Data, sink progress.Sink) ([]WarmTable, error)
}

// WarmTable is a table that was read.
type WarmTable struct {
	Table   schema.Ref
	Rows    uint64
	Indexes int // that were read, the one that holds the rows among them
}

// Sizer is a Server that sets the option of a workload that decides the size of its tables, so that they take about
// size: "10G", or a multiple of a memory, "2xRAM" or "0.5xpool". note says in one sentence what was chosen.
type Sizer interface {
	Sized(ctx context.Context, d Data, size string) (sized Data, note string, err error)
}
