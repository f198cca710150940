package mysql

import (
	"context"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/indextrial"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

// TryIndexes tries the indexes of findings on a private server, see indextrial.Try.
func (s Server) TryIndexes(ctx context.Context, yard *sandbox.Yard, name string, seen *snapshot.Snapshot,
	findings []*finding.Finding, o family.Try,
) error {
	return indextrial.Try(ctx, s.Target, yard, name, seen, findings, o)
}
