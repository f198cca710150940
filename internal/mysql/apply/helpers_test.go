package apply

import (
	"context"

	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
)

type (
	Options      = change.Options
	Preview      = change.Preview
	BlockedError = change.BlockedError
)

var (
	ErrPreviewChanged = change.ErrPreviewChanged
	ErrNotThatSession = change.ErrNotThatSession
)

func PreviewChange(ctx context.Context, t *target.Target, f finding.Finding, o Options) (Preview, error) {
	return change.PreviewChange(ctx, On(t), f, o)
}

func Apply(ctx context.Context, t *target.Target, j change.Journal, e journal.Entry, o Options, report progress.Sink,
	note func(string),
) (journal.Entry, error) {
	return change.Apply(ctx, On(t), j, e, o, report, note)
}

func PreviewUndo(
	ctx context.Context, t *target.Target, j change.Reader, e journal.Entry, o Options,
) (change.UndoPreview, error) {
	return change.PreviewUndo(ctx, On(t), j, e, o)
}

func Undo(ctx context.Context, t *target.Target, j change.Journal, id string, o Options, report progress.Sink,
	note func(string),
) (journal.Entry, error) {
	return change.Undo(ctx, On(t), j, id, o, report, note)
}

func Reconcile(ctx context.Context, t *target.Target, e journal.Entry) (journal.Entry, error) {
	return change.Reconcile(ctx, On(t), e)
}

func InForce(ctx context.Context, t *target.Target, a finding.Action, o Options) (string, error) {
	return change.InForce(ctx, On(t), a, o)
}

func Kill(ctx context.Context, t *target.Target, j change.Journal, e journal.Entry, id uint64,
	user string,
) (journal.Entry, error) {
	return On(t).Kill(ctx, j, e, change.Session{ID: id, User: user})
}
