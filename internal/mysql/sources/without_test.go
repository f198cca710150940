package sources

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/state"
)

// without is a server whose answers are longer than was asked for; row makes the n-th one, all are empty without it.
type without struct {
	end     int
	columns []string
	row     func(sql string, n int) []driver.Value
}

func (without) Generation() int                  { return 1 }
func (w without) Columns() []string              { return w.columns }
func (without) Owns(uint64, string, string) bool { return false }

func (without) Asks(uint64) bool { return false }
func (w without) Query(_ context.Context, sql string, row func([]driver.Value)) (int, error) {
	for n := range w.end {
		if w.row != nil {
			row(w.row(sql, n))
		} else {
			row(make([]driver.Value, strings.Count(sql[:strings.Index(sql, " FROM")], ",")+1))
		}
	}
	return w.end, nil
}

func (without) Facts() target.Facts                    { return target.Facts{Flavor: "mariadb"} }
func (without) Answer(target.Capability) target.Answer { return target.Answer{Has: true} }

// TestSessionsWithoutEnd: all are counted, some thousands are kept, and how many more there are is told.
func TestSessionsWithoutEnd(t *testing.T) {
	for _, c := range []struct {
		command          string
		wide             bool
		kept, left, idle int
		background       bool // threads of the server's own are no connections
	}{
		{command: "Query", kept: mostSessions, left: 2 * mostSessions},
		{command: "Daemon", kept: mostSessions, left: 2 * mostSessions, background: true},
		{command: "Sleep", idle: 3 * mostSessions},
		// each in a transaction, by the question
		{command: "Sleep", wide: true, idle: mostSessions / 2, left: 3*mostSessions - mostSessions/2},
	} {
		q := without{end: 3 * mostSessions, row: func(_ string, n int) []driver.Value {
			row := make([]driver.Value, 12)
			for i, v := range []string{
				fmt.Sprint(n + 1), "u", "h", "d", c.command, "x", fmt.Sprint(n),
				fmt.Sprint("SELECT ", n),
			} {
				row[i] = []byte(v)
			}
			return row
		}}
		seen := new(moment)
		s := newProcesslist(q, q, seen)
		s.read, s.few, s.count, s.gen, s.limit, s.wide = "SELECT", "SELECT", "SELECT", 1, state.MaxText, c.wide
		got := map[string]float64{}
		if err := s.Scrape(t.Context(), 1, func(m metric.Sample) { got[m.Name] += m.Value }); err != nil {
			t.Fatal(err)
		}
		seen.trxAt = 1
		var st state.State
		s.Fill(&st)
		if n := len(seen.sessions); n > mostSessions || len(s.ids) > mostSessions {
			t.Errorf("%+v: %d sessions and %d statements are kept", c, n, len(s.ids))
		}
		longest, connections := 0.0, 3*mostSessions
		if c.background {
			connections = 0
		}
		if c.command == "Query" {
			longest = 3*mostSessions - 1
		}
		if len(st.Sessions) != c.kept || st.Left.Sessions != c.left || st.Idle.Or(-1) != c.idle ||
			st.Connections.Or(-1) != connections ||
			got["mysql_info_schema_processlist_threads"] != 3*mostSessions ||
			got["mysql_info_schema_processlist_longest_seconds"] != longest {
			t.Errorf("%+v: %d sessions, %+v left out, %v idle of %v: %v", c, len(st.Sessions), st.Left,
				st.Idle, st.Connections, got)
		}
	}
}

// TestChannelsWithoutEnd: a replica that tells of more channels and columns than there can be.
func TestChannelsWithoutEnd(t *testing.T) {
	q := without{end: 2 * mostChannels}
	for n := range 2 * mostColumns {
		q.columns = append(q.columns, fmt.Sprint("c", n))
	}
	q.row = func(string, int) []driver.Value {
		row := make([]driver.Value, len(q.columns))
		for i := range row {
			row[i] = []byte("1")
		}
		return row
	}
	s := newReplication(q, q)
	s.sql, s.worker, s.gen = "SHOW", "SELECT", 1
	n := map[bool]int{}
	if err := s.Scrape(t.Context(), 1, func(m metric.Sample) { n[strings.HasPrefix(m.Name, "dyno_")]++ }); err != nil {
		t.Fatal(err)
	}
	if own := n[false]; own > mostChannels*mostColumns || own < mostChannels*mostColumns/2 {
		t.Errorf("%d figures in the server's words", own)
	}
	if ours := n[true]; ours > 16*mostChannels {
		t.Errorf("%d figures in Dyno's words", ours)
	}
}

// TestMembersWithoutEnd: a server that tells of more members than a group can have.
func TestMembersWithoutEnd(t *testing.T) {
	q := without{end: 3 * mostMembers, row: func(sql string, n int) []driver.Value {
		if !strings.Contains(sql, "members") {
			return []driver.Value{[]byte("1")}
		}
		return []driver.Value{[]byte(fmt.Sprint("id", n)), []byte("ONLINE")}
	}}
	s := newGroupReplication(q, q)
	s.gen, s.members, s.keys = 1, "SELECT members", []string{"MEMBER_ID", "MEMBER_STATE"}
	s.stats.learned, s.stats.gen = true, 1
	n := 0
	if err := s.Scrape(t.Context(), 1, func(m metric.Sample) {
		if strings.HasSuffix(m.Name, "member_info") {
			n++
		}
	}); err != nil || n != mostMembers {
		t.Errorf("%d members: %v", n, err)
	}
}
