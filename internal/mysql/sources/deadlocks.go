package sources

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/deadlock"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
)

// deadlocks finds every deadlock that the server shows:
//
//	dyno_deadlocks_seen_total     those that were read
//	dyno_deadlocks_missed_total   those that the server counted and of which it kept nothing to read
//
// The server's counter, which innodbMetrics reads anyway, says when there was one, so that a server without deadlocks
// is asked nothing. The error log has all of them with innodb_print_all_deadlocks=ON; it is read where the server runs
// on this machine, as it grows. Else SHOW ENGINE INNODB STATUS shows the latest. Table performance_schema.error_log is
// of no use: it has the headings of the reports alone.
type deadlocks struct {
	q    querier
	acc  account
	seen *moment
	open func(ctx context.Context, name string) (*os.File, error)

	gen       int
	setAt     int64  // when the settings were read, Unix milliseconds
	who       string // the server: a name may lead to another one later
	all       bool   // innodb_print_all_deadlocks
	log       errorLog
	noLog     string // why the log is not read
	elsewhere int    // the connection whose server does not run on this machine
	askedAt   int64  // when that was found out, Unix milliseconds

	began     bool
	counting  bool            // last is known
	last      uint64          // the counter
	lastAt    int64           // when it was read, Unix milliseconds
	passed    uint64          // how many it has counted since Dyno looks
	counts    [3]uint64       // passed in the rounds before
	found     uint64          // those of them that were read
	missed    uint64          // those that were given up
	missFrom  int64           // since when some may be missing, Unix milliseconds
	known     map[string]bool // those that were read lately, and whether their victim is known
	order     []string
	fresh     lock.Seen
	total     uint64 // of dyno_deadlocks_seen_total
	totalMiss uint64
}

func newDeadlocks(
	q querier, acc account, seen *moment, open func(ctx context.Context, name string) (*os.File, error),
) *deadlocks {
	return &deadlocks{q: q, acc: acc, seen: seen, open: open, known: map[string]bool{}}
}

func (s *deadlocks) Name() source.Name { return source.Deadlocks }

const (
	// settingsEvery is how old the settings may be.
	settingsEvery = time.Minute
	// placeEvery is how often a server is asked again whether it runs on this machine, which costs a login.
	placeEvery = time.Hour
)

func (s *deadlocks) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	if gen := s.q.Generation(); !s.began || s.gen != gen || at-s.setAt > settingsEvery.Milliseconds() {
		if err := s.settings(ctx, at); err != nil {
			return classify(s.acc, err, "")
		}
		s.gen, s.setAt = s.q.Generation(), at
	}
	now, counted := s.seen.deadlocks.Get()
	counted = counted && s.seen.deadlocksGen == s.gen
	grown := uint64(0)
	switch {
	case !counted: // the next figure says how many there were meanwhile
	case !s.began || !s.counting: // how many there were before is not known
		s.passed = max(s.passed, s.found+s.missed)
	case now < s.last: // a restart, or somebody reset the counter
		grown = now
	default:
		grown = now - s.last
	}
	s.passed += grown
	when := time.UnixMilli(at)
	before := s.found
	if s.log.file != nil {
		if err := s.readLog(ctx, when); err != nil {
			s.noLog = "the error log cannot be read: " + scrape.ReasonOf(err)
			s.log.close()
		}
	}
	var err error
	unnamed := slices.ContainsFunc(s.fresh.Deadlocks, func(d lock.Deadlock) bool { return d.Why != "" })
	// Without a counter the text is read as often as this source. It names the victim of the latest, too.
	if !s.began || !counted || grown > s.found-before || s.passed > s.found+s.missed || unnamed {
		err = s.readStatus(ctx, at, s.began)
	}
	if err == nil {
		s.began = true
	}
	s.account(at, counted)
	if counted {
		s.last, s.lastAt, s.counting = now, s.seen.deadlocksAt, true
	}
	emit(metric.Sample{
		Name: "dyno_deadlocks_seen_total", Kind: metric.Counter, At: at, Value: float64(s.total),
	})
	if counted {
		emit(metric.Sample{
			Name: "dyno_deadlocks_missed_total", Kind: metric.Counter, At: at, Value: float64(s.totalMiss),
		})
	}
	return classify(s.acc, err, "PROCESS ON *.*")
}

// account gives up deadlocks that were counted rounds ago and not read since: the log and the counter are not of one
// moment.
func (s *deadlocks) account(at int64, counted bool) {
	oldest := s.counts[0]
	s.counts = [3]uint64{s.counts[1], s.counts[2], s.passed}
	if s.passed <= s.found+s.missed {
		s.missFrom = 0
		return
	}
	if s.missFrom == 0 {
		s.missFrom = s.lastAt
	}
	if !counted || oldest <= s.found+s.missed {
		return
	}
	n := oldest - s.found - s.missed
	s.missed += n
	s.totalMiss += n
	why := "the server keeps the latest alone: innodb_print_all_deadlocks=ON keeps all in its error log"
	if s.all {
		why = "innodb_print_all_deadlocks is ON: the server's error log has them; " + s.noLog
	}
	s.fresh.Missed = append(s.fresh.Missed, lock.Missed{
		From: time.UnixMilli(s.missFrom), To: time.UnixMilli(at), Count: n, Why: why,
	})
	s.missFrom = at
}

// settings asks which server this is and where its error log is, and opens that at its end.
func (s *deadlocks) settings(ctx context.Context, at int64) error {
	name, datadir, who := "", "", ""
	if _, err := s.q.Query(ctx, tagged(s.Name(), "SELECT @@GLOBAL.log_error, @@GLOBAL.datadir, "+
		"CONCAT_WS(' ', @@hostname, @@GLOBAL.port, @@GLOBAL.socket, @@GLOBAL.server_id, @@GLOBAL.datadir)"),
		func(row []driver.Value) {
			if len(row) == 3 {
				name, datadir, who = string(text(row[0])), string(text(row[1])), string(text(row[2]))
			}
		}); err != nil {
		return err
	}
	if who != s.who { // another server has other figures, and another latest deadlock
		s.who, s.began, s.counting = who, false, false
		s.log.close()
	}
	s.all = false
	// not a variable of every version
	if _, err := s.q.Query(ctx, tagged(s.Name(), "SHOW GLOBAL VARIABLES LIKE 'innodb_print_all_deadlocks'"),
		func(row []driver.Value) {
			s.all = len(row) == 2 && strings.EqualFold(string(text(row[1])), "ON")
		}); err != nil {
		return err
	}
	switch {
	case name == "" || name == "stderr":
		s.log.close()
		s.noLog = "the server writes it to its standard error"
		return nil
	case !path.IsAbs(name):
		name = path.Join(datadir, name)
	}
	if s.log.file != nil && s.log.name == name {
		return nil
	}
	s.log.close()
	gen, err := s.q.Generation(), target.ErrElsewhere
	var f *os.File
	if s.elsewhere != gen || at-s.askedAt > placeEvery.Milliseconds() {
		if f, err = s.open(ctx, name); errors.Is(err, target.ErrElsewhere) {
			s.elsewhere, s.askedAt = gen, at
		}
	}
	if err != nil {
		s.noLog = "it cannot be read here: " + scrape.ReasonOf(err)
		return nil
	}
	s.noLog = ""
	if err := s.log.begin(name, f); err != nil {
		s.noLog = "it cannot be read: " + scrape.ReasonOf(err)
	}
	return nil
}

func (s *deadlocks) readLog(ctx context.Context, at time.Time) error {
	reports, err := s.log.read(ctx, s.open)
	for _, r := range reports {
		when := r.At
		if d := at.Sub(when); d < -time.Minute || d > time.Minute { // it has no time, or another zone
			when = at
		}
		s.take(r.Deadlock(lock.FromLog, when), true)
	}
	return err
}

// readStatus reads the latest deadlock from the status text. counts is false for the one that was there before Dyno
// looked.
func (s *deadlocks) readStatus(ctx context.Context, at int64, counts bool) error {
	status := ""
	if _, err := s.q.Query(ctx, tagged(s.Name(), "SHOW ENGINE INNODB STATUS"), func(row []driver.Value) {
		if len(row) == 3 {
			b := text(row[2])
			status = string(b[:min(len(b), longestInnodb)])
		}
	}); err != nil {
		return err
	}
	if status == "" {
		return &scrape.Problem{State: source.Missing, Reason: "the server has no InnoDB"}
	}
	t := latestDeadlock(status)
	if !t.seen {
		return nil
	}
	if r, ok := deadlock.Read(t.text); ok {
		s.take(r.Deadlock(lock.FromStatus, time.UnixMilli(at).Add(-t.age)), counts)
	}
	return nil
}

// latestDeadlock finds the section of the status text.
func latestDeadlock(status string) trouble {
	lines := strings.Split(status, "\n")
	part, ok := sections(lines)["LATEST DETECTED DEADLOCK"]
	if !ok {
		return trouble{}
	}
	made, _ := innodbTime(headline(lines))
	return readTrouble(lines[part.from:part.to], made)
}

// mostKnown bounds how many deadlocks are remembered to tell those that are seen twice.
const mostKnown = 2000

// take keeps a deadlock that was not seen before, or whose victim was unknown. counts says that the server counted it
// since Dyno looks.
func (s *deadlocks) take(d lock.Deadlock, counts bool) {
	victim, had := s.known[d.ID]
	if had && (victim || d.Why != "") {
		return
	}
	s.known[d.ID] = d.Why == ""
	if !had {
		if counts {
			s.found++
			s.total++
		}
		if s.order = append(s.order, d.ID); len(s.order) > mostKnown {
			delete(s.known, s.order[0])
			s.order = s.order[1:]
		}
	}
	for i, x := range s.fresh.Deadlocks { // of this very round
		if x.ID == d.ID {
			d.At, d.From = x.At, x.From
			s.fresh.Deadlocks[i] = d
			return
		}
	}
	s.fresh.Deadlocks = append(s.fresh.Deadlocks, d)
}

// Deadlocks returns those found since the last call.
func (s *deadlocks) Deadlocks() lock.Seen {
	all := s.fresh
	s.fresh = lock.Seen{}
	return all
}

// errorLog is the server's error log, read as it grows.
type errorLog struct {
	name   string
	file   *os.File
	offset int64
	carry  []byte // a line whose end is not there yet
	reader deadlock.Reader
	rounds int
}

// Bounds of reading the log, bytes: of one round, how far behind it may be, and of a line.
const (
	logAtOnce  = 2 << 20
	logBehind  = 16 << 20
	logLongest = 64 << 10
)

func (l *errorLog) close() {
	if l.file != nil {
		l.file.Close()
	}
	*l = errorLog{}
}

// begin reads a log from its present end on.
func (l *errorLog) begin(name string, f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	*l = errorLog{name: name, file: f, offset: st.Size()}
	return nil
}

// read returns the deadlocks that were written since the last call.
func (l *errorLog) read(
	ctx context.Context, open func(ctx context.Context, name string) (*os.File, error),
) ([]deadlock.Report, error) {
	st, err := l.file.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() < l.offset { // it was emptied
		l.offset, l.carry, l.reader = 0, nil, deadlock.Reader{}
	}
	if st.Size()-l.offset > logBehind { // something else floods it; the counter tells how many were passed over
		l.offset, l.carry, l.reader = st.Size()-logAtOnce, nil, deadlock.Reader{}
	}
	grown := st.Size() > l.offset
	buf := make([]byte, min(st.Size()-l.offset, logAtOnce))
	n, err := l.file.ReadAt(buf, l.offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	l.offset += int64(n)
	l.feed(buf[:n])
	l.reader.Settle(false)
	if l.rounds++; !grown && l.rounds%5 == 0 { // rotated?
		if f, err := open(ctx, l.name); err == nil {
			if now, err := f.Stat(); err == nil && !os.SameFile(st, now) {
				l.reader.Settle(true)
				l.file.Close()
				l.file, l.offset, l.carry = f, 0, nil
			} else {
				f.Close()
			}
		}
	}
	return l.reader.Take(), nil
}

func (l *errorLog) feed(b []byte) {
	b = append(l.carry, b...)
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			break
		}
		l.reader.Line(string(b[:min(end, logLongest)]))
		b = b[end+1:]
	}
	l.carry = append([]byte(nil), b[:min(len(b), logLongest)]...)
}
