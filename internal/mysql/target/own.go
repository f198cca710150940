package target

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// self is what a connection has learned about itself.
type self struct {
	id         uint64
	user, host string // as the server's list of sessions shows them, the port left out
	where      string // a hash of what the server that answers calls itself: behind one address there may be several
}

// who asks a connection about itself and enters it among this process's own.
func who(ctx context.Context, c driver.QueryerContext, p Purpose) (me self, most uint64, err error) {
	rows, err := c.QueryContext(ctx, own(askSelf), nil)
	if err != nil {
		return me, 0, err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		return me, 0, err
	}
	for _, v := range row {
		if b, ok := v.([]byte); ok && len(b) > longestFact {
			return me, 0, fmt.Errorf("%w: more than %d bytes of identity", errTooLong, longestFact)
		}
	}
	me.id, most = number(row[0]), number(row[1])
	me.user, me.host, _ = cutLast(asText(row[2]), '@')
	where := sha256.New() // what the server says may be of any length, and is kept
	for _, v := range row[3:] {
		fmt.Fprintf(where, "%q:", asText(v))
	}
	me.where = hex.EncodeToString(where.Sum(nil)[:16])
	if err := rows.Next(row); err != nil && !errors.Is(err, io.EOF) {
		return me, 0, err
	}
	ownSessions.Store(ownSession{me.where, me.id}, p)
	count(me.where, askSelf)
	if p != ForLoad {
		sent.Lock()
		if x := sent.by[me.where]; x != nil {
			x.ids[me.id] = true
		}
		sent.Unlock()
	}
	return me, most, nil
}

// left is called when a connection has ended.
func (me self) left() {
	if p, there := ownSessions.LoadAndDelete(ownSession{me.where, me.id}); !there || p == ForLoad {
		return
	}
	sent.Lock()
	if x := sent.by[me.where]; x != nil {
		delete(x.ids, me.id)
	}
	sent.Unlock()
	publish(me.where)
}

type ownSession struct {
	where string
	id    uint64
}

// ownSessions holds the connections of this process to all servers, with their Purpose.
var ownSessions sync.Map

// owns reports whether a session is Dyno's own: one of this process's or of another one's that
// shares its work, or one of the account that Dyno uses, from the same machine. The tag in front of
// a statement says nothing by itself, for anybody can write it.
func (me self) owns(id uint64, user, host string) bool {
	if _, mine := ownSessions.Load(ownSession{me.where, id}); mine {
		return true
	}
	return me.account(user, host) || me.othersOwn(id)
}

// asks reports whether a session is known by its number to be Dyno's own, and of no load.
func (me self) asks(id uint64) bool {
	if p, mine := ownSessions.Load(ownSession{me.where, id}); mine {
		return p != ForLoad
	}
	return me.othersOwn(id)
}

// othersOwn reports whether a session is of another process that shares its work.
func (me self) othersOwn(id uint64) bool {
	o := othersOn(me.where)
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ids[id] && time.Since(o.read) > freshWork {
		o.look(me.where, false)
	}
	return o.ids[id]
}

// account reports whether a session is of the account that Dyno uses, from the same machine.
func (me self) account(user, host string) bool {
	if user != me.user {
		return false
	}
	name, _, _ := cutLast(host, ':') // "localhost" and ::1 have no port, 127.0.0.1:4242 has
	return host == me.host || name == me.host
}

// Owns reports whether a session of the target's server, which its list of sessions shows with this
// id, user and host, is Dyno's own: a connection of this process or of another one that shares its
// work, or one of the account that Dyno uses, from this machine. To hide what it runs takes the tag
// as well.
func (t *Target) Owns(id uint64, user, host string) bool { return t.self.owns(id, user, host) }

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

func number(v driver.Value) uint64 {
	switch x := v.(type) {
	case int64:
		return uint64(x)
	case uint64:
		return x
	}
	n, _ := strconv.ParseUint(asText(v), 10, 64)
	return n
}

func asText(v driver.Value) string {
	switch x := v.(type) {
	case []byte:
		return string(x)
	case string:
		return x
	}
	return ""
}

// sent counts the statements of Dyno's own that this process has sent: by server and class, whose digest has lost the
// tag.
var sent = struct {
	sync.Mutex
	texts map[string][]string // keys of texts, which saves work
	by    map[string]*tally
	clock uint64
}{texts: map[string][]string{}, by: map[string]*tally{}}

// tally is what one server was sent.
type tally struct {
	classes
	at      uint64            // when last, by the number of all statements
	ids     map[uint64]bool   // connections, but for those of loads
	changed map[string]uint64 // counts that are not in the file yet
	anew    bool              // the file holds classes that are not counted any more
	file    shares
	others  others
}

// classes are numbers of statements, by class.Key of their class. EXPLAIN has as many as all users
// have: these begin anew.
type classes struct {
	keys, plans         map[string]uint64
	keyBytes, planBytes int // of the texts of the keys
}

// add counts n statements. Classes that are too many are not counted.
func (c *classes) add(key string, n uint64) (cleared, ok bool) {
	to, bytes, most := &c.keys, &c.keyBytes, sentClasses
	if strings.HasPrefix(key, "explain") {
		to, bytes, most = &c.plans, &c.planBytes, sentPlans
	}
	if *to == nil {
		*to = map[string]uint64{}
	}
	if _, known := (*to)[key]; !known {
		if len(*to) >= most || *bytes+len(key) > sentBytes {
			if most != sentPlans {
				return false, false
			}
			clear(*to)
			*bytes, cleared = 0, true
		}
		*bytes += len(key)
	}
	(*to)[key] += n
	return cleared, true
}

// all returns the counts of all classes.
func (c *classes) all() map[string]uint64 {
	all := make(map[string]uint64, len(c.keys)+len(c.plans))
	maps.Copy(all, c.plans)
	maps.Copy(all, c.keys)
	return all
}

// Bounds of sent, beyond which the server that was sent nothing for the longest time is forgotten. A statement of
// Dyno's own beyond them is shown like anybody's.
const (
	sentServers = 1000
	sentTexts   = 1000
	sentClasses = 5000
	sentPlans   = 500
	sentBytes   = 512 << 10 // of the keys of a server's statements, and of its plans: they name its tables
	sentLength  = 16 << 10
)

// Words that digests write in another way: the column too, and both of two words that mean one.
var (
	theWordUser    = lazyregexp.New(`(?i)(^|[\s,(])USER\b`)
	theWordColumns = lazyregexp.New(`(?i)^((?:/\*.*?\*/)?\s*SHOW )COLUMNS\b`)
)

// count takes note of a statement that is about to be sent.
func count(where, sql string) {
	if len(sql) > sentLength {
		return
	}
	_, words, _ := strings.Cut(sql, "*/ ") // after the tag
	plan := strings.HasPrefix(words, "EXPLAIN ")
	sent.Lock()
	defer sent.Unlock()
	keys, ok := sent.texts[sql]
	if !ok {
		keys = keysOf(sql)
		if !plan && len(sent.texts) < sentTexts {
			sent.texts[strings.Clone(sql)] = keys
		}
	}
	x := sent.by[where]
	if x == nil {
		if len(sent.by) >= sentServers {
			oldest := where
			for k, y := range sent.by {
				if o := sent.by[oldest]; o == nil || y.at < o.at {
					oldest = k
				}
			}
			if w := sharing.Load(); w != nil {
				go w.forget(oldest, sent.by[oldest])
			}
			delete(sent.by, oldest)
		}
		x = &tally{ids: map[uint64]bool{}, changed: map[string]uint64{}, file: shares{turn: make(chan struct{}, 1)}}
		sent.by[where] = x
	}
	sent.clock++
	x.at = sent.clock
	for _, key := range keys {
		cleared, ok := x.add(key, 1)
		if cleared {
			x.anew = true
			clear(x.changed) // all of it is written next, where that can be
		}
		if ok && sharing.Load() != nil {
			x.changed[key] = x.keys[key] + x.plans[key]
		}
	}
}

// keysOf returns the keys of the classes that servers may make of a statement.
func keysOf(sql string) (keys []string) {
	for _, s := range understood(sql) {
		for _, other := range []string{
			s, theWordUser.ReplaceAllString(s, "${1}SYSTEM_USER"),
			theWordColumns.ReplaceAllString(s, "${1}FIELDS"),
		} {
			keys = append(keys, class.Key(mytext.Fingerprint(other)))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// seldom are the keys of what a process asks only when it has given a question up: this one may never have sent it, and
// another dyno has.
var seldom = sync.OnceValue(func() []string { return keysOf(own(fmt.Sprintf(askLeft, 1))) })

// understood returns a statement as servers understand it that take some of its comments for code: MySQL of today,
// MariaDB, and those that take none.
func understood(sql string) []string {
	if !strings.Contains(sql, "!") {
		return []string{sql}
	}
	var mysql, mariadb, neither strings.Builder
	for i, end := 0, 0; i < len(sql); i = end {
		_, end = mytext.Next(sql, i)
		text := sql[i:end]
		if from, code := mytext.Executed(sql, i); code {
			if text = strings.TrimSuffix(sql[from:end], "*/"); sql[i+len("/*")] == 'M' {
				mariadb.WriteString(text)
			} else {
				mysql.WriteString(text)
			}
		} else if !strings.HasPrefix(text, "/*") {
			for _, b := range []*strings.Builder{&mysql, &mariadb, &neither} {
				b.WriteString(text)
			}
		}
	}
	return []string{mysql.String(), mariadb.String(), neither.String()}
}

// countTagged counts a statement if it is one of Dyno's own.
func countTagged(where, sql string) {
	if sqltext.Own(sql) {
		count(where, sql)
	}
}

// tell takes note of a statement of a session, which may have a meter, before it is sent.
func tell(where string, m *meter, sql string) {
	countTagged(where, sql)
	m.sent(sql)
	if m != nil || sqltext.Own(sql) {
		publish(where)
	}
}

// othersOn returns what other processes do on a server; nil where this one has not sent anything.
func othersOn(where string) *others {
	if sharing.Load() == nil {
		return nil
	}
	sent.Lock()
	defer sent.Unlock()
	if x := sent.by[where]; x != nil {
		return &x.others
	}
	return nil
}

// Companions returns how many other processes that share their work with this one had statements on the target's server
// when Sent was called last, and have not ended.
func (t *Target) Companions() (n int) {
	o := othersOn(t.self.where)
	if o == nil {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, x := range o.by {
		if len(x.keys) > 0 {
			n++
		}
	}
	return n
}

// Sent returns how often this process, and those that share their work with it, have sent each
// statement of their own to the target's server, whichever connection it used: by class.Key of the
// class, and of some that were not sent yet. Statements of loads are not among them.
func (t *Target) Sent() map[string]uint64 {
	where, all := t.self.where, map[string]uint64{}
	if o := othersOn(where); o != nil {
		o.mu.Lock()
		o.look(where, true)
		all = o.classes.all()
		o.mu.Unlock()
	}
	sent.Lock()
	defer sent.Unlock()
	if x := sent.by[where]; x != nil {
		for k, n := range x.all() {
			all[k] += n
		}
	}
	for _, k := range seldom() {
		all[k] += 0
	}
	return all
}
