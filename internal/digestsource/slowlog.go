package digestsource

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"dyno/internal/class"
	"dyno/internal/hist"
	"dyno/internal/known"
	"dyno/internal/sqltext"
)

// maxLog bounds how much of a slow log one window reads, bytes; the newest part is read.
const maxLog = 256 << 20

// slowLog follows a slow log on this machine: it reads what was written within the window and no more.
type slowLog struct {
	path   string
	whole  bool // everything is logged: long_query_time=0, no sampling, no limit on rows
	offset int64
	inode  uint64
}

// mark remembers where the log ends now.
func (l *slowLog) mark() error {
	f, err := os.Open(l.path) // also shows that it can be read
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	l.offset, l.inode = st.Size(), inode(st)
	return nil
}

func inode(st os.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}

// since parses what was written after mark.
func (l *slowLog) since(own map[string]bool) (classes []class.Class, note string, err error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	from := l.offset
	if inode(st) != l.inode || st.Size() < from {
		from, note = 0, "the log was rotated during the window: what went to the old file is not counted"
	}
	if st.Size()-from > maxLog {
		note = fmt.Sprintf("the log grew by %d MB: only the newest %d MB were read", (st.Size()-from)>>20, maxLog>>20)
		from = st.Size() - maxLog
	}
	schema := schemaBefore(f, from)
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, note, err
	}
	g := newGrouping(own)
	if err := parseSlowLog(io.LimitReader(f, st.Size()-from), schema, g.add); err != nil {
		return nil, note, err
	}
	if g.dropped > 0 {
		note = strings.TrimPrefix(note+"; "+fmt.Sprintf("%d statements beyond %d classes were left out", g.dropped, maxClasses), "; ")
	}
	return g.list(), note, nil
}

// schemaBefore returns the default database at a place in the log. The server writes "use db;" only when it differs from the entry
// before, so the last one before the place holds; it is looked for in the megabyte before.
func schemaBefore(f io.ReaderAt, at int64) string {
	buf := make([]byte, min(at, 1<<20))
	n, _ := f.ReadAt(buf, at-int64(len(buf))) // what cannot be read holds no schema
	buf = buf[:n]
	for len(buf) > 0 {
		i := bytes.LastIndex(buf, []byte("\nuse "))
		if i < 0 {
			return ""
		}
		line, _, _ := bytes.Cut(buf[i+1:], []byte("\n"))
		// The line before is of the entry's head, else this is a line of a statement.
		head := buf[bytes.LastIndexByte(buf[:i], '\n')+1 : i]
		if bytes.HasPrefix(head, []byte("# ")) && bytes.HasSuffix(bytes.TrimRight(line, "\r"), []byte(";")) {
			return used(line)
		}
		buf = buf[:i]
	}
	return ""
}

// used reads "use `db`;".
func used(line []byte) string { return strings.Trim(string(bytes.TrimSpace(line[4:])), "`; \r") }

// entry is one statement of a slow log. Figures the server did not write are unknown.
type entry struct {
	at                 time.Time
	user, host, schema string
	sec                float64
	lock               known.Value[float64]
	sent, examined     known.Value[uint64]
	affected           known.Value[uint64]
	fullScan, fullJoin known.Value[uint64] // 0 or 1
	tmp, tmpDisk       known.Value[uint64]
	sql                string
}

// parseSlowLog reads the form that MySQL and MariaDB share (manuals: "The Slow Query Log", "Slow Query Log Overview"): comment lines
// with figures, then use and SET timestamp when they apply, then the statement over as many lines as it has. Other lines, such
// as those that a server writes when it opens the log, are passed over. schema is the default database where r begins. A statement that never got its figures is left out.
func parseSlowLog(r io.Reader, schema string, add func(entry)) error {
	br := bufio.NewReaderSize(r, 256<<10)
	var e entry
	var sql strings.Builder
	figures, head := false, false // within an entry; its comment lines are not over
	var when time.Time
	flush := func() {
		e.sql = strings.TrimSuffix(strings.TrimRight(sql.String(), " \r\n"), ";")
		if figures && e.sql != "" {
			if e.schema == "" {
				e.schema = schema
			}
			if e.at.IsZero() {
				e.at = when
			}
			add(e)
		}
		e, figures, head = entry{}, false, false
		sql.Reset()
	}
	for {
		line, err := readLine(br)
		if len(line) == 0 && err != nil {
			flush()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		comment := bytes.HasPrefix(line, []byte("# ")) || bytes.Equal(bytes.TrimSpace(line), []byte("#"))
		starts := comment && (bytes.HasPrefix(line, []byte("# Time: ")) || bytes.HasPrefix(line, []byte("# User@Host: ")))
		switch {
		case starts && !head:
			flush()
			head = true
			fallthrough
		case comment && head:
			s := string(bytes.TrimSpace(line[1:]))
			switch {
			case strings.HasPrefix(s, "Time: "):
				when = logTime(strings.TrimSpace(s[6:]), when)
			case strings.HasPrefix(s, "User@Host: "):
				e.user, e.host = account(s[11:])
			case strings.HasPrefix(s, "administrator command: "):
				head = false
				sql.WriteString(s)
			default:
				figures = e.read(s) || figures
			}
		case !figures: // before the first entry
		case head && bytes.HasPrefix(bytes.ToLower(line[:min(len(line), 4)]), []byte("use ")) && bytes.HasSuffix(bytes.TrimRight(line, "\r\n"), []byte(";")):
			schema = used(line)
		case head && bytes.HasPrefix(line, []byte("SET timestamp=")):
			n, _, _ := strings.Cut(string(bytes.TrimSpace(line[len("SET timestamp="):])), ";")
			if f, err := strconv.ParseFloat(n, 64); err == nil {
				e.at = time.UnixMicro(int64(f * 1e6))
			}
			head = false
		default:
			if bytes.HasPrefix(line, []byte("# administrator command: ")) {
				line = line[2:]
			}
			head = false
			if sql.Len() < maxText {
				sql.Write(line[:min(len(line), maxText-sql.Len())])
			}
		}
	}
}

// readLine returns a line with its end, cut at maxText when it is longer. The bytes are valid until the next call.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	line = bytes.Clone(line[:min(len(line), maxText)])
	for errors.Is(err, bufio.ErrBufferFull) { // the rest of an overlong line
		_, err = r.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return line, err
}

// read takes "Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1 …" apart and reports whether it held the query's time.
func (e *entry) read(s string) (timed bool) {
	words := strings.Fields(s)
	for i := 0; i+1 < len(words); i++ {
		key, ok := strings.CutSuffix(words[i], ":")
		if !ok {
			continue
		}
		v := words[i+1]
		if strings.HasSuffix(v, ":") { // "Schema:  QC_hit: No": no value
			continue
		}
		n, nErr := strconv.ParseUint(v, 10, 64)
		f, fErr := strconv.ParseFloat(v, 64)
		count := func(dst *known.Value[uint64]) {
			if nErr == nil {
				*dst = known.Of(n)
			}
		}
		flag := func(dst *known.Value[uint64]) {
			switch v {
			case "Yes":
				*dst = known.Of(uint64(1))
			case "No":
				*dst = known.Of(uint64(0))
			}
		}
		switch key {
		case "Query_time":
			if fErr == nil && f >= 0 {
				e.sec, timed = f, true
			}
		case "Lock_time":
			if fErr == nil {
				e.lock = known.Of(f)
			}
		case "Rows_sent":
			count(&e.sent)
		case "Rows_examined":
			count(&e.examined)
		case "Rows_affected":
			count(&e.affected)
		case "Schema":
			e.schema = v
		case "Full_scan":
			flag(&e.fullScan)
		case "Full_join":
			flag(&e.fullJoin)
		case "Tmp_tables", "Created_tmp_tables":
			count(&e.tmp)
		case "Tmp_disk_tables", "Created_tmp_disk_tables":
			count(&e.tmpDisk)
		default:
			continue
		}
		i++
	}
	return timed
}

// account reads "root[root] @ localhost [127.0.0.1]  Id: 5".
func account(s string) (user, host string) {
	user, rest, _ := strings.Cut(s, "[")
	if _, at, ok := strings.Cut(rest, "@"); ok {
		name, addr, _ := strings.Cut(strings.TrimSpace(at), "[")
		host = strings.TrimSpace(name)
		if ip, _, _ := strings.Cut(addr, "]"); host == "" {
			host = ip
		}
	}
	return strings.TrimSpace(user), host
}

// logTime reads MySQL's 2026-11-21T07:33:34.123456Z; MariaDB's "261121  7:33:34" is in a zone it does not name and repeated by SET
// timestamp, so it is passed over.
func logTime(s string, before time.Time) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return before
	}
	return t
}

// grouping sums entries up by class.
type grouping struct {
	own     map[string]bool
	classes map[[2]string]*logged
	dropped int
}

type logged struct {
	class.Class
	times *hist.Histogram
}

func newGrouping(own map[string]bool) *grouping {
	return &grouping{own: own, classes: map[[2]string]*logged{}}
}

func (g *grouping) add(e entry) {
	if sqltext.Own(e.sql) {
		return
	}
	fp := sqltext.Fingerprint(e.sql)
	id := sqltext.ID(fp)
	if g.own[key(fp)] || setup(fp) {
		return
	}
	one := class.Class{
		ID: id, Fingerprint: fp, Schema: e.schema, Origin: class.SlowLog, Count: 1, TimeSec: e.sec, MaxSec: known.Of(e.sec), LockSec: e.lock,
		RowsSent: e.sent, Examined: e.examined, Affected: e.affected, FullScans: e.fullScan, FullJoins: e.fullJoin, TmpTables: e.tmp, TmpDisk: e.tmpDisk,
		FirstSeen: e.at, LastSeen: e.at, Example: e.sql,
	}
	k := [2]string{e.schema, id}
	c := g.classes[k]
	switch {
	case c != nil:
		slower := e.sec > c.MaxSec.Or(0)
		merge(&c.Class, one)
		if slower { // the slowest is the one worth explaining
			c.Example = e.sql
		}
	case len(g.classes) >= maxClasses:
		g.dropped++
		return
	default:
		c = &logged{one, hist.New()}
		g.classes[k] = c
	}
	c.Users, c.Hosts = include(c.Users, e.user), include(c.Hosts, e.host)
	c.times.Record(time.Duration(e.sec * float64(time.Second)))
}

func (g *grouping) list() (out []class.Class) {
	for _, c := range g.classes {
		c.P95Sec = known.Of(c.times.Quantile(0.95).Seconds())
		out = append(out, c.Class)
	}
	return out
}
