// Package deadlock reads what InnoDB writes about deadlocks that it resolved, and says of which kind each is.
package deadlock

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/state"
)

// Reader reads reports of deadlocks line by line: those of the status text, and those that
// innodb_print_all_deadlocks writes into the error log. MySQL 8 leaves the headings out of its log
// while log_error_verbosity is below 3; a report then ends when each of its transactions waits for
// a lock that another one of them holds.
type Reader struct {
	done   []Report
	now    *Report
	part   int  // "*** (1) TRANSACTION:": the number of the next transaction; 0 is none
	inSQL  bool // the lines are of a statement
	sql    []string
	last   *heldLock // the lock whose record is printed
	clock  time.Time // of the log line before
	titled bool      // the report has headings
}

// Report is a deadlock as it is read.
type Report struct {
	At      time.Time // as the log has it; the zero time in a status text
	parties []party
	locks   []heldLock
	victim  int // number, 1 is the first; 0 is unknown
}

type party struct {
	lock.Party
	query string
}

// heldLock is a lock with whose it is and what it covers.
type heldLock struct {
	lock.Lock
	trx     string
	waiting bool
	where   string // space and page, or the table
	heaps   []string
}

// Bounds of what is read of a report: texts of clients stand in it.
const (
	MostParties = 16
	MostLocks   = 64
	mostHeaps   = 500
	mostFields  = 4  // columns of a record that are kept
	longField   = 64 // characters of each
)

// Line takes the next line, without its end.
func (x *Reader) Line(l string) {
	l = strings.TrimSuffix(l, "\r")
	if at, rest, ok := logLine(l); ok { // of the server, whatever came before
		x.endSQL()
		x.clock, l = at, rest
		if strings.HasPrefix(l, "Transactions deadlock detected") {
			x.finish()
			x.begin(true)
			return
		}
	}
	if strings.HasPrefix(l, "*** ") && x.heading(l) {
		return
	}
	switch {
	case !x.inSQL && strings.HasPrefix(l, "TRANSACTION "):
		x.transaction(l)
	case x.now == nil:
	case strings.HasPrefix(l, "RECORD LOCKS space id "), strings.HasPrefix(l, "TABLE LOCK table "):
		x.endSQL()
		x.lock(l)
	case x.inSQL:
		if len(x.sql) < 200 {
			x.sql = append(x.sql, l)
		}
	case strings.Contains(l, " thread id ") && strings.Contains(l, "query id ") && len(x.now.parties) > 0:
		x.thread(l)
	case x.last != nil:
		x.record(l)
	}
}

// heading reads a line that begins with "*** " and reports whether it is the server's.
func (x *Reader) heading(l string) bool {
	rest := l[4:]
	n := 0
	if strings.HasPrefix(rest, "(") {
		number, after, ok := strings.Cut(rest[1:], ") ")
		n, _ = strconv.Atoi(number)
		if !ok || n < 1 || n > MostParties {
			return false
		}
		rest = after
	}
	switch {
	case n > 0 && strings.HasPrefix(rest, "TRANSACTION:"):
		x.endSQL()
		if n == 1 && x.now != nil && len(x.now.parties) > 0 {
			x.finish()
		}
		if x.now == nil {
			x.begin(true)
		}
		x.part, x.titled = n, true
	case strings.HasPrefix(rest, "WAITING FOR THIS LOCK"), strings.HasPrefix(rest, "HOLDS THE LOCK"),
		strings.HasPrefix(rest, "CONFLICTING WITH"):
		x.endSQL()
	case strings.HasPrefix(rest, "WE ROLL BACK TRANSACTION ("):
		x.endSQL()
		number, _, _ := strings.Cut(rest[len("WE ROLL BACK TRANSACTION ("):], ")")
		if n, err := strconv.Atoi(number); err == nil && x.now != nil {
			x.now.victim = n
		}
		x.finish()
	default:
		return false
	}
	return true
}

func (x *Reader) begin(titled bool) {
	x.now, x.titled, x.last, x.part = &Report{At: x.clock}, titled, nil, 0
}

// transaction begins the next party: "TRANSACTION 24, ACTIVE 1 sec starting index read".
func (x *Reader) transaction(l string) {
	trx, rest, ok := strings.Cut(l[len("TRANSACTION "):], ",")
	if strings.HasPrefix(trx, "(0x") { // of MariaDB: it has changed nothing and has no number, its locks are of 0
		trx = "0"
	}
	if _, err := strconv.ParseUint(trx, 16, 64); !ok || err != nil || len(trx) > 20 {
		return
	}
	switch {
	case x.titled && x.now != nil && x.part == 0:
		return // a client's line, or a transaction of another section
	case x.now == nil:
		x.begin(false)
	case !x.titled && (x.now.closed() || len(x.now.parties) >= MostParties):
		x.finish()
		x.begin(false)
	case len(x.now.parties) >= MostParties:
		return
	}
	x.part, x.last = 0, nil
	p := party{Party: lock.Party{Transaction: trx}}
	if active, ok := strings.CutPrefix(strings.TrimSpace(rest), "ACTIVE "); ok {
		number, _, _ := strings.Cut(active, " sec")
		if sec, err := strconv.ParseUint(number, 10, 32); err == nil {
			p.Seconds = known.Of(float64(sec))
		}
	}
	x.now.parties = append(x.now.parties, p)
}

// thread reads "MySQL thread id 11, OS thread handle 1404, query id 17 db1 10.0.0.7 app updating".
func (x *Reader) thread(l string) {
	p := &x.now.parties[len(x.now.parties)-1]
	_, rest, _ := strings.Cut(l, " thread id ")
	number, _, _ := strings.Cut(rest, ",")
	p.Session, _ = strconv.ParseUint(number, 10, 64)
	_, rest, _ = strings.Cut(rest, "query id ")
	f := strings.Fields(rest)
	if len(f) > 0 {
		p.query = f[0]
		f = f[1:]
	}
	if len(f) > 1 {
		p.Host, f = f[0], f[1:]
		if _, err := netip.ParseAddr(f[0]); err == nil && len(f) > 1 { // the host's name stood before it
			f = f[1:]
		}
		p.User = state.Clip(f[0], 128)
		p.Host = state.Clip(p.Host, 256)
	}
	x.inSQL, x.sql = true, nil
}

// endSQL gives the statement that was read to its session.
func (x *Reader) endSQL() {
	if !x.inSQL {
		return
	}
	x.inSQL = false
	if x.now == nil || len(x.now.parties) == 0 {
		return
	}
	p := &x.now.parties[len(x.now.parties)-1]
	sql := strings.TrimSpace(strings.Join(x.sql, "\n"))
	p.SQL = state.Clip(sql, state.MaxText)
	if sql != "" && len(sql) <= state.MaxText && !mytext.CutOff(p.SQL) {
		p.Fingerprint = state.Clip(mytext.Fingerprint(p.SQL), state.MaxText)
		p.Class = class.ID(mytext.Fingerprint(p.SQL))
	}
	had := p.SQL
	p.SQL = mytext.WithoutSecrets(had)
	if p.SQL != had && len(mytext.Certain(had)) < len(had) { // where a string ends is not sure: it may hold a secret
		p.Fingerprint, p.Class = "", ""
	}
	x.sql = nil
}

// lock reads the line that describes a lock.
func (x *Reader) lock(l string) {
	x.last = nil
	if len(x.now.locks) >= MostLocks {
		return
	}
	h := heldLock{Lock: lock.Lock{Kind: string(state.RowLock)}}
	var rest string
	if after, ok := strings.CutPrefix(l, "TABLE LOCK table "); ok {
		h.Kind, rest = string(state.TableLock), after
	} else {
		space, after, ok := strings.Cut(strings.TrimPrefix(l, "RECORD LOCKS space id "), " n bits ")
		if !ok {
			return
		}
		h.where = space
		_, after, _ = strings.Cut(after, " index ")
		index, after, ok := strings.Cut(after, " of table ")
		if !ok {
			return
		}
		h.Index, rest = state.Clip(strings.Trim(strings.TrimSpace(index), "`"), 128), after
	}
	table, rest, ok := strings.Cut(rest, " trx id ")
	if !ok {
		return
	}
	table, _, _ = strings.Cut(table, " /*")
	h.Object = state.Clip(strings.ReplaceAll(strings.TrimSpace(table), "`", ""), 256)
	if h.where == "" {
		h.where = h.Object
	}
	trx, mode, _ := strings.Cut(rest, " ")
	h.trx = trx
	mode = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(mode, "lock_mode "), "lock mode "))
	if m, ok := strings.CutSuffix(mode, " waiting"); ok {
		h.waiting, mode = true, m
	}
	h.Mode = state.Clip(mode, 128)
	x.now.locks = append(x.now.locks, h)
	x.last = &x.now.locks[len(x.now.locks)-1]
}

// record reads the record that a lock is on.
func (x *Reader) record(l string) {
	if rest, ok := strings.CutPrefix(l, "Record lock, heap no "); ok {
		heap, _, _ := strings.Cut(rest, " ")
		if len(x.last.heaps) < mostHeaps {
			x.last.heaps = append(x.last.heaps, heap)
		}
		return
	}
	number, field, ok := strings.Cut(strings.TrimLeft(l, " "), ": ")
	if n, err := strconv.Atoi(number); !ok || err != nil || n != len(x.last.Record) || n >= mostFields ||
		len(x.last.heaps) > 1 || !strings.HasPrefix(field, "len ") {
		return
	}
	_, field, _ = strings.Cut(field, "; hex ")
	hexed, _, _ := strings.Cut(field, ";")
	x.last.Record = append(x.last.Record, "0x"+state.Clip(strings.TrimSpace(hexed), longField))
}

// closed reports whether each transaction waits for a lock that another of the report holds.
func (r *Report) closed() bool {
	if len(r.parties) < 2 {
		return false
	}
	for _, p := range r.parties {
		if !slices.ContainsFunc(r.locks, func(w heldLock) bool {
			return w.trx == p.Transaction && w.waiting && slices.ContainsFunc(r.locks, func(h heldLock) bool {
				return !h.waiting && h.trx != w.trx && h.where == w.where &&
					(len(w.heaps) == 0 || slices.ContainsFunc(h.heaps, func(n string) bool { return n == w.heaps[0] }))
			})
		}) {
			return false
		}
	}
	return true
}

// Settle ends a report without headings that is complete, and with force any other.
func (x *Reader) Settle(force bool) {
	if x.now != nil && (force || !x.titled && x.now.closed()) {
		x.finish()
	}
}

// finish ends the report that is read.
func (x *Reader) finish() {
	x.endSQL()
	if x.now != nil && len(x.now.parties) > 0 && (x.titled || len(x.now.parties) > 1) {
		x.done = append(x.done, *x.now)
	}
	x.now, x.last, x.part, x.titled = nil, nil, 0, false
}

// Take returns the reports that ended.
func (x *Reader) Take() []Report {
	all := x.done
	x.done = nil
	return all
}

// Deadlock makes the value that is kept. from is lock.FromStatus or lock.FromLog.
func (r *Report) Deadlock(from string, at time.Time) lock.Deadlock {
	d := lock.Deadlock{At: at, From: from}
	var ids []string
	for i, p := range r.parties {
		for _, l := range r.locks {
			switch {
			case l.trx != p.Transaction:
			case l.waiting:
				p.Waits = append(p.Waits, l.Lock)
			case !slices.ContainsFunc(p.Holds, func(h lock.Lock) bool {
				return h.Object == l.Object && h.Index == l.Index && h.Mode == l.Mode &&
					slices.Equal(h.Record, l.Record)
			}):
				p.Holds = append(p.Holds, l.Lock)
			}
		}
		p.Victim = r.victim == i+1
		ids = append(ids, p.Transaction+"/"+p.query)
		d.Parties = append(d.Parties, p.Party)
	}
	if r.victim < 1 || r.victim > len(r.parties) {
		d.Why = "the log shows the victim with log_error_verbosity=3 only"
		if from == lock.FromStatus {
			d.Why = "the text does not name it"
		}
	}
	slices.Sort(ids)
	sum := sha256.Sum256([]byte(strings.Join(ids, " ")))
	d.ID = hex.EncodeToString(sum[:10])
	return d
}

// Read reads the section LATEST DETECTED DEADLOCK of a status text.
func Read(text string) (r Report, ok bool) {
	var x Reader
	for l := range strings.SplitSeq(text, "\n") {
		x.Line(l)
		if len(x.done) > 0 {
			break
		}
	}
	x.Settle(true)
	if len(x.done) == 0 {
		return r, false
	}
	return x.done[0], true
}

// logLine reads the head of a line that the server wrote into its error log: its time, and for
// InnoDB's the text after it.
func logLine(l string) (at time.Time, rest string, ok bool) {
	if len(l) < 20 || l[4] != '-' || l[7] != '-' || l[13] != ':' {
		return at, "", false
	}
	stamp, after, _ := strings.Cut(l, " ")
	switch {
	case len(stamp) == len("2006-01-02"): // MariaDB, MySQL 5.6: local time
		clock, more, _ := strings.Cut(strings.TrimLeft(after, " "), " ")
		if len(clock) == len("9:05:01") {
			clock = "0" + clock
		}
		t, err := time.ParseInLocation(time.DateTime, stamp+" "+clock, time.Local)
		if err != nil {
			return at, "", false
		}
		at, after = t, more
	default:
		t, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			return at, "", false
		}
		at = t
	}
	for _, mark := range []string{"[InnoDB] ", "InnoDB: "} {
		if i := strings.Index(after, mark); i >= 0 && i < 80 {
			return at, strings.TrimLeft(after[i+len(mark):], " "), true // MySQL 8 puts a blank before some headings
		}
	}
	return at, "", true
}

// Section cuts the latest deadlock out of the text of SHOW ENGINE INNODB STATUS: "" when there was none.
func Section(status string) string {
	_, text, _ := strings.Cut(status, "\nLATEST DETECTED DEADLOCK\n")
	text, _, _ = strings.Cut(text, "\nTRANSACTIONS\n")
	return text
}
