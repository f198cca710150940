package load

import "time"

// logClock puts the entries of a log on a line of time that does not go back, in microseconds.
type logClock struct {
	first, latest int64 // the earliest begin and the latest end so far
	shift         int64 // added to what the log tells
	other         int64 // what was added before that
	begun         bool
	back          uint64
}

// backwards is by how much the time of a log may go back before its clock is taken to have been set: entries of several
// threads, and of logs that were merged, are a little out of order.
const backwards = 60_000_000

// near reports whether a time goes on from where the log is.
func (c *logClock) near(at int64) bool { return at >= c.latest-backwards && at <= c.latest+backwards }

// place returns when an entry began. An entry whose log has not told any time yet began with the first one that has.
func (c *logClock) place(e *Logged) (start int64) {
	told := e.At // when it ended, which is how far the log is
	if e.AtBegin {
		told += e.Took
	}
	end := told + c.shift
	switch {
	case e.At == 0:
		end = c.latest
	case !c.begun || c.near(end):
	case c.near(told + c.other): // as when some entries tell the time in another zone
		c.shift, c.other = c.other, c.shift
		end = told + c.shift
	case end < c.latest:
		c.back++
		c.shift, c.other = c.shift+c.latest-end, c.shift
		end = c.latest
	}
	start = end - e.Took
	if !c.begun && e.At != 0 {
		c.begun, c.first, c.latest = true, start, end
	}
	c.first, c.latest = min(c.first, start), max(c.latest, end)
	return start
}

// sessionKey tells sessions of a log apart.
type sessionKey struct {
	thread uint64
	known  bool   // thread is
	who    string // user@host, where it is not
	lane   int    // of several at the same time
}

// keyOf returns the session of an entry. Statements of the same user and host without an id that overlap are of several
// sessions; in whole seconds only what overlaps by more than one is known to.
func (r *replay) keyOf(e *Logged, start int64) sessionKey {
	if e.HasID {
		return sessionKey{thread: e.Thread, known: true}
	}
	who := string(e.User) + "@" + string(e.Host)
	slack := int64(0)
	if e.At%1_000_000 == 0 {
		slack = 1_000_000
	}
	lanes := r.lanes[who]
	for lane := range lanes {
		k := sessionKey{who: who, lane: lane}
		if s := r.sessions[k]; s == nil || s.logged <= start+slack {
			return k
		}
	}
	r.lanes[who] = lanes + 1
	return sessionKey{who: who, lane: lanes}
}

// replayItem is a statement that is to be sent.
type replayItem struct {
	start  int64 // of the log's time, microseconds
	logged int64 // its Query_time, microseconds
	db     string
	sql    string
	what   Meaning
	quit   bool // the session ends here
}

func (i *replayItem) size() int { return itemBytes + len(i.sql) }

// add puts an entry into the queue of its session. It reports whether enough has been read to begin.
func (r *replay) add(e *Logged) (enough bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	start := r.clock.place(e)
	item := replayItem{start: start, logged: e.Took, what: e.Meaning, quit: e.Quit}
	r.count.Entries++
	r.count.Back = r.clock.back
	if e.Rate > 1 {
		r.count.Rate = max(r.count.Rate, e.Rate)
	}
	enough = r.count.Entries >= firstEntries || r.clock.latest-r.clock.first >= firstTime
	key := r.keyOf(e, start)
	s := r.sessions[key]
	if e.Skip != NoSkip {
		r.skipped[e.Skip]++
		if s == nil || !item.quit {
			if s != nil { // it took its time all the same
				s.logged = max(s.logged, start+e.Took)
			}
			return enough
		}
	}
	if s == nil {
		s = r.newSession(key)
		if r.running {
			r.launch(s)
		}
	}
	if e.Skip == NoSkip {
		item.sql = string(e.SQL)
		item.db = s.named(e.DB)
	}
	item.start = max(start, s.logged)
	s.logged = item.start + e.Took
	s.queue.push(item)
	r.bytes += item.size()
	s.news()
	if item.quit { // a later session with the same id is another
		delete(r.sessions, key)
	}
	return enough
}

// named returns the name of a database, without a copy for each statement.
func (s *replaySession) named(db []byte) string {
	if string(db) != s.lastDB {
		s.lastDB = string(db)
	}
	return s.lastDB
}

// itemQueue is a queue of items in the order of time.
type itemQueue struct {
	list  []replayItem
	first int
}

func (q *itemQueue) len() int { return len(q.list) - q.first }

// left returns how many statements there are.
func (q *itemQueue) left() uint64 {
	n := q.len()
	if n > 0 && q.list[len(q.list)-1].quit {
		n--
	}
	return uint64(n)
}

func (q *itemQueue) push(i replayItem) {
	if q.first > 64 && q.first > len(q.list)/2 {
		n := copy(q.list, q.list[q.first:])
		clear(q.list[n:])
		q.list, q.first = q.list[:n], 0
	}
	q.list = append(q.list, i)
}

// peek returns the first item, nil when there is none. It is valid until the lock is given back.
func (q *itemQueue) peek() *replayItem {
	if q.len() == 0 {
		return nil
	}
	return &q.list[q.first]
}

func (q *itemQueue) pop() (i replayItem) {
	i = q.list[q.first]
	q.list[q.first] = replayItem{}
	q.first++
	return i
}

// until returns how many of the first items f holds for.
func (q *itemQueue) until(f func(*replayItem) bool) int {
	lo, hi := q.first, len(q.list)
	for lo < hi {
		mid := (lo + hi) / 2
		if f(&q.list[mid]) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - q.first
}

// logTime is a stretch of the log's time.
func logTime(micros int64) time.Duration { return time.Duration(micros) * time.Microsecond }
