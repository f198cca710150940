package sandbox

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/unit"
)

// reserve is what must stay free beside what is about to be written: a server whose disk is full stops in the middle of
// its work.
const reserve = 256 << 20

// checkSpace returns ErrNoSpace with the figures when less than need and the reserve is free for us at path.
func checkSpace(path string, need int64) error {
	free, _, err := platform.Space(path)
	if err != nil {
		return fmt.Errorf("free space of %s: %w", path, err)
	}
	if int64(free)-reserve >= need {
		return nil
	}
	return hint(fmt.Errorf("%w: %s needs %s and %s to spare, %s is free", ErrNoSpace, path,
		unit.Bytes(float64(need)), unit.Bytes(reserve), unit.Bytes(float64(free))),
		"make room, or set DYNO_HOME to a directory on another disk")
}
