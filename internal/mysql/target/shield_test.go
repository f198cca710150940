package target

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/wire"
)

// TestMalformedAnswers: packets that the driver takes on trust cost a connection, in a pool and in a session, and
// nothing hangs.
func TestMalformedAnswers(t *testing.T) {
	for _, packet := range []string{
		"\xfc\x01", "\xff", "\xff\x01", "\xfd", "\x00", "\x00\xfc", "\xfb",
		"\x02", "\x01", "\xfe",
	} {
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
	if _, err := s.Query(t.Context(), "SELECT 'hostile', 2", func(row []driver.Value) {
		_ = row[second]
	}); err == nil || !strings.Contains(err.Error(), "a shape other") {
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

	// Nor what the driver, or database/sql, says of a value that is no number, or of a key that is none.
	long := strings.Repeat("\x01", 8<<20)
	for _, kind := range []byte{typeLong, typeText} {
		f := &fake{answer: func(c io.Writer, sql string) bool {
			if !strings.Contains(sql, "hostile") {
				return false
			}
			rowsOf(c, kind, 1, func(row func(...string)) { row(long) })
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
		var n int
		_, err = s.Query(t.Context(), "SELECT 'hostile'", func([]driver.Value) {})
		other := x.Wrap("read", x.DB().QueryRowContext(t.Context(), "SELECT 'hostile'").Scan(&n))
		if (err == nil) != (kind == typeText) || other == nil {
			t.Errorf("kind %d: %.200v, %.200v", kind, err, other)
		}
		for _, err := range []error{err, other} {
			if err != nil && len(err.Error()) > 5*wire.MaxMessage {
				t.Errorf("kind %d: an error of %d bytes is kept, %.200v", kind, len(err.Error()), err)
			}
		}
	}
}

// TestMalformedLoginsLeaveNothing: the driver has a goroutine for each connection, which holds all of what the server
// said.
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
			forgetMalformedAt(s.Place())
			bounded(t, "a login", func() {
				if _, err := Open(t.Context(), s); err == nil {
					t.Errorf("it logged in, with a wrong answer to %s", word)
				} else if d := Patience(err, time.Second); errors.Is(err, errMalformed) && d < retryFull {
					t.Errorf("it is asked again after %v", d)
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

// forgetMalformedAt ends that a place is left alone.
func forgetMalformedAt(place string) {
	malformed.mu.Lock()
	defer malformed.mu.Unlock()
	delete(malformed.at, place)
}

// TestMalformedLoginsAreFew: what the driver keeps of one cannot be freed, so that the next is late, whoever asks.
func TestMalformedLoginsAreFew(t *testing.T) {
	var logins atomic.Int64
	addr := answer(t, func(c net.Conn) {
		greet := slices.Clone(good)
		binary.LittleEndian.PutUint16(greet, uint16(len(greet)-4))
		if _, err := c.Write(greet); err != nil {
			return
		}
		if _, err := packetFrom(c); err == nil {
			logins.Add(1)
			send(c, 2, []byte{0}) // an OK packet without the rest, of which the driver panics
		}
	})
	s := spec(t, "mysql://u@"+addr+"/")
	for range 5 {
		if _, err := Open(t.Context(), s); KindOf(err) != endpoint.NotAServer || !errors.Is(err, errMalformed) {
			t.Errorf("a malformed login: %v", err)
		}
	}
	if n := logins.Load(); n != 1 {
		t.Errorf("%d logins", n)
	}
	var h held
	h.at = map[string]heldPlace{"x": {}}
	err := &endpoint.Error{Kind: endpoint.NotAServer, Err: errMalformed}
	for range 9 {
		h.add("x", false, err)
		h.add("x", false, err) // at the same time
		p := h.at["x"]
		p.last = p.last.Add(-p.pause)
		h.at["x"] = p
	}
	h.add("x", false, err)
	if p := h.at["x"].pause; p != retryFullMax || h.why("x", false) == nil || h.why("y", false) != nil {
		t.Errorf("it is left alone for %v", p)
	}
	h.at["x"] = heldPlace{err: err, last: time.Now(), pause: time.Hour}
	asked := 0
	for range 4 * mostAsked {
		if h.why("x", true) != nil {
			continue
		}
		if h.why("x", true) != nil {
			t.Error("a login that is none of the malformed counts")
		}
		asked++
		h.add("x", false, err) // of another login, which began before
		if h.why("x", true) != nil {
			t.Error("a change pays for the logins of others")
		}
		h.add("x", true, err) // the login of a change is malformed as well
		if h.why("x", true) == nil {
			t.Error("a change tries again at once")
		}
		p := h.at["x"]
		p.next = time.Time{}
		h.at["x"] = p
	}
	if asked != mostAsked {
		t.Errorf("a change asked %d times in one pause", asked)
	}
}

// TestWhatAServerSaysOfItselfHasABound: it is kept, and told in the reasons of all sources, in lists of all targets and
// in logs.
func TestWhatAServerSaysOfItselfHasABound(t *testing.T) {
	long := strings.Repeat("'", longestFact+1)
	good := func() *fake { return &fake{variables: map[string]string{"hostname": "h", "port": "3306"}} }
	says := func(word string, cells ...string) *fake {
		f := good()
		f.answer = func(c io.Writer, sql string) bool {
			if !strings.Contains(sql, word) {
				return false
			}
			rows(c, len(cells), func(row func(...string)) { row(cells...) })
			return true
		}
		return f
	}
	variable := func(name, value string) *fake {
		f := good()
		f.variables[name] = value
		return f
	}
	for what, f := range map[string]*fake{
		"account":            says("CURRENT_USER()", "9.7.4", long+"@h"),
		"version":            says("CURRENT_USER()", long, "u@%"),
		"user of a session":  says("CONNECTION_ID()", "1", "151", long+"@localhost", "fake", "3306", "/data/", ""),
		"host of a session":  says("CONNECTION_ID()", "1", "151", "u@localhost", long, "3306", "/data/", ""),
		"hostname":           variable("hostname", long),
		"comment":            variable("version_comment", long),
		"directory of data":  variable("datadir", long),
		"name of its socket": variable("socket", long),
	} {
		bounded(t, what, func() {
			if x, err := Open(t.Context(), spec(t, "mysql://u@"+f.listen(t)+"/")); err == nil {
				x.Close()
				t.Errorf("its %s has no bound", what)
			} else if !errors.Is(err, errTooLong) || len(err.Error()) > longestFact {
				t.Errorf("%s: %.300v", what, err)
			}
		})
	}
	f := variable("a", strings.Repeat("x", longestValue+1))
	f.variables["b"], f.variables[long] = strings.Repeat("x", longestValue), "c"
	x, err := Open(t.Context(), spec(t, "mysql://u@"+f.listen(t)+"/"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	_, a := x.Variable("a")
	b, _ := x.Variable("b")
	if _, l := x.Variable(long); a || l || len(b) != longestValue {
		t.Errorf("a variable that is too long is kept: %v, %v; of one that is not %d bytes are", a, l, len(b))
	}
}
