package conn

import (
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
)

// Purpose says what a session is for. What the server allows it follows from that.
type Purpose uint8

const (
	// ForReading asks questions and changes nothing: its transactions are read-only, the server ends a statement after
	// 10 s, a wait for a lock after 1 s. search_path is pg_catalog, so that no object of a user's is taken for one of
	// the server's: name the schema of anything else, and set search_path where a user's statement is explained.
	ForReading Purpose = iota
	// ForChanges carries out what a user has agreed to: statements take as long as they take, a wait for a lock ends
	// after 5 s, because whoever waits for one stops all who come later. search_path is pg_catalog.
	ForChanges
	// ForLoad is a workload of the user's: the server's own defaults apply.
	ForLoad
)

// Application is the application_name of Dyno's own sessions, as pg_stat_activity shows it.
const Application = "dyno"

// LoadApplication is the application_name of the sessions of a load: they are not Dyno's own work.
const LoadApplication = "dyno load"

// String returns the role for messages.
func (p Purpose) String() string { return [...]string{"ask", "change", "load"}[p] }

func (p Purpose) application() string {
	if p == ForLoad {
		return LoadApplication
	}
	return Application
}

const (
	questionLimit = 10 * time.Second // of one statement of a session for reading
	readingLock   = time.Second
	changeLock    = 5 * time.Second
	// idleLimit is how long the server keeps a transaction of Dyno's own in which nothing happens: when Dyno's machine
	// dies without a word, its locks go with it.
	idleLimit = 60 * time.Second
	goodbye   = time.Second
)

// settings returns the statements that set a new session up, in one text. They are not sent at the login, where a
// pooler (PgBouncer) refuses settings that it does not know.
// https://www.postgresql.org/docs/current/runtime-config-client.html
func (p Purpose) settings() string {
	// Quoting has to mean the same everywhere, whatever the server, the database or the account sets.
	set := [][2]string{{"client_encoding", "'UTF8'"}, {"standard_conforming_strings", "on"}}
	if p != ForLoad {
		set = append(set, [2]string{"search_path", "pg_catalog"}, [2]string{"DateStyle", "'ISO'"},
			[2]string{"TimeZone", "'UTC'"}, [2]string{"IntervalStyle", "'postgres'"},
			[2]string{"bytea_output", "'hex'"},
			[2]string{"idle_in_transaction_session_timeout", ms(idleLimit)})
	}
	switch p {
	case ForReading:
		set = append(set, [2]string{"default_transaction_read_only", "on"},
			[2]string{"statement_timeout", ms(questionLimit)}, [2]string{"lock_timeout", ms(readingLock)},
			// a question is short: planning it for several processes or machine code costs more than it saves
			[2]string{"jit", "off"}, [2]string{"max_parallel_workers_per_gather", "0"})
	case ForChanges:
		set = append(set, [2]string{"default_transaction_read_only", "off"},
			[2]string{"statement_timeout", "0"}, [2]string{"lock_timeout", ms(changeLock)})
	case ForLoad:
	}
	var b strings.Builder
	for _, kv := range set {
		b.WriteString(pgtext.Tagged("login", "SET "+kv[0]+" = "+kv[1]+";"))
	}
	return b.String()
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
