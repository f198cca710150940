package sandbox

import (
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// serverLog understands the error log. What stands before the message is "2026-01-02T03:04:05.678901Z 0 [ERROR]
// [MY-000067] [Server] " of MySQL, "2026-01-02 3:04:05 0 [ERROR] /usr/sbin/mariadbd: " of MariaDB, "260102 3:04:05
// [ERROR] /x/mysqld: " of MySQL 5.5.
var serverLog = maker.Log{
	Changed: lazyregexp.New(`adjusted to|wasn't recognized|unknown (variable|option)`),
	Error:   lazyregexp.New(`\[ERROR\]|\[Fatal\]|InnoDB: (Error:|than specified)`),
	Stamp: lazyregexp.New(`^(\d{4}-\d\d-\d\d[T ] ?[ \d]\d:\d\d:\d\d\S* +\d+|\d{6} [ \d]\d:\d\d:\d\d) ` +
		`(\[\w+\] (\[MY-\d+\] )?(\[\w+\] )?(\S*/\S+: )?)?`),
	Aftermath: lazyregexp.New(
		`Aborting\s*$|Plugin 'InnoDB' (registration|init function)|` +
			`Failed to (initialize (builtin )?plugins|shutdown components)|` +
			`Data Dictionary initialization failed|data directory \S+ is unusable|` +
			`Unknown/unsupported storage engine: InnoDB`),
}
