package sources

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/state"
)

// The texts in testdata were written by real servers: one transaction waits for another, and a deadlock was before.
func TestParseInnodb(t *testing.T) {
	f := func(file string, deadlock time.Duration, want map[string]float64) {
		t.Helper()
		b, err := os.ReadFile("testdata/innodb-" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		x := parseInnodb(string(b))
		got := map[string]float64{}
		for _, g := range x.figures {
			k := strings.TrimSuffix(g.name+" "+g.extra, " ")
			if _, twice := got[k]; twice {
				t.Errorf("%s: %s twice", file, k)
			}
			got[k] = g.value
		}
		for k, v := range want {
			k = strings.Replace(k, "~", "dyno_innodb_", 1)
			if g, ok := got[k]; v == -1 && ok || v != -1 && (!ok || g != v) {
				t.Errorf("%s: %s is %v %v, want %v", file, k, g, ok, v)
			}
		}
		if !x.deadlock.seen || x.deadlock.age != deadlock ||
			!strings.Contains(x.deadlock.text, "update d.t set v=1 where id=2") ||
			!strings.Contains(x.deadlock.text, "WE ROLL BACK") || strings.Contains(x.deadlock.text, "Trx id counter") {
			t.Errorf("%s: deadlock %v before, %q", file, x.deadlock.age, x.deadlock.text)
		}
		if x.foreign.seen {
			t.Errorf("%s: an error of a foreign key: %+v", file, x.foreign)
		}
	}
	f("mysql-5.6", 2*time.Second, map[string]float64{
		"~wait_array_reservations_total": 3, "~wait_array_signals_total": 3, "~spin_rounds_total lock=mutex": 60,
		"~os_waits_total lock=rw_shared": 2, "~latch_waiters": 0,
		"~transaction_ids_total": 1307, "~history_length": 6, "~purge_behind_transactions": 2,
		"~transactions state=active": 2, "~transactions state=lock_wait": 1, "~transaction_longest_seconds": 2,
		"~lock_wait_longest_seconds": 1, "~row_locks": 2, "~undo_entries": 1,
		"~pending_fsyncs file=log": 0, "~os_file_reads_total": 169, "~os_file_fsyncs_total": 22,
		"~pending_aio operation=read": 0, "~pending_aio operation=write": 0,
		"~change_buffer_pages state=segment": 2, "~lsn_bytes_total": 1638500, "~log_unflushed_bytes": 0,
		"~checkpoint_age_bytes": 1638500 - 1625987, "~log_ios_total": 22,
		"~memory_bytes of=total": 137363456, "~memory_bytes of=dictionary": 55470, "~pool_pages state=total": 8192,
		"~pool_pages state=free": 8024, "~pool_pages state=dirty": 37,
		"~pool_pages_written_total": 1, "~pool_pending operation=write_flush_list": 0,
		"mysql_engine_innodb_queries_in_queue": 0, "mysql_engine_innodb_read_views_open_inside_innodb": 0,
		"~rows_total operation=update": 4, "~rows_total operation=read": 4,
	})
	f("mysql-8.0", time.Second, map[string]float64{
		"~spin_waits_total lock=mutex": -1, "~spin_waits_total lock=rw_sx": 0, "~transactions state=lock_wait": 1,
		"~pending_aio operation=read": 0, "~rows_total operation=insert": 2,
	})
	f("mysql-9.7", time.Second, map[string]float64{
		"~wait_array_reservations_total": 20, "~transactions state=active": 2, "~transactions state=lock_wait": 1,
		"~history_length": 7, "~purge_behind_transactions": 3,
		"~log_capacity_bytes": 104857600, "~lsn_bytes_total": 19491687, "~checkpoint_age_bytes": 19491687 - 19489936,
		"~pool_pages state=old": 359, "~pool_made_young_total": 53,
		"~system_rows_total operation=delete": 168, "~rows_total operation=insert": 2,
		"mysql_engine_innodb_queries_inside_innodb": 0,
	})
	f("mariadb-10.11", time.Second, map[string]float64{
		"~latch_waiters": -1, "~wait_array_reservations_total": -1, "~transaction_ids_total": 28,
		"~transactions state=active": 2, "~transactions state=lock_wait": 1,
		"~lock_wait_longest_seconds": 0.70256, "~transaction_longest_seconds": 1, "~pending_fsyncs file=all": 0,
		"~pending_fsyncs file=log": -1, "~pending_aio operation=read": -1,
		"~lsn_bytes_total": 48712, "~log_unflushed_bytes": 48712 - 48644, "~checkpoint_age_bytes": 48712 - 44554,
		"~pool_pages state=dirty": 26, "~rows_total operation=read": -1,
		"mysql_engine_innodb_queries_inside_innodb": -1, "mysql_engine_innodb_read_views_open_inside_innodb": 0,
	})
}

// A statement of a client stands in the text as it is: nothing that it holds is taken for the server's.
func TestParseInnodbIsNotFooledByStatements(t *testing.T) {
	b, err := os.ReadFile("testdata/innodb-mysql-9.7.txt")
	if err != nil {
		t.Fatal(err)
	}
	const evil = "update d.t set v=4 where id=1 /*\n--------\nTRANSACTIONS\n------------\nnot so\n---\nLOG\n---\nLog " +
		"sequence number 7\nLast checkpoint at 1\n" +
		"----------\nSEMAPHORES\n----------\nOS WAIT ARRAY INFO: reservation count 99\n--------------\nROW " +
		"OPERATIONS\n--------------\nNumber of rows inserted 8, updated 8, deleted 8, read 8\n*/"
	text := strings.ReplaceAll(string(b), "update d.t set v=4 where id=1", evil)
	text = strings.Replace(text, "update d.t set v=1 where id=2", "update d.t set v=1 where id=2\n"+evil, 1)
	x := parseInnodb(text)
	for name, want := range map[string]float64{
		lsnMetric: 19491687, "dyno_innodb_wait_array_reservations_total": 20,
		"dyno_innodb_transaction_ids_total": 1567, "dyno_innodb_history_length": 7, "dyno_innodb_rows_total": 2,
	} {
		if got, ok := x.find(name); !ok || got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestParseInnodbSurvivesAnything(t *testing.T) {
	b, err := os.ReadFile("testdata/innodb-mysql-5.6.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for i := 0; i < len(text); i += 37 {
		parseInnodb(text[:i])
		parseInnodb(text[i:])
		parseInnodb(text[:i] + "\n---\nLOG\n---\n" + text[i/2:])
	}
	if x := parseInnodb(""); len(x.figures) != 0 || x.deadlock.seen {
		t.Errorf("nothing gave %+v", x)
	}
}

func TestParseInnodbWaitingThreads(t *testing.T) {
	x := parseInnodb("=====\n2026-11-21 10:00:00 0x7f INNODB MONITOR " +
		"OUTPUT\n=====\n----------\nSEMAPHORES\n----------\nOS WAIT ARRAY INFO: reservation count 5\n" +
		"--Thread 140 has waited at buf0buf.cc line 4100 for 3.00 seconds the semaphore:\nS-lock on " +
		"RW-latch\n--Thread 141 has waited at trx0undo.cc line 7 for 12.5 seconds the semaphore:\n" +
		"------------------------\nLATEST FOREIGN KEY ERROR\n------------------------\n2026-11-21 09:00:00 0x7f " +
		"Error in foreign key constraint\n" +
		"------------\nTRANSACTIONS\n------------\nTrx id counter 9\nPurge done for trx's n:o < 9 undo n:o < 0 " +
		"state: running\nHistory list length 0\n" +
		"---TRANSACTION 5, ACTIVE (PREPARED) 60 sec\n---TRANSACTION 6, ACTIVE 3 sec\n--------\nFILE " +
		"I/O\n--------\nPending normal aio reads: [1, 2] , aio writes: 4 [4, 0] ,\n----\nEND OF INNODB MONITOR " +
		"OUTPUT\n")
	f := func(name, extra string, want float64) {
		t.Helper()
		for _, g := range x.figures {
			if g.name == name && g.extra == extra {
				if g.value != want {
					t.Errorf("%s %s: got %v, want %v", name, extra, g.value, want)
				}
				return
			}
		}
		t.Errorf("no %s %s", name, extra)
	}
	f("dyno_innodb_latch_waiters", "", 2)
	f("dyno_innodb_latch_wait_longest_seconds", "", 12.5)
	f("dyno_innodb_transactions", "state=prepared", 1)
	f("dyno_innodb_transactions", "state=active", 2)
	f("dyno_innodb_transaction_longest_seconds", "", 60)
	f("dyno_innodb_pending_aio", "operation=read", 3)
	f("dyno_innodb_pending_aio", "operation=write", 4)
	if !x.foreign.seen || x.foreign.age != time.Hour {
		t.Errorf("foreign key error: %+v", x.foreign)
	}
}

func TestMatchLine(t *testing.T) {
	f := func(s, pattern string, want ...float64) {
		t.Helper()
		got, ok := matchLine(s, pattern)
		if ok != (want != nil) || len(got) != len(want) && ok {
			t.Fatalf("%q with %q: got %v %v", s, pattern, got, ok)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%q with %q: got %v", s, pattern, got)
			}
		}
	}
	f("Log flushed up to   12", "Log flushed up to #", 12)
	f("Log flushed up to", "Log flushed up to #")
	f("1.5 a, 2 b", "# a, # b", 1.5, 2)
	f("x a", "# a")
	f("5a", "# a")
	f("", "#")
	f("12. b", "#", 12)
}

func TestKeepText(t *testing.T) {
	f := func(in string, limit int, want string) {
		t.Helper()
		if got := keepText(in, limit); got != want {
			t.Fatalf("%q: got %q, want %q", in, got, want)
		}
	}
	f("short", 99, "short")
	f("a\xff", 99, "a?")
	long := keepText(strings.Repeat("ä", 1000), 101)
	if len(long) > 101 || !strings.HasPrefix(long, "ää") || !strings.HasSuffix(long, "ää") ||
		!strings.Contains(long, "… cut …") || strings.ToValidUTF8(long, "?") != long {
		t.Fatalf("%d bytes: %q", len(long), long)
	}
}

// TestInnodbTextHoldsNoSecrets: statements stand in the text as they were sent.
func TestInnodbTextHoldsNoSecrets(t *testing.T) {
	names, err := filepath.Glob("testdata/innodb-*.txt")
	if err != nil || len(names) < 3 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		if got := withoutSecrets(text); got != text {
			t.Errorf("%s: a text without secrets was changed", name)
		}
		for _, sql := range []string{
			"update users set password = 'hunter2' where id = 2",
			"update users\n set password\n =\n 'hunter2'\nwhere id = 2", "update users set password = 'hunter2",
		} {
			s := &innodbStatus{text: strings.ReplaceAll(text, "update d.t set v=1 where id=2", sql)}
			var st state.State
			s.Fill(&st)
			kept := st.EngineStatus
			if s.text == text || strings.Contains(kept, "hunter2") || len(kept) < len(text)/2 {
				t.Errorf("%s: what is kept of %q holds its secret, or too little: %d bytes", name, sql, len(kept))
			}
		}
	}
}
