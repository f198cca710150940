package sources

import (
	"context"
	"database/sql/driver"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// locks tells who waits for whose lock:
//
//	dyno_lock_waiters{kind}            sessions that wait now
//	dyno_lock_waiters_unexplained      those of them whose blocker the server does not tell
//
// It asks for holders only when the sessions and transactions of the same round show somebody who waits, so that a
// server where nobody does is asked nothing. Where the holders come from:
//
//	rows          performance_schema.data_lock_waits (MySQL 8.0), else information_schema.INNODB_LOCK_WAITS
//	metadata performance_schema.metadata_locks (MySQL 5.7, switched on by default in 8.0), else MariaDB's plugin
//	METADATA_LOCK_INFO
//	GET_LOCK      the same, else IS_USED_LOCK of the name in the statement that waits
//
// Where none of these is there a wait has no blocker and says what would show it; nobody is blamed by guess.
type locks struct {
	q     querier
	acc   account
	seen  *moment
	gen   int
	rows  string // "" until it was learnt
	waits []state.Wait
	at    int64
	kinds map[state.WaitKind]metric.Labels
	last  map[uint64]ran // what idle blockers ran last, by session
}

// waitLimit bounds the waits of one reading: in a queue of a thousand for one row everybody waits for all before him.
const waitLimit = 2 * state.MaxWaits

func newLocks(q querier, acc account, seen *moment) *locks {
	k := map[state.WaitKind]metric.Labels{}
	for _, kind := range []state.WaitKind{
		state.RowLock, state.TableLock, state.MetadataLock,
		state.GlobalLock, state.UserLock,
	} {
		k[kind] = metric.L("kind", string(kind))
	}
	return &locks{q: q, acc: acc, seen: seen, kinds: k}
}

func (s *locks) Name() source.Name { return source.Locks }

func (s *locks) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	s.waits, s.at = nil, at
	trxKnown, sessionsKnown := s.seen.trxAt == at, s.seen.sessionsAt == at
	if !trxKnown && !sessionsKnown && s.seen.denied != nil {
		return s.seen.denied // nobody is seen, so nobody is seen to wait
	}
	rows := 0
	if trxKnown {
		for _, x := range s.seen.trx {
			if x.Phase == "LOCK WAIT" {
				rows++
			}
		}
	}
	var waiting []state.Session
	if sessionsKnown {
		for _, x := range s.seen.sessions {
			if _, ok := waitsFor(x.Phase); ok && x.Command != "Sleep" && x.Command != "Daemon" {
				waiting = append(waiting, x)
			}
		}
	}
	var err error
	if rows > 0 {
		err = s.rowWaits(ctx)
	}
	if len(waiting) > 0 && err == nil {
		err = s.otherWaits(ctx, waiting)
	}
	if err != nil {
		s.waits = nil
		return classify(s.acc, err, s.privilege())
	}
	s.last = nil
	if sessionsKnown && len(s.waits) > 0 && s.acc.Answer(target.HasPerformanceSchema).Has {
		s.learnLast(ctx)
	}
	waiters, blind := map[state.WaitKind]map[uint64]bool{}, map[uint64]bool{}
	for _, w := range s.waits {
		if waiters[w.Kind] == nil {
			waiters[w.Kind] = map[uint64]bool{}
		}
		waiters[w.Kind][w.Waiter] = true
		if !w.Blocker.OK() {
			blind[w.Waiter] = true
		}
	}
	for kind, l := range s.kinds {
		if kind == state.RowLock && trxKnown || kind != state.RowLock && sessionsKnown {
			emit(metric.Sample{Name: "dyno_lock_waiters", Labels: l, At: at, Value: float64(len(waiters[kind]))})
		}
	}
	if trxKnown && sessionsKnown {
		emit(metric.Sample{Name: "dyno_lock_waiters_unexplained", At: at, Value: float64(len(blind))})
	}
	return nil
}

// Fill adds the waits, and the sessions in them that sleep outside of a transaction: those who hold a lock by LOCK
// TABLES or GET_LOCK.
func (s *locks) Fill(st *state.State) {
	st.Waits = s.waits
	shown := map[uint64]bool{}
	for _, x := range st.Sessions {
		shown[x.ID] = true
	}
	add := map[uint64]bool{}
	for _, w := range s.waits {
		if b, ok := w.Blocker.Get(); ok && !shown[b] {
			add[b] = true
		}
	}
	if len(add) == 0 && len(s.last) == 0 || s.seen.sessionsAt != s.at {
		return
	}
	list := append([]state.Session(nil), st.Sessions...) // the other one is the source's
	for _, x := range s.seen.sessions {
		if add[x.ID] {
			list = append(list, x)
		}
	}
	for i := range list {
		list[i].Last, list[i].LastClass = s.last[list[i].ID].sql, s.last[list[i].ID].class
	}
	st.Sessions = list
}

// ran is a statement with the id of its class, where that is known.
type ran struct{ sql, class string }

// mostLast bounds how many sessions are asked about in a round.
const mostLast = 20

// learnLast asks what those who hold a lock and run nothing ran last. An account that may not ask goes without.
func (s *locks) learnLast(ctx context.Context) {
	idle := map[uint64]bool{}
	for _, x := range s.seen.sessions {
		idle[x.ID] = x.Command == "Sleep"
	}
	var ids []string
	for _, w := range s.waits {
		if b, ok := w.Blocker.Get(); ok && idle[b] && len(ids) < mostLast {
			idle[b] = false
			ids = append(ids, strconv.FormatUint(b, 10))
		}
	}
	if len(ids) == 0 {
		return
	}
	last := map[uint64]ran{}
	_, err := s.q.Query(ctx, tagged(s.Name(), "SELECT t.PROCESSLIST_ID, LEFT(e.SQL_TEXT, "+
		strconv.Itoa(state.MaxText)+") FROM performance_schema.threads t"+
		" JOIN performance_schema.events_statements_current e ON e.THREAD_ID=t.THREAD_ID WHERE t.PROCESSLIST_ID IN ("+
		strings.Join(ids, ",")+
		") AND (e.NESTING_EVENT_TYPE IS NULL OR e.NESTING_EVENT_TYPE<>'STATEMENT') AND e.SQL_TEXT IS NOT NULL"),
		func(row []driver.Value) {
			if len(row) == 2 {
				sql := state.Clip(string(text(row[1])), state.MaxText)
				x := ran{sql: mytext.WithoutSecrets(sql)}
				if len(sql) < state.MaxText && !mytext.CutOff(sql) {
					x.class = class.ID(mytext.Fingerprint(sql))
				}
				last[id(row[0])] = x
			}
		})
	if err == nil {
		s.last = last
	}
}

func (s *locks) privilege() string {
	if s.acc.Answer(target.HasPerformanceSchema).Has && !s.acc.Facts().Flavor.IsMariaDB() {
		return "SELECT ON `performance_schema`.*"
	}
	return "PROCESS ON *.*"
}

const trxWaited = "TIMESTAMPDIFF(SECOND, r.trx_wait_started, " + trxNow + ")"

// learn looks for where row locks are told.
func (s *locks) learn(ctx context.Context) error {
	if s.rows != "" && s.gen == s.q.Generation() {
		return nil
	}
	has := map[string]bool{}
	if _, err := s.q.Query(ctx, tagged(s.Name(), "SELECT TABLE_NAME FROM information_schema.TABLES "+
		"WHERE"+
		" TABLE_SCHEMA IN ('information_schema','performance_schema') AND TABLE_NAME IN "+
		"('INNODB_LOCK_WAITS','data_lock_waits')"), func(row []driver.Value) {
		has[strings.ToLower(string(text(row[0])))] = true
	}); err != nil {
		return err
	}
	// Both give: waiter, blocker, seconds, schema and table, index, type of lock, wanted mode, held mode, blocker's
	// transaction.
	q := "SELECT STRAIGHT_JOIN r.trx_mysql_thread_id, b.trx_mysql_thread_id, " + trxWaited +
		", l.lock_table, l.lock_index, l.lock_type, l.lock_mode, h.lock_mode," +
		" w.blocking_trx_id FROM information_schema.INNODB_LOCK_WAITS w JOIN information_schema.INNODB_TRX r ON " +
		"r.trx_id=w.requesting_trx_id" +
		" LEFT JOIN information_schema.INNODB_TRX b ON b.trx_id=w.blocking_trx_id LEFT JOIN " +
		"information_schema.INNODB_LOCKS l ON l.lock_id=w.requested_lock_id" +
		" LEFT JOIN information_schema.INNODB_LOCKS h ON h.lock_id=w.blocking_lock_id LIMIT "
	if has["data_lock_waits"] {
		// To look at a lock the server goes through all those of its transaction: what a blocker with many of them
		// holds is not asked.
		q = "SELECT STRAIGHT_JOIN r.trx_mysql_thread_id, b.trx_mysql_thread_id, " + trxWaited +
			", CONCAT(l.OBJECT_SCHEMA,'.',l.OBJECT_NAME), l.INDEX_NAME, l.LOCK_TYPE," +
			" l.LOCK_MODE, h.LOCK_MODE, w.BLOCKING_ENGINE_TRANSACTION_ID FROM performance_schema.data_lock_waits w" +
			" JOIN information_schema.INNODB_TRX r ON r.trx_id=w.REQUESTING_ENGINE_TRANSACTION_ID" +
			" LEFT JOIN information_schema.INNODB_TRX b ON b.trx_id=w.BLOCKING_ENGINE_TRANSACTION_ID" +
			" LEFT JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID=w.REQUESTING_ENGINE_LOCK_ID AND " +
			"l.ENGINE=w.ENGINE" +
			" LEFT JOIN performance_schema.data_locks h ON h.ENGINE_LOCK_ID=IF(b.trx_rows_locked<5000, " +
			"w.BLOCKING_ENGINE_LOCK_ID, NULL) AND h.ENGINE=w.ENGINE LIMIT "
	}
	s.rows, s.gen = tagged(s.Name(), q+strconv.Itoa(waitLimit)), s.q.Generation()
	return nil
}

func (s *locks) rowWaits(ctx context.Context) error {
	if err := s.learn(ctx); err != nil {
		return err
	}
	explained := map[uint64]bool{}
	if _, err := s.q.Query(ctx, s.rows, func(row []driver.Value) {
		if len(row) != 9 || len(s.waits) >= waitLimit {
			return
		}
		x := state.Wait{
			Kind: state.RowLock, Waiter: id(row[0]), Blocker: known64(id(row[1])), Mode: string(text(row[6])),
			Held:   string(text(row[7])),
			Object: strings.ReplaceAll(string(text(row[3])), "`", ""),
		}
		if index := string(text(row[4])); index != "" && x.Object != "" {
			x.Object += " (" + strings.ReplaceAll(index, "`", "") + ")"
		}
		if sec, ok := number(row[2]); ok && row[2] != nil {
			x.Seconds = known.Of(max(0, sec))
		}
		if string(text(row[5])) == "TABLE" && !strings.HasPrefix(x.Mode, "AUTO") {
			x.Kind = state.TableLock
		}
		switch {
		case x.Blocker.OK():
		case row[1] != nil:
			x.Why = "transaction " + string(text(row[8])) + " has no session, such as one that was prepared before a " +
				"restart: XA RECOVER lists it"
		default:
			x.Why = "transaction " + string(text(row[8])) + " ended during the query"
		}
		explained[x.Waiter] = true
		s.waits = append(s.waits, x)
	}); err != nil {
		return err
	}
	for _, x := range s.seen.trx {
		if x.Phase == "LOCK WAIT" && !explained[x.Session] && len(s.waits) < waitLimit {
			s.waits = append(s.waits, state.Wait{
				Kind: state.RowLock, Waiter: x.Session,
				Why: "the server no longer showed this wait when queried for the blocker",
			})
		}
	}
	return nil
}

func known64(n uint64) known.Value[uint64] {
	if n == 0 {
		return known.None[uint64]()
	}
	return known.Of(n)
}

// otherWaits explains the sessions that wait for locks of the server's own.
func (s *locks) otherWaits(ctx context.Context, waiting []state.Session) error {
	var found []state.Wait
	why := ""
	switch pfs, info := s.acc.Answer(target.HasMetadataLocks), s.acc.Answer(target.HasMetadataLockInfo); {
	case pfs.Has:
		tickets, err := s.tickets(ctx)
		if err != nil {
			return err
		}
		found = ticketWaits(tickets)
	case info.Has:
		held, err := s.infoTickets(ctx)
		if err != nil {
			return err
		}
		if found, err = infoWaits(ctx, held, waiting); err != nil {
			return err
		}
		why = "the plugin METADATA_LOCK_INFO shows no lock that is in its way"
	default:
		a := pfs
		if s.acc.Facts().Flavor.IsMariaDB() {
			a = info
		}
		why = "the server does not show which sessions hold metadata locks: " + a.Reason
		switch {
		case a.Fix != "":
			why += ": " + a.Fix
		case s.acc.Facts().Flavor.IsMariaDB():
			why += ": INSTALL SONAME 'metadata_lock_info' would show the holders"
		}
	}
	explained := map[uint64]bool{}
	for _, w := range found {
		explained[w.Waiter] = true
	}
	var users []state.Session
	for _, x := range waiting {
		if kind, _ := waitsFor(x.Phase); kind == state.UserLock && !explained[x.ID] {
			users = append(users, x)
		}
	}
	if len(users) > 0 {
		ws, err := s.userLocks(ctx, users)
		if err != nil {
			return err
		}
		for _, w := range ws {
			explained[w.Waiter] = true
		}
		found = append(found, ws...)
	}
	age := map[uint64]float64{}
	for _, x := range waiting {
		age[x.ID] = x.Seconds
		if explained[x.ID] {
			continue
		}
		kind, _ := waitsFor(x.Phase)
		w := state.Wait{Kind: kind, Waiter: x.ID, Why: why, Object: objectIn(x)}
		switch {
		case strings.Contains(strings.ToLower(x.Phase), "flush"):
			w.Why = "the server does not report which session uses the table: a statement that has run for longer " +
				"than this one has waited"
		case kind == state.TableLock && !strings.Contains(strings.ToLower(x.Phase), "metadata"):
			w.Why = "the server does not report holders of table locks outside InnoDB"
		case w.Why == "":
			w.Why = "the server shows no lock that this session waits for: it may have been given at this moment"
		}
		found = append(found, w)
	}
	for _, w := range found {
		if sec, ok := age[w.Waiter]; ok && !w.Seconds.OK() { // of its statement: the server does not time the wait
			w.Seconds = known.Of(sec)
		}
		s.waits = append(s.waits, w)
	}
	return nil
}

// mostTickets bounds the metadata locks that are read.
const mostTickets = 5000

// tickets reads all metadata locks of the objects that somebody waits for.
func (s *locks) tickets(ctx context.Context) (list []ticket, err error) {
	_, err = s.q.Query(ctx, tagged(s.Name(), "SELECT m.OBJECT_TYPE, m.OBJECT_SCHEMA, "+
		"m.OBJECT_NAME, m.LOCK_TYPE, m.LOCK_STATUS, t.PROCESSLIST_ID FROM"+
		" (SELECT DISTINCT OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME FROM performance_schema.metadata_locks WHERE "+
		"LOCK_STATUS='PENDING') p"+
		" JOIN performance_schema.metadata_locks m ON m.OBJECT_TYPE=p.OBJECT_TYPE AND "+
		"m.OBJECT_SCHEMA<=>p.OBJECT_SCHEMA AND m.OBJECT_NAME<=>p.OBJECT_NAME"+
		" LEFT JOIN performance_schema.threads t ON t.THREAD_ID=m.OWNER_THREAD_ID WHERE m.LOCK_STATUS IN "+
		"('GRANTED','PENDING') LIMIT "+strconv.Itoa(mostTickets)), func(row []driver.Value) {
		if len(row) == 6 && len(list) < mostTickets {
			list = append(list, ticket{
				space: string(text(row[0])), schema: string(text(row[1])), name: string(text(row[2])),
				mode:    string(text(row[3])),
				granted: string(text(row[4])) == "GRANTED", session: id(row[5]),
			})
		}
	})
	return list, err
}

var lockName = lazyregexp.New(`(?is)\bget_lock\s*\(\s*'([^'\\]*)'`)

// userLocks asks who uses the named locks that sessions wait for. The server takes each name from the statement; it
// counts only where it is the one that we read there.
func (s *locks) userLocks(ctx context.Context, waiting []state.Session) (out []state.Wait, err error) {
	name := map[uint64]string{}
	for _, x := range waiting {
		if m := lockName.FindStringSubmatch(x.SQL); m != nil {
			name[x.ID] = m[1]
		}
	}
	const named = "SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING(INFO, LOCATE('get_lock', LOWER(INFO))), '''', 2), '''', " +
		"-1)"
	// A name that no lock can have would be an error of the whole question.
	_, err = s.q.Query(ctx, tagged(s.Name(), "SELECT ID, "+named+", IF(CHAR_LENGTH("+named+
		") BETWEEN 1 AND 64 AND LENGTH("+named+")<=192, IS_USED_LOCK("+named+
		"), NULL) FROM information_schema.PROCESSLIST"+
		" WHERE STATE='User lock' AND ID<>CONNECTION_ID() AND LOCATE('get_lock', LOWER(INFO))>0 LIMIT 200"),
		func(row []driver.Value) {
			waiter := id(row[0])
			if n, ok := name[waiter]; ok && n == string(text(row[1])) && len(out) < waitLimit {
				w := state.Wait{
					Kind: state.UserLock, Waiter: waiter, Blocker: known64(id(row[2])), Object: n,
					Mode: "EXCLUSIVE", Held: "EXCLUSIVE",
				}
				if !w.Blocker.OK() {
					w.Why, w.Held = "the lock was free again when the server was queried", ""
				}
				out = append(out, w)
			}
		})
	return out, err
}
