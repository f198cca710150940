package sandbox

import (
	"cmp"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// logs are the files that a server writes while it starts, as far as it had come.
type logs struct {
	files []string
	from  []int64 // where this start begins in each
}

// consoleName is what the server writes before it has opened its log. The file is not in a
// directory of the server's.
const consoleName = "console"

// maxLog bounds how much of a log is read, from its end.
const maxLog = 1 << 20

// openLogs notes where the logs of a sandbox end before a start.
func openLogs(dir string) logs {
	l := logs{files: []string{filepath.Join(dir, "log", "error.log"), filepath.Join(dir, consoleName)}}
	for _, f := range l.files {
		_, size := readLog(f, math.MaxInt64)
		l.from = append(l.from, size)
	}
	return l
}

// readLog returns what a log has from a byte on, and its size.
func readLog(path string, from int64) (text string, size int64) {
	root, err := openOwned(filepath.Dir(path))
	if err != nil {
		return "", 0
	}
	defer root.Close()
	f, err := root.plain(filepath.Base(path), os.O_RDONLY)
	if err != nil {
		return "", 0
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || from >= fi.Size() {
		return "", fi.Size()
	}
	b, err := io.ReadAll(io.NewSectionReader(f, max(from, fi.Size()-maxLog), maxLog))
	if err != nil {
		return "", fi.Size()
	}
	return string(b), fi.Size()
}

// said returns what was written into a log since the start.
func (l logs) said(i int) string {
	text, size := readLog(l.files[i], l.from[i])
	if size < l.from[i] { // somebody began it anew
		text, _ = readLog(l.files[i], 0)
	}
	return text
}

// changed returns what the server said about settings that are not in force as they were asked for: it starts all the
// same.
func (l logs) changed() []string {
	var notes []string
	for i := range l.files {
		for line := range strings.Lines(l.said(i)) {
			if changedLine.MatchString(line) {
				notes = append(notes, stamp.ReplaceAllString(strings.TrimSpace(line), ""))
			}
		}
	}
	return notes
}

// last returns what the server said went wrong since the start, in a few lines; "" when it said nothing.
func (l logs) last() string {
	other := ""
	for i := range l.files {
		said := l.said(i)
		if hasError(said) {
			return complaint(said)
		}
		other = cmp.Or(other, complaint(said)) // the best there is
	}
	return other
}

var (
	changedLine = lazyregexp.New(`adjusted to|wasn't recognized|unknown (variable|option)`)
	errorLine   = lazyregexp.New(`\[ERROR\]|\[Fatal\]|InnoDB: (Error:|than specified)| (FATAL|PANIC): |could not bind `)
	// stamp is what stands before the message: "2026-01-02T03:04:05.678901Z 0 [ERROR] [MY-000067] [Server] " of MySQL,
	// "2026-01-02 3:04:05 0 [ERROR] /usr/sbin/mariadbd: " of MariaDB, "260102 3:04:05 [ERROR] /x/mysqld: " of MySQL
	// 5.5, "2026-01-02 03:04:05.678 UTC [12] FATAL:  " of PostgreSQL.
	stamp = lazyregexp.New(`^\d{4}-\d\d-\d\d [\d:.]+ \S+ \[\d+\] [A-Z]+: +|` +
		`^(\d{4}-\d\d-\d\d[T ] ?[ \d]\d:\d\d:\d\d\S* +\d+|\d{6} [ \d]\d:\d\d:\d\d) (\[\w+\] (\[MY-\d+\] )?(\[\w+\] )?(\S*/\S+: )?)?`)
	// aftermath are complaints that follow from an earlier one, and those of PostgreSQL about a session alone.
	aftermath = lazyregexp.New(
		`Aborting\s*$|Plugin 'InnoDB' (registration|init function)|Failed to (initialize (builtin )?plugins|shutdown components)|` +
			`Data Dictionary initialization failed|data directory \S+ is unusable|Unknown/unsupported storage engine: InnoDB|` +
			`FATAL: +(the database system is |could not create any TCP/IP sockets|terminating |password authentication |` +
			`no pg_hba.conf entry |(role|database) ")`)
)

// isError reports whether a line of a log says what went wrong.
func isError(line string) bool { return errorLine.MatchString(line) && !aftermath.MatchString(line) }

func hasError(log string) bool {
	for line := range strings.Lines(log) {
		if isError(line) {
			return true
		}
	}
	return false
}

// complaint picks the errors out of a log, the last ones if there are many; without any, its last two lines.
func complaint(log string) string {
	var errs, all []string
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		all = append(all, stamp.ReplaceAllString(line, ""))
		if isError(line) {
			if msg := stamp.ReplaceAllString(line, ""); len(errs) == 0 || errs[len(errs)-1] != msg {
				errs = append(errs, msg)
			}
		}
	}
	if len(errs) == 0 {
		errs = all[max(0, len(all)-2):]
	}
	return strings.Join(errs[max(0, len(errs)-4):], "; ")
}

// LastError returns the last errors that a sandbox's server wrote to its logs since it was last started, in a few
// lines; "" when there is none.
func (y *Yard) LastError(name string) string {
	if CheckName(name) != nil {
		return ""
	}
	dir := sandboxDir(y.Home, name)
	r, _, err := load(dir)
	if err != nil {
		return ""
	}
	l := openLogs(dir)
	clear(l.from)
	copy(l.from, r.Logs)
	for i := range l.files {
		if said := l.said(i); hasError(said) {
			return complaint(said)
		}
	}
	return ""
}
