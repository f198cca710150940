package target

import (
	"encoding/binary"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

// fake is a server of the test's own that lets everybody in, for what no honest server says.
type fake struct {
	variables map[string]string
	// answer, when not nil, may answer a statement in its own way; it reports whether it did.
	answer func(c io.Writer, sql string) bool
}

// listen answers until the test ends and returns where.
func (f *fake) listen(t *testing.T) string {
	t.Helper()
	return answer(t, f.serve)
}

// serve answers on one connection.
func (f *fake) serve(c net.Conn) {
	greet := slices.Clone(good)
	binary.LittleEndian.PutUint16(greet, uint16(len(greet)-4))
	if _, err := c.Write(greet); err != nil {
		return
	}
	if _, err := packetFrom(c); err != nil {
		return
	}
	fine := []byte{0, 0, 0, 2, 0, 0, 0}
	send(c, 2, fine)
	for {
		p, err := packetFrom(c)
		if err != nil || len(p) == 0 || p[0] == 1 {
			return
		}
		sql := string(p[1:])
		switch {
		case p[0] != 3:
			send(c, 1, fine)
		case f.answer != nil && f.answer(c, sql):
		case strings.Contains(sql, "SHOW GLOBAL VARIABLES"):
			rows(c, 2, func(row func(...string)) {
				for _, k := range slices.Sorted(maps.Keys(f.variables)) {
					row(k, f.variables[k])
				}
			})
		case strings.Contains(sql, "VERSION()"):
			rows(c, 2, func(row func(...string)) { row("9.7.4", "u@%") })
		case strings.Contains(sql, "max_allowed_packet"):
			rows(c, 1, func(row func(...string)) { row("67108864") })
		case strings.Contains(sql, "CONNECTION_ID()") && !strings.Contains(sql, "threads"):
			rows(c, 7, func(row func(...string)) { row("1", "151", "u@localhost", "fake", "3306", "/data/", "") })
		case strings.Contains(sql, "Threads_connected"):
			rows(c, 2, func(row func(...string)) { row("Threads_connected", "1") })
		case strings.HasPrefix(sql, "SET"):
			send(c, 1, fine)
		case strings.Contains(sql, "SHOW STATUS") || strings.Contains(sql, "INFORMATION_SCHEMA") ||
			strings.Contains(sql, "information_schema"):
			rows(c, 2, func(func(...string)) {})
		default:
			send(c, 1, append([]byte{0xff, 0x7a, 0x04, '#'}, "42S02no such table"...))
		}
	}
}

func packetFrom(c io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, err
	}
	b := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	_, err := io.ReadFull(c, b)
	return b, err
}

func send(c io.Writer, seq byte, payload []byte) error {
	n := len(payload)
	_, err := c.Write(append([]byte{byte(n), byte(n >> 8), byte(n >> 16), seq}, payload...))
	return err
}

func text(s string) []byte {
	if len(s) < 251 {
		return append([]byte{byte(len(s))}, s...)
	}
	return append(append([]byte{0xfd}, byte(len(s)), byte(len(s)>>8), byte(len(s)>>16)), s...)
}

// rows answers with columns of text; f adds the rows. It ends with an EOF packet, or an OK one for clients that want
// that.
func rows(c io.Writer, columns int, f func(row func(...string))) { rowsOf(c, typeText, columns, f) }

const (
	typeLong = 3
	typeText = 0xfd
)

// rowsOf answers with columns of a type.
func rowsOf(c io.Writer, kind byte, columns int, f func(row func(...string))) {
	seq := byte(1)
	out := func(p []byte) { send(c, seq, p); seq++ }
	out([]byte{byte(columns)})
	for range columns {
		var p []byte
		for _, s := range []string{"def", "", "", "", "x", ""} {
			p = append(p, text(s)...)
		}
		out(append(p, 0x0c, 33, 0, 0, 1, 0, 0, kind, 0, 0, 0, 0, 0))
	}
	f(func(cells ...string) {
		var p []byte
		for _, s := range cells {
			p = append(p, text(s)...)
		}
		out(p)
	})
	out([]byte{0xfe, 0, 0, 2, 0, 0, 0})
}
