package family

import "github.com/dyno-perf/dyno/internal/progress"

// Try says how the indexes that findings would add are tried on a private server.
type Try struct {
	Rows       int      // most rows of a table that are copied to the private server; 0 means 200 000
	Pairs      int      // of trials, with the index and without; 0 means 6
	ServerDirs []string // where to look for builds, beside the usual places
	Progress   progress.Sink
}
