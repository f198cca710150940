package target

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestUnderstood(t *testing.T) {
	f := func(sql string, want ...string) {
		t.Helper()
		if got := understood(sql); !slices.Equal(got, want) {
			t.Errorf("%s: %q", sql, got)
		}
	}
	f("SELECT 1", "SELECT 1")
	f("/* dyno:x */ SELECT 1 /*!50700 , 2 */ /*M!100101 , 3 */", " SELECT 1  , 2  ", " SELECT 1   , 3 ", " SELECT 1  ")
	f("SELECT '/*!50700 x */', `/*M! y */` /*! , 3 */", "SELECT '/*!50700 x */', `/*M! y */`  , 3 ",
		"SELECT '/*!50700 x */', `/*M! y */` ", "SELECT '/*!50700 x */', `/*M! y */` ")
	f("SELECT 1 /*!50700 , 2", "SELECT 1  , 2", "SELECT 1 ", "SELECT 1 ")
}

func TestOwns(t *testing.T) {
	me := self{id: 7, user: "dyno", host: "127.0.0.1", where: t.Name()}
	ownSessions.Store(ownSession{me.where, 9}, ForReading)
	defer self{id: 9, where: me.where}.left()
	f := func(id uint64, user, host string, want bool) {
		t.Helper()
		if got := me.owns(id, user, host); got != want {
			t.Errorf("%d %s@%s: %v", id, user, host, got)
		}
	}
	f(9, "load", "10.0.0.1:1", true) // another account of this process
	f(8, "load", "127.0.0.1:1", false)
	f(8, "dyno", "127.0.0.1:4242", true) // another process
	f(8, "dyno", "127.0.0.1", true)
	f(8, "dyno", "10.0.0.1:4242", false)
	me.host = "::1"
	f(8, "dyno", "::1", true)
	f(8, "dyno", "::1:4242", true)
}

// TestPlansPushNothingOut: users have as many classes of statements as they like, and Dyno explains them.
func TestPlansPushNothingOut(t *testing.T) {
	x := &Target{self: self{where: t.Name()}}
	var plan string
	for i := range 2 * sentClasses {
		plan = sqltext.Tagged("explain", "X", "EXPLAIN FORMAT=TRADITIONAL SELECT 1 FROM `"+strings.Repeat("a", i/100+1)+
			strings.Repeat("b", i%100)+"`")
		countTagged(x.self.where, plan)
	}
	own := sqltext.Tagged("x", "", "SELECT of_dyno FROM own")
	countTagged(x.self.where, own)
	sent := x.Sent()
	for _, sql := range []string{plan, own} {
		if sent[class.Key(mytext.Fingerprint(sql))] != 1 {
			t.Errorf("not counted: %s", sql)
		}
	}
	if len(sent) > sentPlans+1+len(seldom()) {
		t.Errorf("%d classes are kept", len(sent))
	}
}

// TestWordsThatDigestsWriteOtherwise: SYSTEM_USER for USER, whether it is a function or a column, but no name of a
// table; FIELDS for COLUMNS.
func TestWordsThatDigestsWriteOtherwise(t *testing.T) {
	x := &Target{self: self{where: t.Name()}}
	asked := "select info from information_schema.processlist where system_user = substring_index(system_user(), ?, " +
		"?) and id = ?"
	if n, known := x.Sent()[class.Key(asked)]; !known || n != 0 {
		// another dyno asks it when it has given a question up
		t.Errorf("what this process has not asked yet: known: %v, %d", known, n)
	}
	f := func(sent, digest string) {
		t.Helper()
		countTagged(x.self.where, own(sent))
		if x.Sent()[class.Key(digest)] != 1 {
			t.Errorf("not counted: %s: %v", digest, x.Sent())
		}
	}
	f(fmt.Sprintf(askLeft, 7), asked)
	f("SELECT user, host FROM mysql.user ORDER BY user, host", "select system_user, host from mysql.user order by "+
		"system_user, host")
	f("SHOW COLUMNS FROM mysql.user", "show fields from mysql.user")
}

// TestWhatASessionSaysFirstIsCounted looks at the digests of a server that knows this process only.
func TestWhatASessionSaysFirstIsCounted(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			db := s.DB(t, "")
			if err := db.Ping(); err != nil {
				t.Fatal(err)
			}
			s.Exec(t, "TRUNCATE performance_schema.events_statements_summary_by_digest")
			x := open(t, s, "root")
			for _, o := range []SessionOptions{
				{},
				{Purpose: ForReading, Limit: 7},
				{Purpose: ForChanges, Settings: map[string]string{"lock_wait_timeout": "3"}},
			} {
				ses, err := x.Session(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				defer ses.Close()
			}
			if err := x.DB().Ping(); err != nil {
				t.Fatal(err)
			}
			rows, err := db.Query("SELECT DIGEST_TEXT, COUNT_STAR FROM " +
				"performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT NOT LIKE 'TRUNCATE%'")
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			sent := x.Sent()
			n := 0
			for rows.Next() {
				var text string
				var count uint64
				if err := rows.Scan(&text, &count); err != nil {
					t.Fatal(err)
				}
				n++
				if got := sent[class.Key(mytext.FromDigestText(text))]; got < count || got > 2*count {
					// what a server of another kind would make of one may be another
					t.Errorf("the server counts %d of %s, this process %d", count, text, got)
				}
			}
			if err := rows.Err(); err != nil || n < 8 {
				t.Errorf("%d classes, %v", n, err)
			}
		})
	}
}

// TestServersWithoutEnd: a server that calls itself something new each time does not take the count of Dyno's own work
// from others.
func TestServersWithoutEnd(t *testing.T) {
	const statement, here = "/* dyno:test */ SELECT 1", "the server that is watched"
	before := footprintOn(here)
	before.mu.Lock()
	before.live++
	before.mu.Unlock()
	for i := range 3 * sentServers {
		where := fmt.Sprintf("another name %d", i)
		count(where, statement)
		footprintOn(where)
		count(here, statement)
	}
	count("a server of today", statement)
	sent.Lock()
	now, fresh, n := sent.by[here], sent.by["a server of today"], len(sent.by)
	sent.Unlock()
	if now == nil || fresh == nil || n > sentServers {
		t.Errorf("what was sent to the server is kept: %v, to a new one: %v, of %d servers",
			now != nil, fresh != nil, n)
	}
	if now != nil {
		for _, times := range now.keys {
			if times != 3*sentServers {
				t.Errorf("%d statements are counted, %d were sent", times, 3*sentServers)
			}
		}
	}
	if f := footprintOn("a server of today"); f == nil || footprintOn(here) != before {
		t.Errorf("a new server has the footprint %v, and the one with sessions another than before", f)
	}
	before.mu.Lock()
	before.live--
	before.mu.Unlock()
}

// TestStatementsWithNamesWithoutEnd: statements of Dyno's own name a server's tables, which may have ever new names.
func TestStatementsWithNamesWithoutEnd(t *testing.T) {
	t.Cleanup(ShareWork("/dev/null/nowhere")) // where nothing can be written
	for _, words := range []string{"SELECT 1 FROM ", "EXPLAIN SELECT 1 FROM "} {
		for i := range 2 * sentBytes / 4000 {
			count("a server with names", fmt.Sprintf("/* dyno:test */ %s`%s%s`", words, strings.Repeat("a", i),
				strings.Repeat("x", 4000)))
		}
	}
	sent.Lock()
	defer sent.Unlock()
	x := sent.by["a server with names"]
	if len(x.changed) > len(x.keys)+len(x.plans) {
		t.Errorf("%d changes wait to be written, of %d and %d statements", len(x.changed), len(x.keys), len(x.plans))
	}
	for _, c := range []struct {
		keys  map[string]uint64
		bytes int
	}{{x.keys, x.keyBytes}, {x.plans, x.planBytes}} {
		n := 0
		for k := range c.keys {
			n += len(k)
		}
		if n == 0 || n > sentBytes || n != c.bytes {
			t.Errorf("%d bytes of keys are kept, %d are counted", n, c.bytes)
		}
	}
}

// TestWhatSessionsLeaveOut: where a session does not count all that the totals do, Dyno's part is not known.
func TestWhatSessionsLeaveOut(t *testing.T) {
	f := func(flavor dbms.Flavor, version string, want bool) {
		t.Helper()
		if got := leavesBytesOut(Facts{Flavor: flavor, Version: ParseVersion(version)}); got != want {
			t.Errorf("%s %s: %v", flavor, version, got)
		}
	}
	f("mariadb", "10.11.19-MariaDB", false)
	f("mariadb", "11.8.9-MariaDB", true)
	f("mysql", "11.8.9", false)
}
