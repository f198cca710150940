package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/apply"
	"github.com/dyno-perf/dyno/internal/capture"
	"github.com/dyno-perf/dyno/internal/httpapi"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/target"
	"github.com/dyno-perf/dyno/internal/task"
)

func (e *env) serveFindings(s *service.Service) httpapi.Findings { return judgements{s} }
func (e *env) serveChanges(s *service.Service) httpapi.Changes   { return changes{s} }

// inWords gives an error of the engines the meaning that httpapi answers by.
func inWords(err error) error {
	var unknown *app.UnknownTargetError
	var finding *app.UnknownFindingError
	var blocked *apply.BlockedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unknown), errors.As(err, &finding), errors.Is(err, ledger.ErrNotFound),
		errors.Is(err, sandbox.ErrNotFound), errors.Is(err, sandbox.ErrBadName):
		return fmt.Errorf("%w: %w", httpapi.ErrNotFound, err)
	case errors.As(err, &blocked), errors.Is(err, service.ErrPreviewChanged), errors.Is(err, apply.ErrNotThatSession):
		return fmt.Errorf("%w: %w", httpapi.ErrConflict, err)
	case target.KindOf(err) == target.BadTarget: // of a URL in place of a name
		return fmt.Errorf("%w: %w", httpapi.ErrBadRequest, err)
	case target.HintOf(err) != "": // the server did not answer, or not as it should
		return fmt.Errorf("%w: %w", httpapi.ErrUnavailable, err)
	}
	return err
}

type judgements struct{ s *service.Service }

func (x judgements) Verdicts(ctx context.Context, name string, n int) ([]app.Verdict, error) {
	if name != "" {
		if ok, err := x.s.Fleet.Known(ctx, name); err != nil || !ok {
			return nil, errors.Join(err, unknownTarget(name))
		}
	}
	all, err := x.s.Diagnoses.Verdicts(ctx, name, n)
	return all, inWords(err)
}

func (x judgements) FindingsOf(ctx context.Context, name string) (service.Findings, error) {
	all, err := x.s.Diagnoses.FindingsOf(ctx, name)
	return all, inWords(err)
}

func (x judgements) IgnoreFinding(ctx context.Context, name, id, by string, d time.Duration) (ledger.Ignored, error) {
	i, err := x.s.Diagnoses.IgnoreFinding(ctx, name, id, by, d)
	return i, inWords(err)
}

func (x judgements) Judged(ctx context.Context, id string) (service.Judged, error) {
	d, err := x.s.Diagnoses.Judged(ctx, id)
	return d, inWords(err)
}

func (x judgements) Diagnose(ctx context.Context, name, by string, o capture.Options) (task.Task, error) {
	t, err := x.s.Diagnoses.Diagnose(ctx, name, by, o)
	return t, inWords(err)
}

func (x judgements) JudgedEvery() time.Duration { return x.s.Diagnoses.JudgedEvery() }

type changes struct{ s *service.Service }

func (x changes) Journal(ctx context.Context, name string, n int) ([]service.JournalAction, error) {
	all, err := x.s.Changes.Journal(ctx, name, n)
	return all, inWords(err)
}

func (x changes) ChangeOf(ctx context.Context, id string) (service.ChangeDetail, error) {
	d, err := x.s.Changes.ChangeOf(ctx, id)
	return d, inWords(err)
}

func (x changes) Report(ctx context.Context, id string) (*report.Document, error) {
	d, err := x.s.Changes.Report(ctx, id)
	return d, inWords(err)
}

func (x changes) PreviewChange(ctx context.Context, name, finding string, o apply.Options) (app.Intent, error) {
	in, err := x.s.Changes.PreviewChange(ctx, name, finding, o)
	return in, inWords(err)
}

func (x changes) ApplyChange(ctx context.Context, name, finding, confirm, by string,
	o apply.Options,
) (task.Task, error) {
	t, err := x.s.Changes.ApplyChange(ctx, name, finding, confirm, by, o)
	return t, inWords(err)
}

func (x changes) PreviewUndo(ctx context.Context, id string, o apply.Options) (app.UndoPreview, error) {
	p, err := x.s.Changes.PreviewUndo(ctx, id, o)
	return p, inWords(err)
}

func (x changes) UndoChange(ctx context.Context, id, confirm, by string, o apply.Options) (task.Task, error) {
	t, err := x.s.Changes.UndoChange(ctx, id, confirm, by, o)
	return t, inWords(err)
}

func (x changes) KillSession(ctx context.Context, name string, session uint64, user, by string) (journal.Entry, error) {
	e, err := x.s.Changes.KillSession(ctx, name, session, user, by)
	return e, inWords(err)
}

func (x changes) ProveChange(ctx context.Context, id, by string, o capture.Options) (task.Task, error) {
	t, err := x.s.Changes.ProveChange(ctx, id, by, o)
	return t, inWords(err)
}
