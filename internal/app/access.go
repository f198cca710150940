package app

import (
	"context"
	"path/filepath"

	"github.com/dyno-perf/dyno/internal/store/access"
)

// AccessPath returns where the users' file is, or would be.
func (a *App) AccessPath() string { return filepath.Join(a.Home, "store", "access.db") }

// Users opens the users' file; the caller closes it.
func (a Stores) Users(ctx context.Context) (*access.Store, error) {
	return access.Open(ctx, a.AccessPath(), access.Options{})
}
