package report_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/logdigest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/report"
)

// peerLog is a log of many kinds of statements, with the attributes of Percona Server's full verbosity.
func peerLog() string {
	var b strings.Builder
	n := 0
	add := func(user, host, db, sql string, sec float64, rows int, scan, innodb bool) {
		n++
		yes := map[bool]string{true: "Yes", false: "No"}
		fmt.Fprintf(&b, "# Time: 2026-05-04T10:%02d:%02d.%06dZ\n# User@Host: %s[%s] @ %s []  Id: %5d\n# Schema: %s  "+
			"Last_errno: 0  Killed: 0\n", n/60%60, n%60, n*7919%1000000, user, user, host, n%9+1, db)
		fmt.Fprintf(&b, "# Query_time: %.6f  Lock_time: %.6f  Rows_sent: %d  Rows_examined: %d  Rows_affected: %d\n# "+
			"Bytes_sent: %d\n", sec, sec/1000, rows%10, rows, rows%3, rows*17)
		fmt.Fprintf(&b, "# QC_Hit: No  Full_scan: %s  Full_join: No  Tmp_table: %s  Tmp_table_on_disk: No\n# "+
			"Filesort: No  Filesort_on_disk: No  Merge_passes: 0\n", yes[scan], yes[rows > 90])
		if innodb {
			fmt.Fprintf(&b, "#   InnoDB_IO_r_ops: %d  InnoDB_IO_r_bytes: %d  InnoDB_IO_r_wait: %.6f\n#   "+
				"InnoDB_rec_lock_wait: 0.000000  InnoDB_queue_wait: 0.000000\n#   InnoDB_pages_distinct: %d\n", rows%4,
				rows%4*16384, sec/3, rows%50+1)
		}
		fmt.Fprintf(&b, "SET timestamp=%d;\n%s;\n", 1777888800+n, sql)
	}
	for i := range 400 {
		s := float64(i*i%977+1) / 1e4
		add("shop", fmt.Sprintf("10.0.0.%d", i%6), "shop",
			fmt.Sprintf("SELECT a, b FROM orders JOIN customers USING (id) WHERE orders.id = %d AND name = 'n%d'", i,
				i), s, i%100, i%4 == 0, true)
		if i%2 == 0 {
			add("shop", "web1", "shop", fmt.Sprintf("UPDATE orders SET state = 'paid', n = %d WHERE id = %d", i, i),
				s/10, i%7, false, true)
		}
		if i%5 == 0 {
			add("batch", "batch-host-with-a-long-name", "archive",
				fmt.Sprintf("DELETE FROM shop.log WHERE day < %d LIMIT 10", i), s*3, i*1000, true, false)
		}
		if i%10 == 0 {
			add("batch", "batch-host-with-a-long-name", "archive", fmt.Sprintf("INSERT INTO log VALUES\n(%d, 'x')", i),
				s/100, 0, false, false)
		}
		if i%50 == 0 {
			add("root", "localhost", "shop", "COMMIT", s/1e3, 0, false, false)
		}
	}
	return b.String()
}

// TestDigestTextBesideThePeer sets the report beside that of the real pt-query-digest on the same log, line by line:
// only what docs/digest.md lists differs.
func TestDigestTextBesideThePeer(t *testing.T) {
	peer, err := exec.LookPath("pt-query-digest")
	if err != nil {
		t.Fatal("pt-query-digest is not installed: `build/setup test` does it")
	}
	log := peerLog()
	file := filepath.Join(t.TempDir(), "slow.log")
	if err := os.WriteFile(file, []byte(log), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(peer, "--limit", "100%", "--no-version-check", "slow.log")
	cmd.Dir = filepath.Dir(file)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	theirs, err := cmd.Output()
	if err != nil {
		t.Fatalf("pt-query-digest: %v", err)
	}

	p := slowlog.NewParser()
	p.Reset([]byte(log), 0, slowlog.State{})
	a := logdigest.New(logdigest.Config{})
	var e slowlog.Entry
	for p.Next(&e) {
		a.Add(p, &e, 0)
	}
	r := a.Report(digest.Options{Files: []digest.File{{Name: "slow.log"}}})
	ours := digestIn(t, "txt", &r, report.DigestOptions{})
	if dir := os.Getenv("DYNO_TEST_KEEP"); dir != "" { // to look at
		for name, s := range map[string]string{"ours.txt": ours, "theirs.txt": string(theirs)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}

	// What either has alone, see docs/digest.md: our remarks on when and where, and that no statement failed; their
	// resource usage.
	alone := regexp.MustCompile(
		`^# (Over time|             \d|Worst|Typical|Last errno   0$|   SELECT|   UPDATE|   DELETE|   INSERT|   \(\d|Current date|Hostname|\d+m?s user time)`)
	lines := func(s string) (out []string) {
		for _, l := range strings.Split(s, "\n") {
			if !alone.MatchString(l) {
				out = append(out, l)
			}
		}
		return out
	}
	x, y := lines(ours), lines(string(theirs))
	if len(x) != len(y) || len(y) < 200 {
		t.Errorf("%d lines, they have %d", len(x), len(y))
	}
	wrong := 0
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] && !alike(x[i], y[i]) {
			t.Errorf("line %d\nours:   %s\ntheirs: %s", i+1, x[i], y[i])
			if wrong++; wrong > 20 {
				t.Fatal("and so on")
			}
		}
	}
}

// decade begins a line of a distribution.
var decade = regexp.MustCompile(`^# +(1us|10us|100us|1ms|10ms|100ms|1s|10s\+)( |$)`)

// alike reports whether two lines differ only in what may. The peer estimates 95 %, stddev and median, and with them
// V/M and the bars of the distribution, from buckets 5 % wide: here only their form counts.
func alike(a, b string) bool {
	if m := decade.FindString(a); m != "" {
		n := decade.FindString(b)
		return strings.TrimSpace(m) == strings.TrimSpace(n) && strings.Trim(strings.TrimPrefix(a, m), " #") == ""
	}
	if strings.HasPrefix(a, "# Time range: ") { // of a time with T they do not shorten the second
		from, to, ok := strings.Cut(strings.ReplaceAll(strings.TrimPrefix(b, "# Time range: "), "T", " "), " to ")
		return ok && a == "# Time range: "+from+" to "+to[len("2006-01-02 "):]
	}
	if strings.HasPrefix(b, "# Rank") || strings.HasPrefix(b, "# ====") { // they cut the heads off at 74 columns
		return strings.HasPrefix(a, strings.TrimRight(b, " "))
	}
	if strings.HasPrefix(b, "select ") { // made of an UPDATE or DELETE
		return strings.Join(strings.Fields(strings.ToLower(a)), " ") == strings.Join(strings.Fields(strings.ToLower(b)),
			" ")
	}
	if at := " at byte "; strings.Contains(b, at) { // they count from the byte behind the first # of the entry
		head, ours, _ := strings.Cut(a, at)
		same, theirs, _ := strings.Cut(b, at)
		x, err1 := strconv.Atoi(ours)
		y, err2 := strconv.Atoi(theirs)
		return head == same && err1 == nil && err2 == nil && x+1 == y
	}
	f, g := fields.FindAllString(a, -1), fields.FindAllString(b, -1)
	if len(f) != len(g) {
		return false
	}
	for i := range f {
		if strings.TrimSpace(f[i]) == strings.TrimSpace(g[i]) && len(f[i]) == len(g[i]) {
			continue
		}
		estimated := len(f) >= 9 && i >= len(f)-3 || strings.HasPrefix(a, "# Scores") || i == 6
		if !estimated || len(f[i]) != len(g[i]) || number(strings.TrimSpace(f[i])) < 0 ||
			number(strings.TrimSpace(g[i])) < 0 {
			return false
		}
	}
	return true
}

// fields are words with the spaces before them, which keep the columns.
var fields = regexp.MustCompile(` *[^ ]+`)

// number reads an amount or a time of the report; -1 when it is none.
func number(s string) float64 {
	for suffix, k := range map[string]float64{
		"us": 1e-6, "ms": 1e-3, "s": 1, "k": 1 << 10,
		"M": 1 << 20, "G": 1 << 30, "": 1,
	} {
		if v, err := strconv.ParseFloat(strings.TrimSuffix(s, suffix), 64); err == nil && strings.HasSuffix(s, suffix) {
			return v * k
		}
	}
	return -1
}
