package mysql

import (
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
)

var _ family.Rememberer = Family{}

// NewMemories implements family.Rememberer: the catalogs of the servers.
func (Family) NewMemories() family.Memories { return &memories{} }

type memories struct{ catalog.Caches }

// Of implements family.Memories.
func (m *memories) Of(target string) any { return m.Caches.Of(target) }
