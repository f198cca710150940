package sandbox

import (
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// serverLog understands the log. What stands before the message is "2026-01-02 03:04:05.678 UTC [12] FATAL:  ".
var serverLog = maker.Log{
	Error: lazyregexp.New(` (FATAL|PANIC): |could not bind `),
	Stamp: lazyregexp.New(`^\d{4}-\d\d-\d\d [\d:.]+ \S+ \[\d+\] [A-Z]+: +`),
	Aftermath: lazyregexp.New(
		`FATAL: +(the database system is |could not create any TCP/IP sockets|terminating |password authentication |` +
			`no pg_hba.conf entry |(role|database) ")`),
	Leftover: "pre-existing shared memory block",
}
