package session

import (
	"fmt"
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/advise/session"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/state"
)

// lockout is how a table is locked against others: by LOCK TABLES for writing and for reading, by a change that copies,
// and at its ends (MySQL manual, "The metadata_locks Table").
var lockout = lazyregexp.New(`NO_READ_WRITE|READ_ONLY|NO_WRITE|EXCLUSIVE`)

// heldLocks finds sessions that keep others waiting by a lock that a statement took for itself: FLUSH TABLES WITH READ
// LOCK and backups, LOCK TABLES, GET_LOCK, and a change of a definition that locks the table while it works.
func heldLocks(v *advise.View) []finding.Finding {
	return session.Held(v, "held-lock", func(x session.Holder, f *finding.Finding) bool {
		who, end := session.Who(x.Session, x.Session.ID), v.Dialect.Kill(x.Session.ID)
		f.Cost = "A session that is killed has to start again."
		f.Falsify = "Disproved if the waiting sessions keep waiting once that session has released the lock or is gone."
		switch x.Kind {
		case state.GlobalLock:
			f.Title = fmt.Sprintf("%s active sessions wait for the global lock of %s", x.Waiters, who)
			f.Cause = "FLUSH TABLES WITH READ LOCK, a read-only server and the stages of a backup keep every session " +
				"from changing rows or committing, until UNLOCK TABLES or the end of the session that asked for it."
			f.Suggestion = fmt.Sprintf("Let the session that holds it run UNLOCK TABLES (BACKUP STAGE END in a backup "+
				"of MariaDB), or kill it if its backup is stuck: %s. Then take backups that lock for an instant only: "+
				"a dump with --single-transaction, mariadb-backup, XtraBackup or MySQL's clone.", end)
			f.Cost += " A backup that loses its lock is useless."
			f.Reference = "Reference manual, \"FLUSH\" and \"LOCK INSTANCE FOR BACKUP\"; MariaDB documentation, " +
				"\"BACKUP STAGE\""
		case state.UserLock:
			name := "a lock of the application"
			if x.Object != "" {
				name = "the application's lock " + x.Object
			}
			f.Title = fmt.Sprintf("%s active sessions wait for %s, which %s holds", x.Waiters, name, who)
			f.ID = finding.MakeID(f.Rule, session.Account(x.Session), x.Object)
			f.Cause = "GET_LOCK gives a lock on a name to one session at a time. The server does not know what it " +
				"protects: it is held until RELEASE_LOCK or the end of the session, not until the end of a transaction."
			f.Suggestion = fmt.Sprintf("Have the application hold it for the work alone that must not run twice, "+
				"release it in every way out, and wait with a limit: GET_LOCK(name, seconds). If the holder hangs, "+
				"kill it: %s. Sessions of a pool keep such locks when they are given back.", end)
			f.Reference = "Reference manual, \"Locking Functions\""
		default:
			if slices.ContainsFunc(x.Waiting, definition) || !lockout.MatchString(x.Held) {
				return false // who stands behind a change that waits is another rule's
			}
			on := "a table"
			if x.Object != "" {
				on = x.Object
			}
			f.Title = fmt.Sprintf("%s active sessions wait for the lock on %s of %s", x.Waiters, on, who)
			f.Cause = "LOCK TABLES keeps all others from the table until UNLOCK TABLES, another LOCK TABLES or the " +
				"end of the session."
			f.Suggestion = fmt.Sprintf("Have the session run UNLOCK TABLES, or kill it: %s. InnoDB needs no LOCK "+
				"TABLES: a transaction locks the rows that it changes.", end)
			if session.AtWork(x.Session) && definition(x.Session.SQL) {
				f.Cause = "This change of the table keeps all others from it while it works."
				f.Suggestion = fmt.Sprintf("Let it end, or cancel it: %s. Write ALGORITHM and LOCK into such a "+
					"statement (ALGORITHM=INPLACE, LOCK=NONE): the server then refuses what it cannot do beside "+
					"others, instead of locking them out.", end)
				f.Cost = "What it has done so far is rolled back."
			}
			f.Reference = "Reference manual, \"LOCK TABLES and UNLOCK TABLES Statements\" and \"Online DDL Operations\""
		}
		return true
	})
}
