package target

import (
	"context"
	"database/sql/driver"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dyno/internal/wire"
)

// TestMalformedAnswers: packets that the driver takes on trust cost a connection, in a pool and in a session, and nothing hangs.
func TestMalformedAnswers(t *testing.T) {
	for _, packet := range []string{"\xfc\x01", "\xff", "\xff\x01", "\xfd", "\x00", "\x00\xfc", "\xfb", "\x02", "\x01", "\xfe"} {
		var bad atomic.Value
		bad.Store("")
		f := &fake{answer: func(c io.Writer, sql string) bool {
			if word := bad.Load().(string); word == "" || !strings.Contains(sql, word) {
				return false
			}
			send(c, 1, []byte(packet))
			c.(io.Closer).Close()
			return true
		}}
		addr := f.listen(t)
		try := func(what string, do func(ctx context.Context) error) {
			t.Helper()
			bounded(t, what, func() {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				if err := do(ctx); err == nil {
					t.Errorf("%s: no error after %q", what, packet)
				}
			})
		}
		x, err := Open(t.Context(), spec(t, "mysql://u@"+addr+"/"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.Session(t.Context(), SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		bad.Store("hostile")
		try("session", func(ctx context.Context) error {
			_, err := s.Query(ctx, "SELECT 'hostile'", func([]driver.Value) {})
			return err
		})
		try("pool", func(ctx context.Context) error {
			var v string
			return x.DB().QueryRowContext(ctx, "SELECT 'hostile'").Scan(&v)
		})
		try("pool's row", func(ctx context.Context) error {
			rows, err := x.Reading().QueryContext(ctx, "SELECT 'hostile'")
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
			}
			return rows.Err()
		})
		bad.Store("VERSION()")
		try("opening", func(ctx context.Context) error {
			y, err := Open(ctx, spec(t, "mysql://u@"+addr+"/"))
			if err == nil {
				y.Close()
			}
			return err
		})
		s.Close()
		x.Close()
	}
}

// TestAnAnswerOfAnotherShape: who asks for two columns and gets one loses the answer and the connection.
func TestAnAnswerOfAnotherShape(t *testing.T) {
	f := &fake{answer: func(c io.Writer, sql string) bool {
		if !strings.Contains(sql, "hostile") {
			return false
		}
		rows(c, 1, func(row func(...string)) { row("one") })
		return true
	}}
	x, err := Open(t.Context(), spec(t, "mysql://u@"+f.listen(t)+"/"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s, err := x.Session(t.Context(), SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	second := 1
	if _, err := s.Query(t.Context(), "SELECT 'hostile', 2", func(row []driver.Value) { _ = row[second] }); err == nil || !strings.Contains(err.Error(), "another shape") {
		t.Errorf("%v", err)
	}
	if _, err := s.Query(t.Context(), "SELECT 1", nil); err == nil {
		t.Error("the connection is used again")
	}
}

// TestLongErrors: what a server says in an error is cut before anybody keeps it.
func TestLongErrors(t *testing.T) {
	f := &fake{answer: func(c io.Writer, sql string) bool {
		if !strings.Contains(sql, "hostile") {
			return false
		}
		return send(c, 1, append([]byte("\xff\x6c\x04#42000"), strings.Repeat("no ", 1<<20)...)) == nil
	}}
	x, err := Open(t.Context(), spec(t, "mysql://u@"+f.listen(t)+"/"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s, err := x.Session(t.Context(), SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Query(t.Context(), "SELECT 'hostile'", func([]driver.Value) {})
	other := x.DB().QueryRowContext(t.Context(), "SELECT 'hostile'").Err()
	for _, err := range []error{err, other} {
		if n, ok := ServerErrorNumber(err); !ok || n != 1132 || len(err.Error()) > wire.MaxMessage+500 {
			t.Errorf("error %d of %d bytes is kept, %.200v", n, len(err.Error()), err)
		}
	}
}

// TestMalformedLoginsLeaveNothing: the driver has a goroutine for each connection, which holds all of what the server said.
func TestMalformedLoginsLeaveNothing(t *testing.T) {
	for _, word := range []string{"SET ", "SELECT CONNECTION_ID"} {
		f := &fake{answer: func(c io.Writer, sql string) bool {
			if !strings.Contains(sql, word) {
				return false
			}
			more := []byte{0, 0, 0, 8, 0, 0, 0} // SERVER_MORE_RESULTS_EXISTS
			for i := range 2000 {
				send(c, byte(i+1), more)
			}
			send(c, byte(2001%256), []byte("\xff"))
			c.(io.Closer).Close()
			return true
		}}
		addr := f.listen(t)
		s := spec(t, "mysql://u@"+addr+"/")
		before := runtime.NumGoroutine()
		for range 30 {
			bounded(t, "a login", func() {
				if _, err := Open(t.Context(), s); err == nil {
					t.Errorf("it logged in, with a wrong answer to %s", word)
				}
			})
		}
		for range 100 {
			if runtime.NumGoroutine() < before+10 {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if n := runtime.NumGoroutine(); n >= before+10 {
			t.Errorf("%s: %d goroutines before, %d after", word, before, n)
		}
	}
}
