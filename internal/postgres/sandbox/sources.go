package sandbox

import (
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// sources are the packages of npm, for the versions that Dyno works with.
func sources() maker.Sources {
	const mb = 1 << 20
	s := maker.Sources{Licence: "PostgreSQL"}
	for _, major := range []string{"18", "17", "16", "15"} {
		s.NPM = append(s.NPM, maker.NPM{Flavor: dbms.Postgres, Major: major, Download: 23 * mb, Unpacked: 54 * mb})
	}
	return s
}
