package apply

import (
	"context"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// errant says which transaction of its own a change leaves on a replica; "" where it leaves none in a binary log.
func errant(t *target.Target) string {
	v := func(name string) string { s, _ := t.Variable(name); return s }
	if v("log_bin") != "ON" {
		return ""
	}
	gtid := v("server_uuid") + ":n"
	switch {
	case t.Facts().Flavor.IsMariaDB():
		gtid = v("gtid_domain_id") + "-" + v("server_id") + "-n"
	case !strings.HasPrefix(v("gtid_mode"), "ON"):
		return ""
	}
	return fmt.Sprintf("; its binary log gets an errant transaction with GTID %s, which no other server has: after a "+
		"failover to this replica the others "+
		"make the change, too, or stop because it is purged. Better make the change on the source", gtid)
}

// checkGroup looks for a group whose members all take changes: DDL on one and writes on another at the same time are
// not safe there.
func checkGroup(ctx context.Context, t *target.Target, o objections) error {
	mode, ok := t.Variable("group_replication_single_primary_mode")
	if !ok {
		return nil // no plugin
	}
	const q = "SELECT m.MEMBER_STATE, @@global.group_replication_single_primary_mode, (SELECT COUNT(*) FROM " +
		"performance_schema.replication_group_members" +
		" WHERE MEMBER_ROLE = 'PRIMARY') FROM performance_schema.replication_group_members m WHERE m.MEMBER_ID = " +
		"@@server_uuid"
	var at, single string
	var primaries int
	found, err := ask(ctx, t, "look for a replication group", q, nil, &at, &single, &primaries)
	if err != nil { // 5.7 shows no roles, or a privilege is missing: the variable is the same on all members
		found, at, single, primaries = true, "ONLINE", mode, 0
		if n, ok := target.ServerErrorNumber(err); !ok || n != 1054 && target.KindOf(err) != endpoint.Denied {
			return err
		}
	}
	if found && multiPrimary(at, single, primaries) {
		o.block("the server belongs to a Group Replication group with several primaries, where an ALTER TABLE " +
			"concurrent with writes on another member is not safe: " +
			"switch it to one primary first: SELECT group_replication_switch_to_single_primary_mode()")
	}
	return nil
}

// multiPrimary judges this member's state, the group's mode (group_replication_single_primary_mode) and its number of
// primaries.
func multiPrimary(state, single string, primaries int) bool {
	return state != "" && state != "OFFLINE" && (primaries > 1 || single == "OFF" || single == "0")
}

// tools are the names that programs which make backups give themselves.
const tools = "'mariabackup','mariadb-backup','xtrabackup','mysqlbackup','mydumper','mysqldump','mariadb-dump'," +
	"'mysqlpump'"

const lookForBackups = "look for running backups"

// checkBackups looks for backups that are being made: a change of a table waits for their lock, or spoils them.
func checkBackups(ctx context.Context, t *target.Target, o objections) error {
	const who = "SELECT h.PROCESSLIST_ID, CONCAT(IFNULL(h.PROCESSLIST_USER, '?'), '@', IFNULL(h.PROCESSLIST_HOST, " +
		"'?')), "
	var qs []string
	if t.Has(target.HasMetadataLocks) {
		// MySQL's LOCK INSTANCE FOR BACKUP, Percona's LOCK TABLES FOR BACKUP; MariaDB's stages, whose locks
		// performance_schema calls by wrong names. The locks of statements end with them: they are not explicit.
		qs = append(qs, who+"CONCAT('holds the lock ', m.OBJECT_TYPE, ' (', m.LOCK_TYPE, ')') FROM "+
			"performance_schema.metadata_locks m"+
			" JOIN performance_schema.threads h ON h.THREAD_ID = m.OWNER_THREAD_ID WHERE m.LOCK_STATUS = 'GRANTED' "+
			"AND h.PROCESSLIST_ID <> CONNECTION_ID()"+
			" AND m.OBJECT_TYPE IN ('BACKUP LOCK', 'BACKUP TABLES', 'BACKUP') AND m.LOCK_DURATION = 'EXPLICIT'")
	}
	if t.Has(target.HasMetadataLockInfo) {
		qs = append(qs, "SELECT m.THREAD_ID, CONCAT(IFNULL(h.USER, '?'), '@', IFNULL(h.HOST, '?')), CONCAT('holds "+
			"the lock ', m.LOCK_TYPE, ' (', m.LOCK_MODE, ')')"+
			" FROM information_schema.METADATA_LOCK_INFO m LEFT JOIN information_schema.PROCESSLIST h ON h.ID = "+
			"m.THREAD_ID WHERE m.LOCK_TYPE = 'Backup lock'"+
			" AND m.LOCK_MODE NOT IN ('MDL_BACKUP_DML', 'MDL_BACKUP_TRANS_DML', 'MDL_BACKUP_SYS_DML', "+
			"'MDL_BACKUP_DDL', 'MDL_BACKUP_ALTER_COPY', 'MDL_BACKUP_COMMIT')")
	}
	qs = append(qs, "SELECT ID, CONCAT(USER, '@', HOST), 'executes a statement of a backup' FROM "+
		"information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID()"+
		" AND (INFO LIKE 'BACKUP STAGE%' OR INFO LIKE 'LOCK INSTANCE FOR BACKUP%' OR INFO LIKE 'LOCK TABLES FOR "+
		"BACKUP%')")
	denied := ""
	for _, q := range qs {
		var id uint64
		var user, what string
		found, err := ask(ctx, t, lookForBackups, q+" LIMIT 1", nil, &id, &user, &what)
		switch {
		case target.KindOf(err) == endpoint.Denied:
			denied = target.HintOf(err)
		case err != nil:
			return err
		case found:
			o.block("a backup is running: thread %d (%s) %s; a change would wait for it or break it: try again when "+
				"it is done", id, user, what)
			return nil
		}
	}
	if t.Has(target.HasPerformanceSchema) {
		switch err := checkClaims(ctx, t, o); {
		case target.KindOf(err) == endpoint.Denied:
			denied = target.HintOf(err)
		case err != nil:
			return err
		}
	}
	if denied != "" {
		o.warn("not every running backup is visible: %s", denied)
	}
	return nil
}

// checkClaims looks for sessions that call themselves a program which makes backups. Anyone can, so it counts only with
// the privileges that such a program needs for its locks. Those that an account has from a role are not seen; then
// there is a warning only.
func checkClaims(ctx context.Context, t *target.Target, o objections) error {
	const q = "SELECT MIN(h.PROCESSLIST_ID), h.PROCESSLIST_USER, IFNULL(MIN(h.PROCESSLIST_HOST), '?'), " +
		"MIN(a.ATTR_VALUE)" +
		" FROM performance_schema.session_connect_attrs a JOIN performance_schema.threads h ON h.PROCESSLIST_ID = " +
		"a.PROCESSLIST_ID" +
		" WHERE a.ATTR_NAME = 'program_name' AND a.ATTR_VALUE IN (" + tools + ") AND h.PROCESSLIST_USER IS NOT NULL " +
		"GROUP BY h.PROCESSLIST_USER LIMIT 100"
	rows, err := t.DB().QueryContext(ctx, sqltext.Tagged("apply", "", q))
	if err != nil {
		return t.Wrap(lookForBackups, err)
	}
	defer rows.Close()
	type claim struct {
		id                  uint64
		user, host, program string
	}
	var all []claim
	for rows.Next() && len(all) < 100 {
		var c claim
		if err := rows.Scan(&c.id, &c.user, &c.host, &c.program); err != nil {
			return t.Wrap(lookForBackups, err)
		}
		all = append(all, c)
	}
	if err := rows.Err(); err != nil {
		return t.Wrap(lookForBackups, err)
	}
	for _, c := range all {
		// Which of the user's accounts it is, nobody shows.
		grantee, n := "'"+c.user+"'@", 0
		if _, err := ask(ctx, t, lookForBackups, "SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE "+
			"PRIVILEGE_TYPE IN ('RELOAD', 'BACKUP_ADMIN')"+
			" AND LEFT(GRANTEE, CHAR_LENGTH(?)) = ?", []any{grantee, grantee}, &n); err != nil {
			return err
		}
		if n > 0 {
			o.block("a backup is running: thread %d (%s@%s) is of %s; a change would wait for it or break it: try "+
				"again when it is done", c.id, c.user, c.host, c.program)
			return nil
		}
	}
	if len(all) > 0 {
		c := all[0]
		o.warn("thread %d (%s@%s) says that it is of %s, but holds no backup lock and has no visible privilege for "+
			"one: "+
			"a change would break a running backup", c.id, c.user, c.host, c.program)
	}
	return nil
}

// ask reads the first row of an answer; false when there is none.
func ask(ctx context.Context, t *target.Target, op, q string, args []any, into ...any) (bool, error) {
	rows, err := t.DB().QueryContext(ctx, sqltext.Tagged("apply", "", q), args...)
	if err != nil {
		return false, t.Wrap(op, err)
	}
	defer rows.Close()
	found := rows.Next()
	if found {
		if err := rows.Scan(into...); err != nil {
			return false, t.Wrap(op, err)
		}
	}
	return found, t.Wrap(op, rows.Err())
}
