//go:build bench

package bench

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// digestLog is a log to digest: in the words of Percona Server with full verbosity, some 670 bytes an entry, or with
// what every MySQL has written since 5.7, some 260.
type digestLog struct {
	name    string
	full    bool
	classes int
	path    string
	bytes   int64
	entries uint64
}

// write makes the log, of the given size or a little more. The same seed gives the same log.
func (l *digestLog) write(t *testing.T, size int64) {
	t.Helper()
	file, err := os.Create(l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	r := rand.New(rand.NewPCG(uint64(l.classes), 7))
	fmt.Fprint(w, "/usr/sbin/mysqld, Version: 8.0.33-25 (Percona Server). started with:\nTcp port: 3306  Unix "+
		"socket: /tmp/mysql.sock\nTime                 Id Command    Argument\n")
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var b []byte
	for l.bytes < size {
		at = at.Add(time.Duration(1+r.IntN(2000)) * time.Microsecond)
		b = l.entry(b[:0], r, at, r.IntN(l.classes))
		l.bytes += int64(len(b))
		l.entries++
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	fi, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	l.bytes = fi.Size()
}

var yesNo = []string{"No", "Yes"}

func (l *digestLog) entry(b []byte, r *rand.Rand, at time.Time, class int) []byte {
	seconds := 0.0001 * float64(1+class%17) / (1e-3 + r.Float64()) // a long tail
	flag := func() string { return yesNo[r.IntN(8)/7] }
	user, host, rows := class%5, r.IntN(20), r.IntN(1000)
	b = fmt.Appendf(b, "# Time: %s\n# User@Host: app%d[app%d] @ web-%d []  Id: %d\n",
		at.Format("2006-01-02T15:04:05.000000Z"), user, user, host, 100+r.IntN(100))
	b = fmt.Appendf(b, "# Query_time: %.6f  Lock_time: %.6f  Rows_sent: %d  Rows_examined: %d", seconds,
		seconds/10, rows, rows*3)
	if l.full {
		b = fmt.Appendf(b, "  Rows_affected: %d\n# Bytes_sent: %d  Tmp_tables: %d  Tmp_disk_tables: 0  "+
			"Tmp_table_sizes: %d\n", rows%3, rows*97, rows%2, rows%2*16384)
		b = fmt.Appendf(b, "# QC_Hit: No  Full_scan: %s  Full_join: %s  Tmp_table: %s  Tmp_table_on_disk: No\n# "+
			"Filesort: %s  Filesort_on_disk: No  Merge_passes: 0\n", flag(), flag(), flag(), flag())
		b = fmt.Appendf(b, "#   InnoDB_IO_r_ops: %d  InnoDB_IO_r_bytes: %d  InnoDB_IO_r_wait: %.6f\n#   "+
			"InnoDB_rec_lock_wait: 0.000000  InnoDB_queue_wait: 0.000000\n#   InnoDB_pages_distinct: %d",
			rows%7, rows%7*16384, seconds/5, rows/4)
	}
	b = fmt.Appendf(b, "\nSET timestamp=%d;\n", at.Unix())
	table, column := letters(class/4), letters(class%11)
	switch n := r.IntN(1_000_000); class % 4 {
	case 0:
		b = fmt.Appendf(b, "SELECT id, name_%s, price FROM tab_%s WHERE id = %d AND name = 'n%d'", column, table, n, n)
	case 1:
		b = fmt.Appendf(b, "INSERT INTO tab_%s (id, name_%s, price) VALUES (%d, 'name of %d', %d.50)",
			table, column, n, n, n%100)
	case 2:
		b = fmt.Appendf(b, "UPDATE tab_%s SET price = %d.25, name_%s = 'it\\'s %d' WHERE id = %d",
			table, n%100, column, n, n)
	case 3:
		b = fmt.Appendf(b, "SELECT COUNT(*) FROM tab_%s WHERE name_%s IN ('a%d', 'b', 'c') AND id IN (%d, 2, 3) "+
			"LIMIT 10", table, column, n, n)
	}
	return append(b, ";\n"...)
}

// letters writes a number in letters, for digits within names are one to a fingerprint.
func letters(n int) string {
	const of = "acdefghijklmnopqrstuvw" // no b and no x: they vanish before a digit
	var b strings.Builder
	for {
		b.WriteByte(of[n%len(of)])
		if n /= len(of); n == 0 {
			return b.String()
		}
	}
}

func TestDigestLog(t *testing.T) {
	f := func(full bool, least, most float64) {
		t.Helper()
		l := digestLog{full: full, classes: 50, path: t.TempDir() + "/log"}
		l.write(t, 1<<20)
		if per := float64(l.bytes) / float64(l.entries); per < least || per > most {
			t.Errorf("full %v: %.0f bytes an entry", full, per)
		}
	}
	f(true, 580, 720)
	f(false, 240, 290)
	seen := map[string]bool{}
	for n := range 30_000 {
		seen[letters(n)] = true
	}
	if len(seen) != 30_000 {
		t.Errorf("%d words of 30000 numbers", len(seen))
	}
}
