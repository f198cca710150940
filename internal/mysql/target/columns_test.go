package target

import (
	"bytes"
	"context"
	"database/sql/driver"
	"io"
	"strings"
	"testing"
	"time"
)

// TestColumnsThatAServerClaims: a claim of more columns than a result can have costs a connection. Without the look at
// it the process ends, "out of memory", and takes all others' targets with it.
func TestColumnsThatAServerClaims(t *testing.T) {
	const many = "\xfe\x00\x00\x00\x00\x00\x01\x00\x00" // 2^40
	for name, answer := range map[string][]string{
		"at once":             {many},
		"16 bits":             {"\xfc\x01\x10"},
		"24 bits":             {"\xfd\xff\xff\xff"},
		"after an OK":         {"\x00\x00\x00\x0a\x00\x00\x00", many},
		"after a long OK":     {"\x00\x00\x00\x0a\x00\x00\x00" + strings.Repeat("x", 1<<24-1-7), "", many},
		"after no columns":    {"\x00\x00\x00\x0a\x00\x00\x00", "\xfc\x00\x00", many},
		"with bytes after it": {many + strings.Repeat("x", 100)},
	} {
		for _, pieces := range []bool{false, true} {
			if pieces && len(answer[0]) > 1000 {
				continue
			}
			f := &fake{answer: func(c io.Writer, sql string) bool {
				if !strings.Contains(sql, "hostile") {
					return false
				}
				if pieces { // as TLS and networks may cut it
					c = bytewise{c}
				}
				for i, p := range answer {
					send(c, byte(i+1), []byte(p))
				}
				return true
			}}
			x, err := Open(t.Context(), spec(t, "mysql://u@"+f.listen(t)+"/"))
			if err != nil {
				t.Fatal(err)
			}
			s, err := x.Session(t.Context(), SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			if _, err := s.Query(ctx, "SELECT 'hostile'", func([]driver.Value) {}); err == nil || ctx.Err() != nil {
				t.Errorf("%s, session: %v", name, err)
			}
			var v string
			if err := x.Reading().QueryRowContext(ctx, "SELECT 'hostile'").Scan(&v); err == nil || ctx.Err() != nil {
				t.Errorf("%s, pool: %v", name, err)
			}
			cancel()
			s.Close()
			x.Close()
		}
	}
}

// TestResultsWithoutEnd: each result of an answer makes the driver keep something, also where answers have no bound,
// and a chain of them never ends.
func TestResultsWithoutEnd(t *testing.T) {
	const ok, eof = "\x00\x00\x00\x0a\x00\x00\x00", "\xfe\x00\x00\x0a\x00" // more results follow
	column := "\x03def\x00\x00\x00\x01c\x00\x0c\x21\x00\xff\xff\x00\x00\xfd\x00\x00\x00\x00\x00"
	for name, result := range map[string][]string{
		"OK":                  {ok},
		"results and OK":      {"\x01", column, eof, eof, ok},
		"results with a row":  {"\x01", column, eof, "\x011", eof},
		"an OK in other form": {ok + "\x00"},
	} {
		most := mostResults * 4
		f := &fake{answer: func(c io.Writer, sql string) bool {
			if !strings.Contains(sql, "hostile") {
				return false
			}
			var b bytes.Buffer
			seq := byte(1)
			for i := range most {
				for _, p := range result {
					_ = send(&b, seq, []byte(p))
					seq++
				}
				if i%100 == 0 || i == most-1 {
					if _, err := c.Write(b.Bytes()); err != nil {
						break
					}
					b.Reset()
				}
			}
			_ = send(c, seq, []byte("\x00\x00\x00\x02\x00\x00\x00"))
			return true
		}}
		sp := spec(t, "mysql://u@"+f.listen(t)+"/")
		sp.MaxAnswer = -1
		x, err := Open(t.Context(), sp)
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.Session(t.Context(), SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if _, err := s.Exec(ctx, "SET @hostile = 1"); err == nil || ctx.Err() != nil {
			t.Errorf("%s, Exec: %v", name, err)
		}
		s.Close()
		if s, err = x.Session(t.Context(), SessionOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Query(ctx, "SELECT 'hostile'", func([]driver.Value) {}); err == nil || ctx.Err() != nil {
			t.Errorf("%s, Query: %v", name, err)
		}
		cancel()
		s.Close()
		x.Close()
	}
}

type bytewise struct{ io.Writer }

func (w bytewise) Write(b []byte) (int, error) {
	for i := range b {
		if _, err := w.Writer.Write(b[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(b), nil
}
