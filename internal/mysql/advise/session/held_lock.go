package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/advise/session"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/state"
)

// How a session holds what keeps others out, as the servers word it (MySQL manual, "The metadata_locks Table"; MariaDB,
// "Metadata Lock Info Plugin"). Any other mode is that of a session which only works: then it is a lock that waits
// which is in the way of the rest.
var (
	// closing are FLUSH TABLES WITH READ LOCK, LOCK INSTANCE FOR BACKUP and the stages of BACKUP STAGE.
	closing = lazyregexp.New(`^(SHARED|EXCLUSIVE)$|FTWRL|BACKUP_(START|FLUSH|WAIT|BLOCK)`)
	// copying are those of a change of a definition that keeps others from the table while it works.
	copying = lazyregexp.New(`^(SHARED_NO_WRITE|EXCLUSIVE)$`)
)

// heldLocks finds sessions that keep others waiting by a lock that a statement took for its session: FLUSH TABLES WITH
// READ LOCK and backups, LOCK TABLES, GET_LOCK, and a change of a definition that locks the table while it works.
func heldLocks(v *advise.View) []finding.Finding {
	return session.Held(v, "held-lock", func(x session.Holder, f *finding.Finding) bool {
		who, end := session.Who(x.Session, x.Session.ID), v.Dialect.Kill(x.Session.ID)
		on := "a table"
		if x.Object != "" {
			on = x.Object
		}
		f.Cost = "A session that is killed has to start again."
		f.Falsify = "Disproved if the waiting sessions keep waiting once that session has released the lock or is gone."
		switch x.Kind {
		case state.GlobalLock:
			if !closing.MatchString(x.Held) {
				return false
			}
			f.Title = fmt.Sprintf("%s active sessions wait for the global lock of %s", x.Waiters, who)
			f.Cause = "FLUSH TABLES WITH READ LOCK keeps every session from changing rows, LOCK INSTANCE FOR BACKUP " +
				"from changing definitions, and the stages of a backup of MariaDB from one after the other. Such a " +
				"lock is held until it is released or its session ends."
			f.Suggestion = fmt.Sprintf("See whether a backup is still at work there. If not, have the session release "+
				"the lock (UNLOCK TABLES, UNLOCK INSTANCE, BACKUP STAGE END), or kill it: %s. Backups that lock for "+
				"an instant only are a dump with --single-transaction, mariadb-backup, XtraBackup and MySQL's "+
				"clone.", end)
			f.Cost = "A backup that loses its lock is useless and has to start again."
			f.Reference = "Reference manual, \"FLUSH Statement\" and \"LOCK INSTANCE FOR BACKUP\"; MariaDB " +
				"documentation, \"BACKUP STAGE\""
		case state.UserLock:
			name := "a lock of the application"
			if x.Object != "" {
				name = "the application's lock " + x.Object
			}
			// To wait may be all that these sessions are for: one of several works, the others stand by.
			f.Severity, f.Share, f.Gain = finding.Notice, 0, nil
			f.Title = fmt.Sprintf("%s active sessions wait for %s, which %s holds", x.Waiters, name, who)
			f.ID = finding.MakeID(f.Rule, session.Account(x.Session), x.Object)
			f.Cause = "GET_LOCK gives a lock on a name to one session at a time. The server does not know what it " +
				"protects: it is held until RELEASE_LOCK or the end of the session, not until the end of a transaction."
			f.Suggestion = "Nothing, if the others stand by for the one that works. If they should work, have the " +
				"holder keep the lock for that alone which must not run twice, release it whichever way its work " +
				"ends, and have the others wait with a limit: GET_LOCK(name, seconds). A pool gives connections " +
				"back with such locks on them."
			f.Cost = "Application work."
			f.Against = append(f.Against, "Sessions that stand by for the one that holds the lock are as they should "+
				"be.")
			f.Reference = "Reference manual, \"Locking Functions\""
		case state.TableLock:
			f.Title = fmt.Sprintf("%s active sessions wait for the lock on %s of %s", x.Waiters, on, who)
			f.Cause = "LOCK TABLES keeps others from the table until UNLOCK TABLES, another LOCK TABLES or the end " +
				"of the session. COMMIT does not release it."
			f.Suggestion = fmt.Sprintf("Have the session run UNLOCK TABLES, or kill it: %s. InnoDB needs no LOCK "+
				"TABLES: a transaction locks the rows that it changes.", end)
			f.Reference = "Reference manual, \"LOCK TABLES and UNLOCK TABLES Statements\""
		default:
			verb, _, _ := strings.Cut(strings.ToUpper(mytext.Body(x.Session.SQL)), " ")
			if slices.ContainsFunc(x.Waiting, definition) || !copying.MatchString(x.Held) ||
				!session.AtWork(x.Session) || !slices.Contains([]string{"ALTER", "CREATE", "OPTIMIZE"}, verb) {
				return false // who is behind a change that itself waits is another rule's
			}
			f.Title = fmt.Sprintf("%s active sessions wait for %s, which %s changes", x.Waiters, on, who)
			f.Cause = "This change of the table keeps others from it while it works."
			f.Suggestion = fmt.Sprintf("Let it end, or cancel it: %s.", end)
			if verb != "OPTIMIZE" {
				f.Suggestion += " Write ALGORITHM and LOCK into such a statement (ALGORITHM=INPLACE, LOCK=NONE): the " +
					"server then refuses what it cannot do beside others, instead of locking them out."
			}
			f.Cost = "What it has done so far is rolled back."
			f.Reference = "Reference manual, \"Online DDL Operations\""
		}
		return true
	})
}
