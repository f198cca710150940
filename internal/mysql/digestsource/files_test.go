package digestsource

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/logdigest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/progress"
)

// written is a log that a test wrote, with what it holds.
type written struct {
	bytes.Buffer
	entries uint64
	nanos   int64 // sum of Query_time
}

// at is when the logs of tests begin.
var at = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// entry writes an entry as MySQL 8 does. db is named only when it changes.
func (w *written) entry(t time.Time, micros int64, db, sql string) {
	fmt.Fprintf(w, "# Time: %s\n# User@Host: app[app] @ web%d [10.0.0.1]  Id: %5d\n",
		t.Format("2006-01-02T15:04:05.000000Z"), w.entries%3, w.entries%7)
	fmt.Fprintf(w, "# Query_time: %d.%06d  Lock_time: 0.000002 Rows_sent: %d  Rows_examined: %d\n", micros/1e6,
		micros%1e6, w.entries%11, w.entries%1001)
	if db != "" {
		fmt.Fprintf(w, "use %s;\n", db)
	}
	fmt.Fprintf(w, "SET timestamp=%d;\n%s;\n", t.Unix(), sql)
	w.entries++
	w.nanos += micros * 1000
}

// full writes an entry as MariaDB does with log_slow_verbosity=full.
func (w *written) full(t time.Time, micros int64, db, sql string) {
	fmt.Fprintf(w, "# Time: %s\n# User@Host: root[root] @ localhost []\n", t.Format("060102 15:04:05"))
	fmt.Fprintf(w, "# Thread_id: %d  Schema: %s  QC_hit: No\n", w.entries%5, db)
	fmt.Fprintf(w, "# Query_time: %d.%06d  Lock_time: 0.000010  Rows_sent: 1  Rows_examined: %d\n", micros/1e6,
		micros%1e6, w.entries%77)
	fmt.Fprintf(w, "# Rows_affected: 0  Bytes_sent: %d\n# Full_scan: Yes  Full_join: No  Tmp_table: No  "+
		"Tmp_table_on_disk: No\n# Filesort: No  Filesort_on_disk: No  Merge_passes: 0  Priority_queue: No\n",
		60+w.entries%9)
	fmt.Fprintf(w, "SET timestamp=%d;\n%s;\n", t.Unix(), sql)
	w.entries++
	w.nanos += micros * 1000
}

const banner = "/usr/sbin/mysqld, Version: 8.0.33 (MySQL Community Server - GPL). started with:\nTcp port: 3306  " +
	"Unix socket: /var/run/mysqld/mysqld.sock\nTime                 Id Command    Argument\n"

// random writes a log of n entries that holds what makes reading in pieces hard: seldom named databases, long and
// many-lined statements, lines that look like headers, administrator commands, damage.
func (w *written) random(rng *rand.Rand, n int, from time.Time) {
	w.WriteString(banner)
	statements := []string{
		"SELECT * FROM orders WHERE id = %d", "UPDATE stock SET n = n - 1 WHERE item = %d",
		"INSERT INTO log VALUES (%d, 'it''s; fine')",
		"SELECT a,\n  b\nFROM t\nWHERE c = %d", "SELECT 'x;\n# not a header' , %d", "CALL settle(%d)",
	}
	now := from
	for i := range n {
		now = now.Add(time.Duration(rng.IntN(3000)) * time.Millisecond)
		sql := fmt.Sprintf(statements[rng.IntN(len(statements))], rng.IntN(1e6))
		micros := int64(1 + rng.IntN(5e6))
		switch k := rng.IntN(60); {
		case k == 0:
			sql = "INSERT INTO big VALUES ('" + strings.Repeat("long text ", 500+rng.IntN(2000)) + "')"
			fallthrough
		case k < 30:
			db := ""
			if i == 0 || rng.IntN(40) == 0 {
				db = []string{"shop", "crm", "`odd name`"}[rng.IntN(3)]
			}
			w.entry(now, micros, db, sql)
		case k < 58:
			w.full(now, micros, "shop", sql)
		case k == 58:
			w.WriteString(banner)
		default:
			w.WriteString("# Time: 2026-11-21T10:00:00.000000Z\n# User@Host: torn[torn] @ x []\n# Query_ti\n")
		}
	}
}

func digested(t testing.TB, o LogOptions) (digest.Report, Result) {
	t.Helper()
	a, r, err := Files(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return a.Report(digest.Options{Files: r.Files, Source: r.Source, Notes: r.Notes}), r
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// same fails with the first lines that differ.
func same(t testing.TB, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s: line %d differs:\n got %s\nwant %s", what, i, strings.Join(g[max(0, i-3):min(i+3, len(g))],
				"\n     "), strings.Join(w[max(0, i-3):min(i+3, len(w))], "\n     "))
		}
	}
	t.Fatalf("%s: %d lines, want %d", what, len(g), len(w))
}

func write(t testing.TB, dir, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesDoNotDependOnPieces(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(4) {
		var w written
		w.random(rand.New(rand.NewPCG(seed, 1)), 1500, at)
		path := write(t, dir, fmt.Sprint(seed), w.Bytes())
		one, _ := digested(t, LogOptions{Paths: []string{path}, Workers: 1, PieceSize: 64 << 20})
		if one.Global.Count < w.entries*9/10 || one.Global.Skipped == 0 {
			t.Fatalf("seed %d: %d of %d entries, %d skipped: the log does not test what it should", seed,
				one.Global.Count, w.entries, one.Global.Skipped)
		}
		want := asJSON(t, one)
		for _, size := range []int{300, 1000, 4 << 10, 30_000, 1 << 20} {
			for _, workers := range []int{1, 2, 5} {
				got, _ := digested(t, LogOptions{Paths: []string{path}, Workers: workers, PieceSize: size})
				same(t, fmt.Sprintf("seed %d, pieces of %d, %d workers", seed, size, workers), asJSON(t, got), want)
			}
		}
	}
}

// TestFilesShareWhenCrowded has the workers give up their own Aggregators in the middle.
func TestFilesShareWhenCrowded(t *testing.T) {
	var w written
	w.random(rand.New(rand.NewPCG(8, 8)), 4000, at)
	path := write(t, t.TempDir(), "log", w.Bytes())
	want, _ := digested(t, LogOptions{Paths: []string{path}, Workers: 1})
	stop := make(chan struct{})
	defer close(stop)
	go func() { // what is in use shows after a collection
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	for _, crowd := range []uint64{1, 1 << 19, 1 << 20} {
		got, _ := digested(t, LogOptions{Paths: []string{path}, Workers: 4, PieceSize: 3000, crowd: crowd})
		same(t, fmt.Sprintf("crowded from %d bytes on", crowd), asJSON(t, got), asJSON(t, want))
	}
}

func TestFilesCount(t *testing.T) {
	var w written
	for i := range 5000 {
		w.entry(at.Add(time.Duration(i)*time.Second), int64(i), "", fmt.Sprintf("SELECT %d FROM t%d", i, i%3))
	}
	r, res := digested(t, LogOptions{Paths: []string{write(t, t.TempDir(), "slow.log", w.Bytes())}, PieceSize: 10_000})
	if r.Global.Count != w.entries || r.Global.Classes != 1 || r.Global.Skipped != 0 { // t1, t2, t3 are t?
		t.Fatalf("%d statements in %d classes, %d skipped; want %d in 1, 0", r.Global.Count, r.Global.Classes,
			r.Global.Skipped, w.entries)
	}
	if got, want := r.Global.Attributes["query_time"].Sum, float64(w.nanos)/1e9; got != want {
		t.Fatalf("query_time %v, want %v", got, want)
	}
	if f := res.Files[0]; f.Entries != w.entries || f.Bytes != int64(w.Len()) ||
		res.Source != "slow_log" || res.Failed != 0 {
		t.Fatalf("%+v, want %d entries of %d bytes", res, w.entries, w.Len())
	}
}

func gzipped(t testing.TB, parts ...[]byte) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		z := gzip.NewWriter(&b)
		if _, err := z.Write(p); err != nil {
			t.Fatal(err)
		}
		z.Close()
	}
	return b.Bytes()
}

func zstded(t testing.TB, parts ...[]byte) []byte {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for _, p := range parts {
		b = z.EncodeAll(p, b)
	}
	return b
}

func TestFilesCompressed(t *testing.T) {
	dir := t.TempDir()
	var w written
	w.random(rand.New(rand.NewPCG(7, 7)), 3000, at)
	plain := w.Bytes()
	half := len(plain) / 3
	want, _ := digested(t, LogOptions{Paths: []string{write(t, dir, "log", plain)}})
	want.Global.Files = nil
	f := func(b []byte, workers int) {
		t.Helper()
		path := write(t, dir, "log", b) // the same name: it tells nothing
		got, res := digested(t, LogOptions{Paths: []string{path}, Workers: workers, PieceSize: 50_000})
		if n := res.Files[0].Bytes; n != int64(len(b)) {
			t.Fatalf("%d bytes read, want %d", n, len(b))
		}
		got.Global.Files = nil
		same(t, "compressed", asJSON(t, got), asJSON(t, want))
		p, _, err := Files(t.Context(), LogOptions{
			Paths: []string{"-"}, Stdin: io.MultiReader(bytes.NewReader(b)),
			Workers: workers, PieceSize: 50_000,
		})
		if err != nil {
			t.Fatal(err)
		}
		got = p.Report(digest.Options{Files: []digest.File{{Name: path}}, Source: "slow_log"})
		got.Global.Files = nil
		same(t, "from stdin", asJSON(t, got), asJSON(t, want))
	}
	for _, workers := range []int{1, 3} {
		f(plain, workers)
		f(gzipped(t, plain), workers)
		f(gzipped(t, plain[:half], plain[half:]), workers)
		f(zstded(t, plain), workers)
		f(zstded(t, plain[:half], plain[half:]), workers)
		f(append([]byte("\x50\x2a\x4d\x18\x03\x00\x00\x00abc"), zstded(t, plain)...), workers) // a frame to be skipped
	}
}

func TestFilesInTimeOrder(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	var all written
	for i := range 4 {
		var w written
		for k := range 10 {
			w.entry(at.Add(time.Duration(i*100+k)*time.Second), 5, "db", fmt.Sprintf("SELECT %d", k))
		}
		all.Write(w.Bytes())
		b := w.Bytes()
		if i%2 == 0 {
			b = gzipped(t, b)
		}
		paths = append(paths, write(t, dir, fmt.Sprintf("slow.log.%d", 4-i), b))
	}
	slices.Reverse(paths)
	_, res := digested(t, LogOptions{Paths: paths})
	var got []string
	for _, f := range res.Files {
		got = append(got, filepath.Base(f.Name))
	}
	if want := "slow.log.4 slow.log.3 slow.log.2 slow.log.1"; strings.Join(got, " ") != want {
		t.Fatalf("read %v, want %s", got, want)
	}
	// What a shell's pattern gives twice is read once.
	r, res := digested(t, LogOptions{Paths: append(paths, paths[0])})
	if r.Global.Count != 40 || len(res.Notes) != 1 {
		t.Fatalf("%d statements, notes %q; want 40 and one", r.Global.Count, res.Notes)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	var w written
	for range 10 {
		w.entry(at, 5, "db", "SELECT 1")
	}
	good := write(t, dir, "good", w.Bytes())
	long := bytes.Repeat(w.Bytes(), 100)
	f := func(path string, count uint64, reasons ...string) {
		t.Helper()
		r, res := digested(t, LogOptions{Paths: []string{path, good}, Stdin: strings.NewReader("")})
		if r.Global.Count != 10+count || res.Failed != 1 || len(r.Skipped) == 0 {
			t.Fatalf("%s: %d statements, %d failed, skipped %+v", path, r.Global.Count, res.Failed, r.Skipped)
		}
		for _, s := range r.Skipped {
			for _, want := range reasons {
				if s.File == path && strings.Contains(s.Reason, want) {
					return
				}
			}
		}
		t.Fatalf("%s: skipped %+v, want %q", path, r.Skipped, reasons)
	}
	f(filepath.Join(dir, "none"), 0, "no such file")
	f(dir, 0, "is a directory")
	f(write(t, dir, "empty", nil), 0, "empty file")
	f(write(t, dir, "empty.gz", gzipped(t, nil)), 0, "empty file")
	f(write(t, dir, "binlog", []byte("\xfebin\x00\x01\x02\x03")), 0, "binary log")
	f(write(t, dir, "error.log",
		[]byte("2026-11-21T07:33:34.123456Z 0 [System] [MY-010116] [Server] mysqld starting\n")), 0, "error log")
	f(write(t, dir, "postgresql.log", []byte("2026-11-21 10:00:00 UTC [1] LOG:  duration: 1.0 ms\n")), 0, "PostgreSQL")
	f(write(t, dir, "x.xz", []byte("\xfd7zXZ\x00\x00")), 0, "xz -dc")
	f(write(t, dir, "x.bz2", []byte("BZh91AY")), 0, "bzip2 -dc")
	f(write(t, dir, "short.gz", []byte("\x1f\x8b\x08")), 0, "gzip")
	f(write(t, dir, "text", []byte("hello\n")), 0, "unknown format")
	z := gzipped(t, long)
	f(write(t, dir, "torn.gz", z[:len(z)-9]), 999, "cannot be read")
	z = zstded(t, long)
	f(write(t, dir, "torn.zst", append(z, "\x28\xb5\x2f\xfd\xff"...)), 999, "cannot be read")
	if os.Getuid() != 0 {
		p := write(t, dir, "secret", w.Bytes())
		os.Chmod(p, 0)
		f(p, 0, "permission")
	}
	_, _, err := Files(t.Context(), LogOptions{})
	if err == nil {
		t.Fatal("no path is no error")
	}
}

func TestFilesWithLeadingRest(t *testing.T) {
	rest := strings.Repeat("the end of a long statement\n", 40_000) + "WHERE x = 1;\n"
	var w written
	w.WriteString(rest)
	for range 10 {
		w.entry(at, 5, "db", "SELECT 1")
	}
	path := write(t, t.TempDir(), "log", w.Bytes())
	for _, size := range []int{1000, 1 << 20, 8 << 20} {
		r, _ := digested(t, LogOptions{Paths: []string{path}, PieceSize: size, Workers: 2})
		if r.Global.Count != 10 || len(r.Skipped) != 1 || r.Skipped[0].Offset != 0 ||
			r.Skipped[0].Length != int64(len(rest)) {
			t.Fatalf("pieces of %d: %d statements, skipped %+v; want 10 and %d bytes at 0", size,
				r.Global.Count, r.Skipped, len(rest))
		}
	}
}

func TestFilesProgress(t *testing.T) {
	var w written
	w.random(rand.New(rand.NewPCG(3, 3)), 500, at)
	dir := t.TempDir()
	a, b := write(t, dir, "a", w.Bytes()), write(t, dir, "b.gz", gzipped(t, w.Bytes()))
	var last progress.Progress
	_, res := digested(t, LogOptions{Paths: []string{a, b}, Workers: 2, Progress: func(p progress.Progress) {
		if p.Done < last.Done || p.Total != last.Total && last.Total != 0 {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	}})
	if want := float64(res.Files[0].Bytes + res.Files[1].Bytes); !last.End || last.Done != want || last.Total != want {
		t.Fatalf("ends with %+v, want %v bytes", last, want)
	}
}

// TestFilesEnd ends reading from a pipe that stays silent.
func TestFilesEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	r, w := io.Pipe()
	var l written
	l.entry(at, 5, "", "SELECT 1")
	go func() { w.Write(bytes.Repeat(l.Bytes(), 1000)) }()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, _, err := Files(ctx, LogOptions{Paths: []string{"-"}, Stdin: r, Workers: 2, PieceSize: 1000})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	w.Close() // what reads from the pipe ends with it
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left of %d", runtime.NumGoroutine(), before)
		}
	}
}

func TestFilesOwnStatementsAndFilter(t *testing.T) {
	var w written
	for i := range 100 {
		w.entry(at.Add(time.Duration(i)*time.Second), int64(i)*1e6, "", "SELECT 1")
	}
	path := write(t, t.TempDir(), "log", w.Bytes())
	c := logdigest.Config{Since: at.Add(10 * time.Second).UnixMicro(), Filter: func(_ *slowlog.Parser,
		e *slowlog.Entry,
	) bool {
		return e.Figures[0].Value < 20
	}}
	r, _ := digested(t, LogOptions{Paths: []string{path}, Config: c, Workers: 3, PieceSize: 1000})
	if r.Global.Count != 10 || r.Global.Filtered != 90 {
		t.Fatalf("%d statements, %d filtered; want 10 and 90", r.Global.Count, r.Global.Filtered)
	}
}

// general writes a log as MySQL 8 does with general_log.
func general(rng *rand.Rand, n int) ([]byte, uint64) {
	var b bytes.Buffer
	b.WriteString(banner)
	statements := uint64(0)
	for i := range n {
		id := 5 + rng.IntN(5)
		say := func(command, argument string) {
			fmt.Fprintf(&b, "%s\t%5d %s\t%s\n", at.Add(time.Duration(i)*time.Millisecond).
				Format("2006-01-02T15:04:05.000000Z"), id, command, argument)
			statements++
		}
		switch rng.IntN(30) {
		case 0:
			say("Connect", fmt.Sprintf("user%d@localhost on db%d using Socket", rng.IntN(3), rng.IntN(3)))
		case 1:
			say("Init DB", "other")
		case 2:
			say("Quit", "")
		default:
			say("Query", fmt.Sprintf("SELECT *\nFROM t%d\n\nWHERE id = %d", rng.IntN(4), i))
		}
	}
	return b.Bytes(), statements
}

func TestFilesGeneralLog(t *testing.T) {
	log, n := general(rand.New(rand.NewPCG(2, 2)), 3000)
	path := write(t, t.TempDir(), "general.log", log)
	one, res := digested(t, LogOptions{Paths: []string{path}, Workers: 1, PieceSize: 8 << 20})
	if one.Global.Count != n || one.Global.Skipped != 0 || res.Source != "general_log" {
		t.Fatalf("%d of %d statements, %d skipped, source %s", one.Global.Count, n, one.Global.Skipped, res.Source)
	}
	for _, size := range []int{200, 5000} {
		for _, workers := range []int{1, 4} {
			got, _ := digested(t, LogOptions{Paths: []string{path}, Workers: workers, PieceSize: size})
			same(t, fmt.Sprintf("pieces of %d, %d workers", size, workers), asJSON(t, got), asJSON(t, one))
		}
	}
	// With a statement that is too long in between, those around it are read.
	var b bytes.Buffer
	b.WriteString("2026-11-21T10:00:00.000000Z\t    5 Query\tSELECT 1\n2026-11-21T10:00:00.000000Z\t    5 " +
		"Query\tSELECT '" + strings.Repeat("x\n", 5000) + "'\n2026-11-21T10:00:00.000000Z\t    5 Query\tSELECT 2\n")
	p := newPieces(&b, linesOf(slowlog.GeneralLog), 256, 1024, &buffers{size: 256})
	var got string
	for {
		x, ok := p.next()
		if !ok {
			break
		}
		got += string(x.data)
	}
	if strings.Count(got, "SELECT") != 2 || len(p.skipped) != 1 {
		t.Fatalf("read %q, skipped %+v", got, p.skipped)
	}
}
