package target

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Purpose says what a session is for. What the server allows it follows from that.
type Purpose uint8

const (
	// ForLoad is a workload of the user's: the server's own defaults apply.
	ForLoad Purpose = iota
	// ForReading asks questions and changes no data: the session is read-only where the server has that, the server
	// itself ends a SELECT that takes too long, and the last connection, which servers keep for administrators, is not
	// taken.
	ForReading
	// ForChanges carries out what a user has agreed to.
	ForChanges
)

// String returns the role that the server shows beside the program's name.
func (p Purpose) String() string { return [...]string{"load", "ask", "change"}[p] }

// idleLimit is how long the server keeps a session of Dyno's own that says nothing: when Dyno's machine dies without a
// word, its locks go with the session. A client must not rely on a session that has been idle for longer than idleUse.
const (
	idleLimit = 60 * time.Second
	idleUse   = 40 * time.Second
)

// questionLimit is how long the server lets a SELECT of a session for reading run, unless it asks for another limit.
const questionLimit = 10 * time.Second

// settingsOf returns what SET takes at the beginning of a session: in a fixed order, so that the statement has one
// digest. Values of more replace those of the purpose.
//
// Every session says what its text is encoded in, for a server may ignore what the client said when it logged in, or
// run a SET NAMES of its own (skip-character-set-client-handshake, init_connect). In another encoding the second byte
// of a character may end a literal.
//
// Dyno's own sessions have more in common. Strict mode, because without it the server shortens an index that is too
// long instead of refusing it; no ANSI_QUOTES and no NO_BACKSLASH_ESCAPES, so that quoting means the same everywhere; a
// metadata lock is waited for 5 s, not the server's year, because whoever waits for one stops all who come later; and
// no question leaves a transaction open, with its locks, where the server is set up with autocommit=OFF.
//
// Variables that some versions lack hide in comments: older versions skip those with a later number, MariaDB skips all
// for MySQL 5.7 and later, and MySQL skips those that begin with M.
func settingsOf(t *Target, p Purpose, limit time.Duration, more map[string]string) string {
	set := map[string]string{
		"character_set_client": "utf8mb4", "character_set_results": "utf8mb4",
		"collation_connection": "utf8mb4_general_ci",
	}
	tail := ""
	if p != ForLoad {
		set["sql_mode"] = "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"
		set["time_zone"] = "'+00:00'"
		set["autocommit"] = "1"
		set["lock_wait_timeout"] = "5"
		set["wait_timeout"] = seconds(idleLimit)
		tail = " /*M!100301 , idle_transaction_timeout = " + seconds(idleLimit) + " */"
	}
	if p == ForReading {
		set["long_query_time"] = "3600" // what Dyno asks does not belong in the slow log
		if limit <= 0 {
			limit = questionLimit
		}
		tail += " /*!50708 , max_execution_time = " + strconv.FormatInt(limit.Milliseconds(), 10) + " */" +
			" /*M!100101 , max_statement_time = " + seconds(limit) + " */" +
			" /*!50720 , transaction_read_only = 1 */ /*M!100001 , tx_read_only = 1 */"
		if readOnlyByOldName(t) {
			set["tx_read_only"] = "1"
		}
	}
	maps.Copy(set, more)
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(set)) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name + " = " + set[name])
	}
	return b.String() + tail
}

// readOnlyByOldName reports whether only tx_read_only makes a session read-only: MySQL 5.6.5 to 5.7.19.
func readOnlyByOldName(t *Target) bool {
	if t == nil || t.facts.Flavor.IsMariaDB() {
		return false
	}
	_, old := t.vars["tx_read_only"]
	_, now := t.vars["transaction_read_only"]
	return old && !now
}

// seconds writes a time as MariaDB's limits take it.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
