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

	"dyno/internal/pattern"
	"dyno/internal/sqltext"
)

// self is what a connection has learned about itself.
type self struct {
	id         uint64
	user, host string // as the server's list of sessions shows them, the port left out
	where      string // a hash of what the server that answers calls itself: behind one address there may be several
}

// who asks a connection about itself and enters it among this process's own.
func who(ctx context.Context, c driver.QueryerContext) (me self, most uint64, err error) {
	rows, err := c.QueryContext(ctx, own(askSelf), nil)
	if err != nil {
		return me, 0, err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		return me, 0, err
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
	ownSessions.Store(ownSession{me.where, me.id}, true)
	count(me.where, askSelf)
	return me, most, nil
}

// left is called when a connection has ended.
func (me self) left() { ownSessions.Delete(ownSession{me.where, me.id}) }

type ownSession struct {
	where string
	id    uint64
}

// ownSessions holds the connections of this process to all servers.
var ownSessions sync.Map

// owns reports whether a session is Dyno's own: one of this process's, or one of the account that Dyno uses, from the same machine. The tag
// in front of a statement says nothing by itself, for anybody can write it.
func (me self) owns(id uint64, user, host string) bool {
	if _, mine := ownSessions.Load(ownSession{me.where, id}); mine {
		return true
	}
	return me.account(user, host)
}

// account reports whether a session is of the account that Dyno uses, from the same machine.
func (me self) account(user, host string) bool {
	if user != me.user {
		return false
	}
	name, _, _ := cutLast(host, ':') // "localhost" and ::1 have no port, 127.0.0.1:4242 has
	return host == me.host || name == me.host
}

// Owns reports whether a session of the target's server, which its list of sessions shows with this id, user and host, is Dyno's own: one of
// this process's connections, or one of the account that Dyno uses, from this machine. To hide what it runs takes the tag as well.
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

// sent counts the statements of Dyno's own that this process has sent: by server and class, whose digest has lost the tag.
var sent = struct {
	sync.Mutex
	texts map[string][]string // keys of texts, which saves work
	by    map[string]*tally
	plans map[string]*tally // of EXPLAIN, whose classes are as many as those of all users
	clock uint64
}{texts: map[string][]string{}, by: map[string]*tally{}, plans: map[string]*tally{}}

// tally is what one server was sent.
type tally struct {
	keys  map[string]uint64
	bytes int    // of the keys
	at    uint64 // when last, by the number of all statements
}

// Bounds of sent, beyond which the server that was sent nothing for the longest time is forgotten. A statement of Dyno's own beyond them is shown like anybody's.
const (
	sentServers = 1000
	sentTexts   = 1000
	sentClasses = 5000
	sentPlans   = 500       // then they begin anew
	sentBytes   = 512 << 10 // of the keys of a server: statements name its tables
	sentLength  = 16 << 10
)

// Words that digests write in another way: the column too, and both of two words that mean one.
var (
	theWordUser    = pattern.New(`(?i)(^|[\s,(])USER\b`)
	theWordColumns = pattern.New(`(?i)^((?:/\*.*?\*/)?\s*SHOW )COLUMNS\b`)
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
	servers, most := sent.by, sentClasses
	if plan {
		servers, most = sent.plans, sentPlans
	}
	x := servers[where]
	if x == nil {
		if len(servers) >= sentServers {
			oldest := where
			for k, y := range servers {
				if o := servers[oldest]; o == nil || y.at < o.at {
					oldest = k
				}
			}
			delete(servers, oldest)
		}
		x = &tally{keys: map[string]uint64{}}
		servers[where] = x
	}
	sent.clock++
	x.at = sent.clock
	by := x.keys
	for _, key := range keys {
		if _, ok := by[key]; !ok {
			if len(by) >= most || x.bytes+len(key) > sentBytes {
				if !plan {
					continue
				}
				clear(by)
				x.bytes = 0
			}
			x.bytes += len(key)
		}
		by[key]++
	}
}

// keysOf returns the keys of the classes that servers may make of a statement.
func keysOf(sql string) (keys []string) {
	for _, s := range understood(sql) {
		for _, other := range []string{s, theWordUser.ReplaceAllString(s, "${1}SYSTEM_USER"), theWordColumns.ReplaceAllString(s, "${1}FIELDS")} {
			keys = append(keys, sqltext.Key(sqltext.Fingerprint(other)))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// seldom are the keys of what a process asks only when it has given a question up: this one may never have sent it, and another dyno has.
var seldom = sync.OnceValue(func() []string { return keysOf(own(fmt.Sprintf(askLeft, 1))) })

// understood returns a statement as servers understand it that take some of its comments for code: MySQL of today, MariaDB, and those that
// take none.
func understood(sql string) []string {
	if !strings.Contains(sql, "!") {
		return []string{sql}
	}
	var mysql, mariadb, neither strings.Builder
	for {
		text, rest, found := strings.Cut(sql, "/*")
		for _, b := range []*strings.Builder{&mysql, &mariadb, &neither} {
			b.WriteString(text)
		}
		if !found {
			return []string{mysql.String(), mariadb.String(), neither.String()}
		}
		comment, more, _ := strings.Cut(rest, "*/")
		switch {
		case strings.HasPrefix(comment, "!"):
			mysql.WriteString(strings.TrimLeft(comment, "!0123456789"))
		case strings.HasPrefix(comment, "M!"):
			mariadb.WriteString(strings.TrimLeft(comment, "M!0123456789"))
		}
		sql = more
	}
}

// countTagged counts a statement if it is one of Dyno's own.
func countTagged(where, sql string) {
	if sqltext.Own(sql) {
		count(where, sql)
	}
}

// Sent returns how often this process has sent each statement of its own to the target's server, whichever connection it used: by
// sqltext.Key of the class, and of some that it has not sent yet. Statements of loads are not among them.
func (t *Target) Sent() map[string]uint64 {
	sent.Lock()
	defer sent.Unlock()
	all := map[string]uint64{}
	for _, servers := range []map[string]*tally{sent.plans, sent.by} {
		if x := servers[t.self.where]; x != nil {
			maps.Copy(all, x.keys)
		}
	}
	for _, k := range seldom() {
		all[k] += 0
	}
	return all
}
