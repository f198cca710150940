package target

import (
	"io"
	"strings"
	"testing"

	"dyno/test/servers"
)

// TestAnswersHaveABound: a server whose answer has no end costs a question, not the program.
func TestAnswersHaveABound(t *testing.T) {
	cell := strings.Repeat("x", 60_000)
	forever := map[string]func(io.Writer, string) bool{
		"rows": func(c io.Writer, sql string) bool {
			if !strings.Contains(sql, "SHOW GLOBAL VARIABLES") {
				return false
			}
			rows(c, 2, func(row func(...string)) {
				for n := range 3 * maxVariables {
					row(itoa(n), "1")
				}
			})
			return true
		},
		"bytes": func(c io.Writer, sql string) bool {
			if !strings.Contains(sql, "SHOW GLOBAL VARIABLES") {
				return false
			}
			rows(c, 2, func(row func(...string)) {
				for range 4 * maxAnswer / len(cell) {
					row("same", cell)
				}
			})
			return true
		},
		"one value": func(c io.Writer, sql string) bool {
			if !strings.Contains(sql, "SHOW GLOBAL VARIABLES") {
				return false
			}
			chunk := append([]byte{0xff, 0xff, 0xff, 0}, make([]byte, 1<<24-1)...)
			for n := range 4 * maxAnswer >> 24 {
				chunk[3] = byte(1 + n)
				if _, err := c.Write(chunk); err != nil {
					break
				}
			}
			return true
		},
	}
	for name, say := range forever {
		f := &fake{answer: say}
		addr := f.listen(t)
		bounded(t, name+" without end", func() {
			x, err := Open(t.Context(), spec(t, "mysql://u@"+addr+"/"))
			if err == nil {
				x.Close()
				t.Errorf("%s: opened", name)
			} else if !strings.Contains(err.Error(), "the server's answer") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestSessionAnswersHaveABound: a session of Dyno's own has the bound, one of a load has none, for it keeps no row.
func TestSessionAnswersHaveABound(t *testing.T) {
	s := servers.Start(t, "mariadb", "max_allowed_packet=64M")
	x := open(t, s, "root")
	half := "SELECT REPEAT('x', " + itoa(maxAnswer/2) + ")"
	for unbounded, want := range map[bool]string{false: "the server's answer", true: ""} {
		ses, err := x.Session(t.Context(), SessionOptions{Unbounded: unbounded})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // each is an answer of its own
			if n, err := ses.Query(t.Context(), half, nil); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		_, err = ses.Query(t.Context(), half+" UNION ALL "+half+" UNION ALL "+half, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("unbounded %v: %v", unbounded, err)
		}
		ses.Close()
	}
}
