package capture

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// mostAccounts bounds the accounts that are read.
const mostAccounts = 1000

// accounts reads the users of the server. Whether one has a password is worked out by the server: neither a password
// nor a hash of one travels. An error means that the server went away.
func accounts(ctx context.Context, t *target.Target) ([]snapshot.Account, source.Source, error) {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, 2*questionTime)
	defer cancel()
	src := source.Source{Name: source.Accounts, State: source.OK, Reads: 1}
	began := time.Now()
	list, err := readAccounts(ctx, t)
	src.Took = time.Since(began).Seconds() * 1000
	switch {
	case err == nil:
	case gone(outer, err):
		return nil, src, err
	case target.KindOf(err) == endpoint.Denied, errors.Is(err, errHidden):
		// No GRANT is given as a fix: the one that helps would let a monitoring account read all password hashes.
		src.State, src.Reads = source.Denied, 0
		src.Reason = "accounts without a password are not checked: the columns that show them hold the password " +
			"hashes of all accounts"
	default:
		src.State, src.Reason, src.Reads = source.Failed, err.Error(), 0
	}
	return list, src, nil
}

// errHidden is returned where the account may read the grant tables without the columns that passwords are in.
var errHidden = errors.New("the password columns of mysql.user are not readable")

func readAccounts(ctx context.Context, t *target.Target) ([]snapshot.Account, error) {
	conn, err := target.Limited(ctx, t, questionTime)
	if err != nil {
		return nil, err
	}
	defer func() { _ = target.Discard(conn) }()
	// Which columns the table has differs by version, and an account sees only those that it may read.
	_, rows, err := asked(ctx, conn, "accounts", "SHOW COLUMNS FROM mysql.user")
	if err != nil {
		return nil, err
	}
	var has []string
	for _, r := range rows {
		has = append(has, strings.ToLower(r[0]))
	}
	or := func(column, sql, otherwise string) string {
		if slices.Contains(has, column) {
			return sql
		}
		return otherwise
	}
	empty := []string{}
	for _, c := range []string{"authentication_string", "password"} {
		if slices.Contains(has, c) {
			empty = append(empty, "IFNULL("+c+", '') = ''")
		}
	}
	if len(empty) == 0 {
		return nil, errHidden
	}
	query := "SELECT user, host, " + or("plugin", "plugin", "''") + ", " + strings.Join(empty, " AND ") + ", " +
		or("account_locked", "account_locked", "'N'") +
		", " + or("ssl_type", "ssl_type", "''") + ", " + or("super_priv", "super_priv", "'N'") + " FROM mysql.user" +
		or("is_role", " WHERE is_role = 'N'", "") +
		" ORDER BY user, host LIMIT 1000"
	if _, rows, err = asked(ctx, conn, "accounts", query); err != nil {
		return nil, err
	}
	locked := map[string]bool{} // MariaDB keeps it elsewhere
	if t.Facts().Flavor.IsMariaDB() && slices.Contains(has, "is_role") {
		_, priv, err := asked(ctx, conn, "accounts", "SELECT user, host FROM mysql.global_priv WHERE "+
			"JSON_VALUE(priv, '$.account_locked') IN ('1', 'true') LIMIT 1000")
		if n, ok := target.ServerErrorNumber(err); err != nil && (!ok || n != 1146 && n != 1046 && n != 1305) {
			// older ones cannot lock, or know no JSON_VALUE
			return nil, err
		}
		for _, r := range priv {
			locked[r[0]+"\x00"+r[1]] = true
		}
	}
	var list []snapshot.Account
	for _, r := range rows[:min(len(rows), mostAccounts)] {
		list = append(list, snapshot.Account{
			User: r[0], Host: r[1], Plugin: null(r[2]), NoPassword: r[3] == "1" && withPassword(null(r[2])),
			Locked: r[4] == "Y" || locked[r[0]+"\x00"+r[1]],
			TLS:    null(r[5]) != "", Super: r[6] == "Y",
		})
	}
	return list, nil
}

// null takes back the word that texts puts for NULL.
func null(s string) string {
	if s == "NULL" {
		return ""
	}
	return s
}

// withPassword reports whether a plugin asks for a password that the server keeps: without one anybody gets in.
func withPassword(plugin string) bool {
	return slices.Contains([]string{
		"", "mysql_native_password", "mysql_old_password", "sha256_password",
		"caching_sha2_password", "ed25519", "parsec",
	}, plugin)
}
