package app

import (
	"context"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql"
	"github.com/dyno-perf/dyno/internal/mysql/digestsource"
	"github.com/dyno-perf/dyno/internal/mysql/loader"
)

// Replay is what came of running logs again.
type Replay struct {
	Run     loadresult.Run
	Of      load.Replayed
	Skipped []digest.Skip // what of the logs could not be read, the first digest.MaxSkips parts
	Skips   uint64        // how many there are
}

// PreviewReplay tells what Replay would do with logs. Nothing is sent, and no server is needed.
func (a Runs) PreviewReplay(
	ctx context.Context, cfg load.ReplayConfig, logs digest.Logs,
) (x Replay, err error) {
	src, err := digestsource.OpenEntries(ctx, logOptions(logs))
	if err != nil {
		return x, err
	}
	x.Of, err = loader.Preview(cfg, src)
	_, x.Skipped, x.Skips = src.Close()
	return x, err
}

// CanReplay returns an error for a server on which no logs can be run again.
func CanReplay(s family.Server) error {
	_, err := mysql.Target(s, replaying)
	return err
}

const replaying = "replay a log"

// Replay runs the statements of logs again and keeps the run, as Load does. The ticks go to the sink.
func (a Runs) Replay(ctx context.Context, s family.Server, cfg load.ReplayConfig, logs digest.Logs,
	sink func(loadresult.Tick),
) (x Replay, err error) {
	t, err := mysql.Target(s, replaying)
	if err != nil {
		return x, err
	}
	src, err := digestsource.OpenEntries(ctx, logOptions(logs))
	if err != nil {
		return x, err
	}
	cfg.Logs = logs.Paths
	x.Run, _, err = a.kept(ctx, nil, sink, func(sink func(loadresult.Tick)) (r loadresult.Run, err error) {
		r, x.Of, err = loader.Server{T: t}.Replay(ctx, cfg, src, sink)
		return r, err
	})
	_, x.Skipped, x.Skips = src.Close()
	return x, err
}
