package testbed

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/experiment"
)

// TestEnvironmentOfAFilesystem: what is told of the storage is told of the filesystem that the data are on, not of the
// one below it.
func TestEnvironmentOfAFilesystem(t *testing.T) {
	s := newStand(t)
	p, vs := parse(t, `
server: mariadb
settings: {innodb_buffer_pool_size: 32M}
filesystem: ext4
probe: [{name: q, sql: SELECT 1}]
trials: {rounds: 3..3}
`)
	if os.Geteuid() != 0 { // who may not mount anything is told so
		_, err := s.Trial(t.Context(), vs[0], p, false, nil)
		if u := (*experiment.Unusable)(nil); !errors.As(err, &u) || !strings.Contains(u.Reason, "root") {
			t.Errorf("%v", err)
		}
		return
	}
	storage := s.must(t, vs[0], p).Env.Facts["storage"]
	if !strings.HasPrefix(storage["stack"], "ext4 on loop") || storage["filesystem"] != "ext4" {
		t.Errorf("%v", storage)
	}
}
