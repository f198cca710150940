package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
)

// kind is one kind of action on its way. It makes its statements itself from the action's fields: text that came with
// a snapshot or a file is never sent.
type kind interface {
	// check asks the server as it is now and completes the preview: the action with its statements and what an undo
	// needs, words, sizes, what stands against it. It only reads.
	check(ctx context.Context, t *target.Target, p *change.Preview, o objections) error
	// apply carries the action out and revert takes it back. Both are called with the completed action.
	apply(ctx context.Context, t *target.Target, report progress.Sink, note func(string)) error
	revert(ctx context.Context, t *target.Target, report progress.Sink, note func(string)) error
	// compare says how the server compares with the state that the action brings about, and how it is now when that is
	// something else.
	compare(ctx context.Context, t *target.Target) (standing, string, error)
	// checkRevert looks for what stands against taking it back.
	checkRevert(ctx context.Context, t *target.Target, o objections) error
	// subject names what is changed: "index k".
	subject() string
	// table is the one that an ALTER TABLE works on; the zero Ref when there is none.
	table() schema.Ref
}

// adjusting is a change that a server may carry out otherwise than it was asked for: a value is rounded, a prefix is
// dropped.
type adjusting interface {
	// adjusted returns the action with what a server that shows something else made of it; false when that is somebody
	// else's doing.
	adjusted(ctx context.Context, t *target.Target) (finding.Action, bool, error)
}

// standing says how the server compares with what an action brings about.
type standing = change.Standing

const (
	inForce = change.InEffect
	asWas   = change.AsBefore
	other   = change.Different
	nowhere = change.Missing
)

// objections collect what a preview tells.
type objections struct{ p *change.Preview }

// block says what stands against the action.
func (o objections) block(format string, args ...any) {
	o.p.Block(format, args...)
}

// warn says what is worth knowing before.
func (o objections) warn(format string, args ...any) {
	o.p.Warn(format, args...)
}

// kindOf returns the kind of an action.
func kindOf(a finding.Action, o change.Options) (kind, error) {
	switch a.Kind {
	case finding.AddIndex:
		return &addIndex{ofIndex{a}}, nil
	case finding.DropIndex:
		return &dropIndex{ofIndex{a}}, nil
	case finding.HideIndex:
		return &hideIndex{ofIndex{a}}, nil
	case finding.AlterTable:
		return &alterTable{a: a, blocking: o.Blocking}, nil
	case finding.SetVariable:
		return &setVariable{a}, nil
	case finding.SetKernel:
		return &setKernel{a, o.Host}, nil
	case finding.KillSession:
		return nil, errors.New("a killed session cannot be restored")
	}
	return nil, fmt.Errorf("unknown kind %q: this version of dyno carries out %s, %s, %s, %s, %s and %s", a.Kind,
		finding.AddIndex, finding.DropIndex, finding.HideIndex, finding.AlterTable,
		finding.SetVariable, finding.SetKernel)
}
