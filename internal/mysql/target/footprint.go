package target

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dyno-perf/dyno/internal/sqltext"
)

// counted are the status variables that a session counts for itself, in lower case: of these Dyno knows its own part.
var counted = strings.Fields(`
bytes_received bytes_sent created_tmp_disk_tables created_tmp_tables
handler_commit handler_external_lock handler_icp_attempts handler_icp_match handler_read_first handler_read_key handler_read_last
handler_read_next handler_read_prev handler_read_rnd handler_read_rnd_deleted handler_read_rnd_next handler_rollback
handler_tmp_update handler_tmp_write handler_update handler_delete handler_write
opened_table_definitions opened_tables questions rows_read rows_sent rows_tmp_read
select_full_join select_full_range_join select_range select_range_check select_scan slow_queries
sort_merge_passes sort_range sort_rows sort_scan table_open_cache_hits table_open_cache_misses table_open_cache_overflows
com_select connections`)

// Figures that no session tells: this process counts them itself.
const (
	comSelect   = "com_select" // MySQL leaves the commands out where a session can ask for its own without SHOW
	connections = "connections"
)

var countedAt = func() map[string]int {
	m := map[string]int{}
	for i, name := range counted {
		m[name] = i
	}
	return m
}()

// askSpent asks a session what it has counted. SHOW would not do: the server leaves what SHOW STATUS itself takes out
// of the session's counts, and puts it into the totals all the same.
var askSpent = func() string {
	var names []string
	for _, name := range counted {
		if name != comSelect && name != connections {
			names = append(names, "'"+name+"'")
		}
	}
	return "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM %s WHERE VARIABLE_NAME IN (" + strings.Join(names, ",") + ")"
}()

// statusBySchema reports whether the server keeps its status in performance_schema, where it is also while
// performance_schema is off: MySQL 5.7.
func statusBySchema(facts Facts) bool {
	return !facts.Flavor.IsMariaDB() && facts.Version.AtLeast(5, 7, 0)
}

func spentBySchema(facts Facts) string {
	table := "information_schema.SESSION_STATUS"
	if statusBySchema(facts) {
		table = "performance_schema.session_status"
	}
	return own(strings.Replace(askSpent, "%s", table, 1))
}

// footprint is what this process's sessions for reading have made one server count.
type footprint struct {
	where   string
	mu      sync.Mutex
	total   []float64 // by counted
	burst   []float64 // the most that was found at a time: what a session that was not asked since may hide
	seen    []float64 // what was found in sum, of so many statements: what one takes as a rule
	of      float64
	per     []float64 // the most that a statement took, as the mean of those between two askings
	pending int       // statements of sessions that were not asked since
	live    int       // sessions
	unasked int       // of them those with statements since they were asked
	sends   uint64    // statements
	working int       // that are within a piece of work, see enter
	quiet   chan struct{}
	held    chan struct{}
	at      uint64 // when a session was begun here last, by the number of all sessions
}

// unaskedAtLeast is what a session that was not asked since may hide of the figures that grow by one or two with a
// statement, before more is known.
const unaskedAtLeast = 20

// takenAtLeast is the same for a single statement.
const takenAtLeast = 2

var footprints = struct {
	sync.Mutex
	by    map[string]*footprint
	clock uint64
}{by: map[string]*footprint{}}

// idle reports whether no session counts here, and since when that may be.
func (f *footprint) idle() (at uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at, f.live == 0 && f.working == 0
}

// footprintOn returns that of a server; nil when this process has sessions on more servers than it keeps count of. The
// server that has had none for the longest time is forgotten for a new one.
func footprintOn(where string) *footprint {
	footprints.Lock()
	defer footprints.Unlock()
	f := footprints.by[where]
	if f == nil && len(footprints.by) >= sentServers {
		oldest, least, found := "", uint64(math.MaxUint64), false
		for k, x := range footprints.by {
			if at, ok := x.idle(); ok && at < least {
				oldest, least, found = k, at, true
			}
		}
		if found {
			delete(footprints.by, oldest)
		}
	}
	if f == nil && len(footprints.by) < sentServers {
		n := len(counted)
		f = &footprint{
			where: where, total: make([]float64, n), burst: make([]float64, n), seen: make([]float64, n),
			per: make([]float64, n),
		}
		footprints.by[where] = f
	}
	if f != nil {
		footprints.clock++
		f.mu.Lock()
		f.at = footprints.clock
		f.mu.Unlock()
	}
	return f
}

// meter is a session's part of a footprint; nil counts nothing. It belongs to the session's goroutine.
type meter struct {
	f     *footprint
	t     *Target
	last  []float64 // as the session counted when it was asked
	since int       // statements since then
}

// logins are those for reading to one address: whatever a session sends before it has learned which server answers is
// in no footprint.
type logins struct{ begun, ended atomic.Uint64 }

// newMeter begins to count a session. A load is the user's own, and so is what a user has agreed to.
func newMeter(t *Target, where string, p Purpose) *meter {
	f := footprintOn(where)
	if p != ForReading || f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live++
	f.unasked++ // it logged in, and set itself up
	f.sends++
	f.pending += unaskedAtLeast
	f.total[countedAt[connections]]++
	f.total[countedAt[comSelect]]++ // askSelf
	// to set itself up it sends some
	return &meter{f: f, t: t, last: make([]float64, len(counted)), since: unaskedAtLeast}
}

// sent takes note of a statement before it is sent.
func (m *meter) sent(sql string) {
	if m == nil {
		return
	}
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	if m.since++; m.since == 1 {
		m.f.unasked++
	}
	m.f.sends++
	m.f.pending++
	if strings.HasPrefix(words(sql), "SELECT ") {
		m.f.total[countedAt[comSelect]]++
	}
}

// words returns a statement of Dyno's own without its tag.
func words(sql string) string {
	if sqltext.Own(sql) {
		_, sql, _ = strings.Cut(sql, "*/ ")
	}
	return sql
}

// answered takes note of the rows of a statement. What SHOW STATUS takes is in the server's totals and in no session's:
// one temporary table, and one scan of it, or two where the list is made of another one.
func (m *meter) answered(sql string, rows int) {
	sql = words(sql)
	if m == nil || !strings.HasPrefix(sql, "SHOW ") {
		return
	}
	head, rest, found := strings.Cut(sql, "STATUS")
	if !found || !slices.Contains([]string{"SHOW ", "SHOW GLOBAL ", "SHOW SESSION "}, head) {
		return
	}
	n := float64(rows)
	hidden := map[string]float64{
		"created_tmp_tables": 1, "select_scan": 1, "handler_read_rnd_next": n + 1,
		"handler_tmp_write": n, "rows_sent": n,
	}
	if statusBySchema(m.t.facts) {
		hidden = map[string]float64{
			"created_tmp_tables": 1, "select_scan": 1, "handler_read_rnd_next": n + 1,
			"handler_write": n, "handler_external_lock": 2, "table_open_cache_hits": 1,
		}
		if strings.Contains(rest, "WHERE") {
			hidden["select_range"], hidden["handler_read_key"] = 1, n
		} else {
			hidden["select_scan"], hidden["handler_read_rnd_next"] = 2, 2*(n+1) // with LIKE it is more than that
		}
	}
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	for name, v := range hidden {
		m.f.total[countedAt[name]] += v
	}
}

// asked takes what the session says about itself.
func (m *meter) asked(now map[string]float64) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	statements := float64(max(1, m.since))
	m.f.of += statements
	for i, name := range counted {
		if v, ok := now[name]; ok {
			grown := v - m.last[i]
			if grown < 0 { // FLUSH STATUS begins anew
				grown = v
			}
			m.f.total[i] += grown
			m.f.burst[i], m.f.per[i] = max(m.f.burst[i], grown), max(m.f.per[i], grown/statements)
			m.f.seen[i] += grown
			m.last[i] = v
		}
	}
	m.known()
}

// known is called with the lock held when there is nothing more to be learned of what was sent.
func (m *meter) known() {
	if m.since > 0 {
		m.f.unasked--
		m.f.pending -= m.since
	}
	m.since = 0
}

// left is called when the session has ended.
func (m *meter) left() {
	if m == nil {
		return
	}
	defer publish(m.f.where)
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	if m.since > 0 && m.f.of > 0 { // the connection broke: what so many statements take as a rule is nearest the truth
		for i := range counted {
			m.f.total[i] += math.Round(m.f.seen[i] / m.f.of * float64(m.since))
		}
	}
	m.f.total[countedAt["questions"]]++ // servers count the good-bye
	m.known()
	m.f.live--
}

// enter begins a piece of work, which waits while the totals are being read, by this process or by
// another. What enters has to leave.
func (f *footprint) enter() (leave func()) {
	for {
		free := lockWork(f.where, false)
		f.mu.Lock()
		held := f.held
		if held == nil {
			f.working++
			f.mu.Unlock()
			return func() { f.leave(); free() }
		}
		f.mu.Unlock()
		free()
		<-held
	}
}

func (f *footprint) leave() {
	f.mu.Lock()
	f.working--
	if f.working == 0 && f.quiet != nil {
		close(f.quiet)
		f.quiet = nil
	}
	f.mu.Unlock()
	publish(f.where)
}

// holdAtMost bounds how long work waits for the totals to be read, and how long they wait for work that is under way.
const holdAtMost = 100 * time.Millisecond

// hold keeps new work waiting until release is called, or for a while. It waits for a while for the
// work of other processes.
func (f *footprint) hold() (release func()) {
	f.mu.Lock()
	if f.held != nil {
		f.mu.Unlock()
		return func() {}
	}
	held := make(chan struct{})
	f.held = held
	f.mu.Unlock()
	free := lockWork(f.where, true)
	once := sync.OnceFunc(func() {
		free()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.held = nil
		close(held)
	})
	stop := time.AfterFunc(2*holdAtMost, once)
	return func() { stop.Stop(); once() }
}

// settled waits until no work is under way, for a while.
func (f *footprint) settled(ctx context.Context) {
	f.mu.Lock()
	if f.working == 0 {
		f.mu.Unlock()
		return
	}
	if f.quiet == nil {
		f.quiet = make(chan struct{})
	}
	quiet := f.quiet
	f.mu.Unlock()
	t := time.NewTimer(holdAtMost)
	defer t.Stop()
	select {
	case <-quiet:
	case <-t.C:
	case <-ctx.Done():
	}
}

// Spent is Dyno's own part of a server's totals.
type Spent struct {
	Server   string             // changes when another server answers
	Counted  map[string]float64 // by status variable in lower case
	Unsure   map[string]float64 // how much more it may be
	Sessions int                // of Dyno's own that are connected
	Running  int                // of them those that run a statement, the one that asks included

	f      *footprint
	logins *logins
	ended  uint64 // of them
	unknown
}

// unknown is how much was sent at a moment, and what of it no session was asked about since.
type unknown struct{ sends, unasked, pending float64 }

// spent tells what is known now.
func (f *footprint) spent(where string, l *logins) Spent {
	o := othersNow(where)
	if o != nil {
		defer o.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Spent{
		Server: where, Counted: make(map[string]float64, len(counted)),
		Sessions: f.live, Running: 1 + f.working, f: f, logins: l, ended: l.ended.Load(), unknown: f.unknown(o),
	}
	for i, name := range counted {
		s.Counted[name] = f.total[i]
	}
	if o != nil {
		s.Sessions, s.Running = s.Sessions+int(o.live), s.Running+int(o.working)
		for i, name := range counted {
			s.Counted[name] += o.total[i]
		}
	}
	return s
}

// unknown is called with the locks of both held; o may be nil.
func (f *footprint) unknown(o *others) unknown {
	u := unknown{float64(f.sends), float64(f.unasked), float64(f.pending)}
	if o != nil {
		u.sends, u.unasked, u.pending = u.sends+o.sends, u.unasked+o.unasked, u.pending+o.pending
	}
	return u
}

// othersNow reads what other processes do on a server, and leaves it locked; nil when there is nothing to be read.
func othersNow(where string) *others {
	o := othersOn(where)
	if o == nil {
		return nil
	}
	o.mu.Lock()
	if o.look(where, false); o.in == nil {
		o.mu.Unlock()
		return nil
	}
	return o
}

// Until completes what was known with what may have come to it until now, when the server has told its totals in one
// statement since.
func (s Spent) Until() Spent {
	if s.f == nil {
		return s
	}
	o := othersNow(s.Server)
	if o != nil {
		defer o.mu.Unlock()
	}
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	now := s.f.unknown(o)
	more := max(0, now.sends-s.sends-1)
	open := float64(s.logins.begun.Load() - s.ended) // perhaps of another server behind the address
	// The session that told the totals is one of those that were not asked since.
	unsure := max(s.unasked, now.unasked-1, 0) + more + open
	statements := max(s.pending, now.pending) + more + open*unaskedAtLeast
	s.Unsure = make(map[string]float64, len(counted))
	for i, name := range counted {
		burst, per := s.f.burst[i], s.f.per[i]
		if o != nil {
			burst, per = max(burst, o.burst[i]), max(per, o.per[i])
		}
		s.Unsure[name] = min(unsure*max(burst, unaskedAtLeast), statements*max(per, takenAtLeast))
	}
	return s
}

// account asks a connection of the driver's what it has counted; the caller sees to it that it is not waited for too
// long.
func (m *meter) account(where string, nc net.Conn, ask func(sql string) (driver.Rows, error)) {
	sql, now := spentBySchema(m.t.facts), map[string]float64{}
	tell(where, m, sql)
	rows, err := shield(nc, func() (driver.Rows, error) { return ask(sql) })
	if err != nil {
		return
	}
	row, take := make([]driver.Value, len(rows.Columns())), spentRow(now)
	for err == nil {
		if err = next(nc, rows, row); err == nil {
			take(row)
		}
	}
	if done(nc, rows) == nil && errors.Is(err, io.EOF) {
		m.asked(now)
		publish(where)
	}
}

// Query is a statement that is asked, and the rows of its answer.
type Query func(ctx context.Context, sql string, row func([]driver.Value)) (int, error)

// settle asks what the connection has counted, if it was used since it was asked.
func (a *Asker) settle(ctx context.Context, query Query) error {
	if a.s == nil || a.s.meter == nil || a.s.meter.since == 0 {
		return nil
	}
	m, now := a.s.meter, map[string]float64{}
	if _, err := query(ctx, spentBySchema(a.t.facts), spentRow(now)); err != nil {
		return err
	}
	m.asked(now)
	return nil
}

func spentRow(to map[string]float64) func([]driver.Value) {
	return func(row []driver.Value) {
		if len(row) != 2 {
			return
		}
		name := strings.ToLower(asText(row[0]))
		if _, ok := countedAt[name]; ok { // no other was asked for
			to[name] = float64(number(row[1]))
		}
	}
}

// Work begins a piece of work on the connection: a few questions one after the other. done ends it and asks the
// connection what they made the server count; it is called by the goroutine that asked them. query, which may be nil,
// takes the place of Asker.Query there.
func (a *Asker) Work(query Query) (done func(ctx context.Context)) {
	if query == nil {
		query = a.Query
	}
	f := a.footprint()
	if f == nil {
		return func(context.Context) {}
	}
	leave := f.enter()
	return func(ctx context.Context) {
		_ = a.settle(ctx, query) // what is not known stays unsure
		leave()
	}
}

func (a *Asker) footprint() *footprint {
	if a == nil || a.t == nil {
		return nil
	}
	return footprintOn(a.where())
}

// where is the server that the connection leads to.
func (a *Asker) where() string {
	if a.s == nil {
		return a.t.self.where
	}
	return a.s.where
}

// Settle asks what the connection has counted where another process shares its work on the server and cannot ask.
func (a *Asker) Settle(ctx context.Context, query Query) (others bool) {
	if a == nil || a.t == nil {
		return false
	}
	o := othersOn(a.where())
	if o == nil {
		return false
	}
	o.mu.Lock()
	others = o.live > 0
	o.mu.Unlock()
	if others && a.settle(ctx, query) == nil {
		publish(a.where())
	}
	return others
}

// Hold keeps work from beginning until release is called, for a few statements' time at most: so that the server's
// totals and Dyno's part of them can be read at one moment.
func (a *Asker) Hold() (release func()) {
	if f := a.footprint(); f != nil {
		return f.hold()
	}
	return func() {}
}

// Spent returns Dyno's own part of the server's totals: what the sessions for reading of this process have counted. It
// waits shortly for work that is under way. It is not ok when the server does not say.
func (a *Asker) Spent(ctx context.Context, query Query) (Spent, bool) {
	if err := a.Open(ctx); err != nil || a.s.meter == nil {
		return Spent{}, false
	}
	f, where := a.s.meter.f, a.s.where
	f.settled(ctx)
	if err := a.settle(ctx, query); err != nil || a.s == nil || a.s.where != where {
		return Spent{}, false
	}
	s := f.spent(where, a.t.logins)
	if leavesBytesOut(a.t.facts) {
		delete(s.Counted, bytesSent)
	}
	return s, true
}

const bytesSent = "bytes_sent"

// leavesBytesOut reports whether a session does not count what the server sends of an answer to SHOW STATUS before that
// is complete, while the totals do: seen on MariaDB 11.8.9 and not on 10.11.19, so of 11.0 and later it is not known.
func leavesBytesOut(facts Facts) bool {
	return facts.Flavor.IsMariaDB() && facts.Version.AtLeast(11, 0, 0)
}
