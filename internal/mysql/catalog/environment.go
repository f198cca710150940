package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// leftOut are global variables that are no conditions of an experiment, with the reason. A name that ends in "*" stands
// for all that begin so.
var leftOut = []struct{ name, why string }{
	{"hostname", "names the machine"},
	{"server_uuid", "names the server"},
	{"server_uid", "names the server"},
	{"server_id", "names the server"},
	{"report_*", "names the server to its primary, with a password"},
	{"wsrep_node_*", "names the server"},
	{"wsrep_cluster_address", "names servers, may hold a password"},
	{"wsrep_provider_options", "names files and may hold passwords"},
	{"wsrep_start_position", "a position"},
	{"pid_file", "where this run of the server is"},
	{"socket", "where this run of the server is"},
	{"port", "where this run of the server is"},
	{"extra_port", "where this run of the server is"},
	{"admin_port", "where this run of the server is"},
	{"admin_address", "where this run of the server is"},
	{"mysqlx_port", "where this run of the server is"},
	{"mysqlx_socket", "where this run of the server is"},
	{"mysqlx_bind_address", "where this run of the server is"},
	{"bind_address", "where this run of the server is"},
	{"datadir", "where its data are; what they lie on are facts of the storage"},
	{"tmpdir", "where its data are"},
	{"secure_file_priv", "where its files are"},
	{"slave_load_tmpdir", "where its data are"},
	{"replica_load_tmpdir", "where its data are"},
	{"basedir", "where the build is installed"},
	{"plugin_dir", "where the build is installed"},
	{"character_sets_dir", "where the build is installed"},
	{"lc_messages_dir", "where the build is installed"},
	{"log_error", "a file's name"},
	{"general_log_file", "a file's name"},
	{"slow_query_log_file", "a file's name"},
	{"log_slow_query_file", "a file's name"},
	{"log_bin_basename", "a file's name"},
	{"log_bin_index", "a file's name"},
	{"relay_log", "a file's name"},
	{"relay_log_basename", "a file's name"},
	{"relay_log_index", "a file's name"},
	{"relay_log_info_file", "a file's name"},
	{"gtid_binlog_pos", "counts"},
	{"gtid_binlog_state", "counts"},
	{"gtid_current_pos", "counts"},
	{"gtid_slave_pos", "counts"},
	{"gtid_executed", "counts"},
	{"gtid_owned", "counts"},
	{"gtid_purged", "counts"},
	{"gtid_seq_no", "counts"},
	{"last_gtid", "counts"},
	{"timestamp", "is the time"},
	{"insert_id", "counts"},
	{"last_insert_id", "counts"},
	{"identity", "counts"},
	{"error_count", "counts"},
	{"warning_count", "counts"},
	{"pseudo_*", "belongs to a session"},
	{"proxy_user", "belongs to a session"},
	{"external_user", "belongs to a session"},
	{"in_transaction", "belongs to a session"},
	{"rand_seed*", "belongs to a session"},
	{"innodb_*_now", "a command, not a setting"},
	{"rocksdb_*_now", "a command, not a setting"},
	{"version*", "a fact of the server"},
	{"innodb_version", "a fact of the server"},
	{"build_id", "a fact of the server"},
	{"license", "a fact of the server"},
	{"*ssl_key", "a key"},
	{"*private_key_path", "a key"},
}

// secret are words in the names of variables that may hold a password, a token or a key; such a variable is left out
// whatever it holds, but for those in harmless.
var (
	secret = []string{
		"password", "passwd", "pwd", "secret", "token", "credential", "filekey", "sst_auth",
		"bind_root", "keyring", "key_management",
	}
	harmless = []string{"caching_sha2_password_digest_rounds", "default_password_lifetime"}
	// statements hold SQL or name a file with it: only whether there is any is told, for it may name a password.
	statements = []string{"init_connect", "init_file", "init_slave", "init_replica"}
)

// Environment returns what a server is and how it is set, as texts by group and name that can be set against those of
// another:
//
//	server    the build: version, compiler, machine, libraries, engines, plugins that were added
//	variable every global variable that is a setting; names, places, counters and whatever may be a secret are left
//	out
//
// Paths below the data directory begin with DATADIR, those below the directory for temporary files with TMPDIR. What
// could not be read is in unknown, under "group.name" with the reason. It fails only when the server does not answer.
func Environment(
	ctx context.Context, q Querier,
) (facts map[string]map[string]string, unknown map[string]string, err error) {
	vars, err := Variables(ctx, q)
	if err != nil {
		return nil, nil, fmt.Errorf("read environment: %w", err)
	}
	server, settings := map[string]string{}, map[string]string{}
	unknown = map[string]string{}
	for name, v := range vars {
		if build(name) {
			if v != "" {
				server[name] = v
			}
			continue
		}
		if LeftOut(name) != "" {
			continue
		}
		settings[name] = neutral(name, v, vars)
	}
	if _, ok := server["version_ssl_library"]; !ok { // MySQL 8.0.30 and later
		if err := each(ctx, q, "SHOW GLOBAL STATUS LIKE 'Tls_library_version'", nil, func(r row) {
			server["version_ssl_library"] = r.text(1)
		}); err != nil {
			unknown["server.version_ssl_library"] = err.Error()
		} else if server["version_ssl_library"] == "" {
			delete(server, "version_ssl_library")
			unknown["server.version_ssl_library"] = "this server does not report it"
		}
	}
	if _, ok := server["version_malloc_library"]; !ok {
		unknown["server.version_malloc_library"] = "this server does not report it"
	}
	if err := list(ctx, q, server, "engines", "SELECT ENGINE FROM information_schema.ENGINES WHERE SUPPORT IN "+
		"('YES','DEFAULT')"); err != nil {
		unknown["server.engines"] = err.Error()
	}
	// Those built in follow from the version; those with a library somebody has added.
	if err := list(ctx, q, server, "plugins", "SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE "+
		"PLUGIN_STATUS = 'ACTIVE' AND PLUGIN_LIBRARY IS NOT NULL"); err != nil {
		unknown["server.plugins"] = err.Error()
	}
	// A table of MySQL 8.0 and later that not everybody may read.
	if err := list(ctx, q, server, "components", "SELECT component_urn FROM mysql.component"); err != nil {
		unknown["server.components"] = "this server has none or does not show them to this user"
	}
	return map[string]map[string]string{"server": server, "variable": settings}, unknown, nil
}

// LeftOut says why a global variable is not part of an environment; "" for one that is.
func LeftOut(name string) string {
	if slices.Contains(harmless, name) {
		return ""
	}
	for _, w := range secret {
		if strings.Contains(name, w) {
			return "may hold a secret"
		}
	}
	for _, l := range leftOut {
		head, tail, wild := strings.Cut(l.name, "*")
		if name == l.name || wild && strings.HasPrefix(name, head) && strings.HasSuffix(name, tail) &&
			len(name) >= len(head)+len(tail) {
			return l.why
		}
	}
	return ""
}

// build reports whether a variable describes the program.
func build(name string) bool {
	return strings.HasPrefix(name, "version") || name == "innodb_version" || name == "build_id" || name == "license"
}

// neutral takes from a value what only says where this server is.
func neutral(name, v string, vars map[string]string) string {
	if slices.Contains(statements, name) || strings.Contains(v, "://") && strings.Contains(v, "@") {
		if v == "" {
			return ""
		}
		return "(set)"
	}
	for _, d := range [][2]string{{"datadir", "DATADIR"}, {"tmpdir", "TMPDIR"}} {
		dir := strings.TrimRight(vars[d[0]], "/")
		if len(dir) < 2 {
			continue
		}
		if v == dir || strings.HasPrefix(v, dir+"/") {
			return strings.TrimRight(d[1]+v[len(dir):], "/")
		}
	}
	return v
}

// list takes the names that a query returns as one fact, in order.
func list(ctx context.Context, q Querier, facts map[string]string, name, query string) error {
	var all []string
	if err := each(ctx, q, query, nil, func(r row) { all = append(all, r.text(0)) }); err != nil {
		return err
	}
	if len(all) == 0 {
		all = []string{"none"}
	}
	slices.Sort(all)
	facts[name] = strings.Join(slices.Compact(all), " ")
	return nil
}
