package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/mysql/alter"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/schema"
)

// Changer changes a server of the MySQL family.
type Changer struct{ t *target.Target }

// On returns how a server is changed.
func On(t *target.Target) Changer { return Changer{t} }

// Server says which server it is.
func (x Changer) Server() change.Server {
	return change.Server{Name: x.t.String(), URL: x.t.Spec().URL(), ID: x.t.Facts().Server}
}

// Pin has all that follows asked of one server process.
func (x Changer) Pin(ctx context.Context) error { return x.t.Pin(ctx) }

// Check returns what an action would do on the server as it is now.
func (x Changer) Check(ctx context.Context, a finding.Action, o change.Options) (change.Preview, change.Step, error) {
	p, k, err := previewChange(ctx, x.t, a, o)
	if err != nil {
		return p, change.Step{}, err
	}
	return p, stepOf(x.t, k, p.Action, o), nil
}

// Step returns how an action is carried out.
func (x Changer) Step(a finding.Action, o change.Options) (change.Step, error) {
	k, err := kindOf(a, o)
	if err != nil {
		return change.Step{}, err
	}
	return stepOf(x.t, k, a, o), nil
}

// stepOf returns a kind of action as package change carries it out.
func stepOf(t *target.Target, k kind, a finding.Action, o change.Options) change.Step {
	s := change.Step{
		Subject: k.subject(),
		Apply: func(ctx context.Context, report progress.Sink, note func(string)) error {
			return k.apply(ctx, t, report, note)
		},
		Revert: func(ctx context.Context, report progress.Sink, note func(string)) error {
			return k.revert(ctx, t, report, note)
		},
		Compare: func(ctx context.Context) (change.Standing, string, error) { return k.compare(ctx, t) },
		CheckRevert: func(ctx context.Context, j change.Reader, e journal.Entry, p *change.Preview) error {
			if err := k.checkRevert(ctx, t, objections{p}); err != nil {
				return err
			}
			return checkAdded(ctx, t, j, e, objections{p})
		},
		Lost: func(err error, command string) error { return lost(err, command, o) },
	}
	s.Unsure = func(ctx context.Context, err error) bool { return unsure(ctx, s, err) }
	s.Still = func(ctx context.Context) (string, error) { return still(ctx, t, k, a.Table, s) }
	if ref := k.table(); ref.Table != "" {
		s.Place = " on " + ref.String()
		s.Busy = func(ctx context.Context) (bool, error) { return running(ctx, t, ref) }
	}
	if x, ok := k.(interface{ applied() finding.Action }); ok {
		s.Applied = x.applied
	}
	if x, ok := k.(interface{ reverse() string }); ok {
		s.Reverse = x.reverse
	}
	if x, ok := k.(adjusting); ok {
		s.Adjusted = func(ctx context.Context) (finding.Action, bool, error) { return x.adjusted(ctx, t) }
	}
	if x, ok := k.(*alterTable); ok {
		s.Unmarked = rebuilt(x.a.Changes)
	}
	return s
}

// lost adds to the error of a change whose long build the server threw away how to have it made again.
func lost(err error, command string, o change.Options) error {
	if alter.BuiltOf(err) == 0 {
		return err
	}
	if o.Blocking {
		command += " --blocking"
	}
	return fmt.Errorf("%w; to build it again: dyno %s --execute", err, command)
}

// unsure reports whether an action that ended with an error may be in effect all the same.
func unsure(ctx context.Context, s change.Step, err error) bool {
	switch alter.WhyOf(err) {
	case alter.Lost:
		return true
	case "": // no error of an ALTER, which the server would have taken back
		return errors.Is(err, errTaken) || target.KindOf(err) == endpoint.Gone || s.Leaves(ctx)
	default:
		return target.KindOf(err) == endpoint.Gone
	}
}

// still asks whether an action is in effect still. Nothing can tell when a rebuild left no mark, nor of the kernel of
// another machine, nor of a table that the account may only watch the traffic of.
func still(
	ctx context.Context, t *target.Target, k kind, ref schema.Ref, s change.Step,
) (instead string, err error) {
	if _, kernel := k.(*setKernel); kernel {
		if _, local := t.LocalPID(ctx); !local {
			return "", nil
		}
	}
	if ref.Table != "" {
		seen, err := catalog.Tables(ctx, t.DB(), []schema.Ref{ref})
		if err != nil || len(seen) == 0 {
			return "", t.Wrap("look for table "+ref.String(), err)
		}
	}
	is, now, err := k.compare(ctx, t)
	if err != nil || is == inForce {
		return "", err
	}
	if x, ok := k.(*alterTable); ok && is == other { // the rest of the table may have changed
		if shows, err := x.shows(ctx, t); err != nil || shows {
			return "", err
		}
	}
	return s.Ended(is, now), nil
}
