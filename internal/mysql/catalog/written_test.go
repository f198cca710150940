package catalog

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestBytesWritten(t *testing.T) {
	const rows, width = 8192, 1000
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			logBin := "log-bin=binlog"
			s := servers.Start(t, flavor, logBin, "server-id=1", "binlog-format=ROW", "innodb-doublewrite=ON")
			db := s.DB(t, "")
			read := func() map[string]Layer {
				t.Helper()
				m, err := BytesWritten(t.Context(), db)
				if err != nil {
					t.Fatal(err)
				}
				for _, layer := range []string{"data", "doublewrite", "redo", "binlog"} {
					if !m[layer].Bytes.OK() || m[layer].How == "" {
						t.Fatalf("%s: %+v", layer, m[layer])
					}
				}
				return m
			}
			files := func() (sum uint64) {
				t.Helper()
				rows, err := db.Query("SHOW BINARY LOGS")
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				cols, _ := rows.Columns()
				for rows.Next() {
					var name, other string
					var size uint64
					dest := []any{&name, &size, &other}
					if err := rows.Scan(dest[:len(cols)]...); err != nil {
						t.Fatal(err)
					}
					sum += size
				}
				if err := rows.Err(); err != nil {
					t.Fatal(err)
				}
				return sum
			}
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(2000) "+
				"CHARACTER SET latin1)")
			before, filesBefore := read(), files()
			s.Exec(t, fmt.Sprintf("INSERT INTO d.t (b) VALUES (REPEAT('x', %d))", width))
			for n := 1; n < rows; n *= 2 {
				s.Exec(t, "INSERT INTO d.t (b) SELECT b FROM d.t")
			}
			s.Exec(t, "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0", "SET GLOBAL innodb_max_dirty_pages_pct = 0")
			least := uint64(rows * width)
			var after map[string]Layer
			for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
				after = read()
				done := after["data"].Bytes.Or(0)-before["data"].Bytes.Or(0) >= least
				// MySQL sends each page through the doublewrite buffer; MariaDB leaves out pages that are new.
				if done && (flavor == "mariadb" ||
					after["doublewrite"].Bytes.Or(0)-before["doublewrite"].Bytes.Or(0) >= least) {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("%d bytes were inserted; before %+v, after %+v", least, before, after)
				}
			}
			for layer, most := range map[string]uint64{"data": 6, "redo": 6, "binlog": 2} {
				// of what was inserted; more would be another unit
				d := after[layer].Bytes.Or(0) - before[layer].Bytes.Or(0)
				if d < least || d > most*least {
					t.Errorf("%s: %d bytes for %d inserted (%s)", layer, d, least, after[layer].How)
				}
			}
			if d := after["doublewrite"].Bytes.Or(0) - before["doublewrite"].Bytes.Or(0); d > 6*least {
				t.Errorf("doublewrite: %d bytes for %d inserted", d, least)
			}
			grown := files() - filesBefore
			if d := after["binlog"].Bytes.Or(0) - before["binlog"].Bytes.Or(0); d < grown*99/100 || d > grown*101/100 {
				t.Errorf("binlog: %d bytes by %s, its files grew by %d", d, after["binlog"].How, grown)
			}
		})
	}
}

// as connects as a user without a password.
func as(t *testing.T, s *servers.Server, user string) *sql.DB {
	t.Helper()
	spec, err := endpoint.ParseURL(s.URL(user))
	if err != nil {
		t.Fatal(err)
	}
	x, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x.DB()
}

func TestBytesWrittenWithoutLogs(t *testing.T) {
	for flavor, settings := range map[string][]string{
		"mariadb": {"skip-log-bin", "innodb-doublewrite=OFF"},
		"mysql":   {"skip-log-bin", "innodb-doublewrite=OFF", "performance-schema=OFF"},
	} {
		m, err := BytesWritten(t.Context(), servers.Start(t, flavor, settings...).DB(t, ""))
		if err != nil {
			t.Fatal(err)
		}
		for _, layer := range []string{"binlog", "doublewrite"} {
			if n, ok := m[layer].Bytes.Get(); !ok || n != 0 {
				t.Errorf("%s %s: %+v", flavor, layer, m[layer])
			}
		}
	}
	s := servers.Start(t, "mysql", "log-bin=binlog", "performance-schema=OFF")
	m, err := BytesWritten(t.Context(), s.DB(t, ""))
	if n, ok := m["binlog"].Bytes.Get(); err != nil || !ok || n == 0 {
		t.Errorf("without performance_schema: %+v (%v)", m["binlog"], err)
	}
	s.Exec(t, "CREATE USER nobody")
	if m, err = BytesWritten(t.Context(), as(t, s, "nobody")); err != nil || m["binlog"].Bytes.OK() ||
		m["binlog"].How == "" {
		t.Errorf("as a user without privileges: %+v (%v)", m["binlog"], err)
	}
}
