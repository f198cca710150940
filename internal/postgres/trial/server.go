package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/postgres/conn"
)

// server is a server of a trial: it implements family.TrialServer.
type server struct{ *conn.Target }

// within opens a session for changes, calls f with it and ends it.
func (s server) within(ctx context.Context, f func(c *pgx.Conn) error) error {
	c, err := s.ConnFor(ctx, conn.ForChanges)
	if err != nil {
		return err
	}
	defer s.End(c)
	return f(c)
}

// WriteOut implements family.TrialServer: a checkpoint writes all that has changed, and nothing has to be put back.
func (s server) WriteOut(ctx context.Context) (undo func() error, err error) {
	err = s.within(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, "CHECKPOINT")
		return s.Wrap("have its changed pages written by", err)
	})
	return func() error { return nil }, err
}

// leftOut are settings that are no conditions of an experiment: they name files and places of this server, or belong
// to Dyno's own session. A "*" at the end stands for any rest.
var leftOut = []string{
	"data_directory", "config_file", "hba_file", "ident_file", "external_pid_file", "unix_socket_*", "port",
	"listen_addresses", "cluster_name", "log_directory", "log_filename", "application_name", "client_encoding",
	"standard_conforming_strings", "server_version*", "is_superuser", "session_authorization", "transaction_*",
	"in_hot_standby", "ssl_*_file", "krb_server_keyfile", "seed", "role",
}

// hidden are settings that may hold a password or a name of a place: only whether they are set is reported.
var hidden = []string{
	"primary_conninfo", "primary_slot_name", "ssl_passphrase_command", "archive_command", "archive_cleanup_command",
	"restore_command", "recovery_end_command", "dynamic_library_path",
}

func isLeftOut(name string) bool {
	return slices.ContainsFunc(leftOut, func(p string) bool {
		head, wild := strings.CutSuffix(p, "*")
		return name == p || wild && strings.HasPrefix(name, head) || strings.Contains(p, "_*_") &&
			strings.HasPrefix(name, "ssl_") && strings.HasSuffix(name, "_file")
	})
}

// Environment implements family.TrialReadings: the settings of the server as SHOW has them, with their units.
func (s server) Environment(ctx context.Context) (facts map[string]map[string]string, unknown map[string]string,
	err error,
) {
	c, err := s.ConnFor(ctx, conn.ForLoad) // whose sessions have no settings of Dyno's own
	if err != nil {
		return nil, nil, err
	}
	defer s.End(c)
	about, settings := map[string]string{"version": s.Facts().Version, "build": s.Facts().Raw}, map[string]string{}
	read := func(query string, f func(name, value string)) error {
		rows, err := c.Query(ctx, query)
		if err != nil {
			return s.Wrap("read the environment of", err)
		}
		var name, value string
		_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error { f(name, value); return nil })
		return s.Wrap("read the environment of", err)
	}
	dir := s.Facts().Datadir
	err = read("SELECT lower(name), coalesce(current_setting(name, true), '') FROM pg_catalog.pg_settings",
		func(name, value string) {
			switch {
			case isLeftOut(name):
			case slices.Contains(hidden, name) && value != "":
				settings[name] = "(set)"
			case dir != "" && strings.HasPrefix(value, dir+"/"):
				settings[name] = "DATADIR" + value[len(dir):]
			default:
				settings[name] = value
			}
		})
	if err != nil {
		return nil, nil, err
	}
	var extensions []string
	unknown = map[string]string{}
	if err := read("SELECT extname::text, extversion FROM pg_catalog.pg_extension ORDER BY extname",
		func(name, version string) { extensions = append(extensions, name+" "+version) }); err != nil {
		unknown["server.extensions"] = err.Error()
	} else {
		about["extensions"] = strings.Join(extensions, ", ")
	}
	return map[string]map[string]string{"server": about, "variable": settings}, unknown, nil
}

// Written implements family.TrialReadings:
//
//	data  pages that went to the files of tables and indexes, whoever wrote them, new ones at their ends among
//	      them: pg_stat_io, before 16 pg_stat_bgwriter. A session adds its own within a second of its
//	      transaction's end.
//	redo  bytes of WAL, padding included: the position where the next record goes
//
// https://www.postgresql.org/docs/current/monitoring-stats.html
func (s server) Written(ctx context.Context) (map[string]uint64, error) {
	data := "(SELECT sum((coalesce(writes, 0) + coalesce(extends, 0)) * op_bytes) FROM pg_stat_io " +
		"WHERE object = 'relation')"
	switch f := s.Facts(); {
	case f.AtLeast(18):
		data = "(SELECT sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)) FROM pg_stat_io " +
			"WHERE object = 'relation')"
	case !f.AtLeast(16):
		data = "(SELECT (buffers_checkpoint + buffers_clean + buffers_backend) * " +
			"current_setting('block_size')::bigint FROM pg_stat_bgwriter)"
	}
	out := map[string]uint64{}
	err := s.within(ctx, func(c *pgx.Conn) error {
		var pages, wal int64
		err := c.QueryRow(ctx, "SELECT coalesce("+data+", 0)::bigint, "+
			"pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&pages, &wal)
		if err != nil {
			return fmt.Errorf("read bytes written: %w", s.Wrap("read", err))
		}
		out["data"], out["redo"] = uint64(pages), uint64(wal)
		return nil
	})
	return out, err
}
