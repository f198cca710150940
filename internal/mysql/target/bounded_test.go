package target

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
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

// TestPoolAnswersHaveABound: a row that is a few bytes on the wire is not one for whoever keeps it. So a pool counts
// rows and values; who has room for longer answers gets more of them.
func TestPoolAnswersHaveABound(t *testing.T) {
	for _, c := range []struct {
		columns, rows int
		room          int64
		want          int // rows that come
	}{
		{columns: 1, rows: maxRows + 9, want: maxRows},
		{columns: 250, rows: maxCells/250 + 9, want: maxCells / 250},
		{columns: 250, rows: maxCells/250 + 9, room: 2 * maxAnswer, want: maxCells/250 + 9},
		{columns: 250, rows: maxCells/250 + 9, room: -1, want: maxCells/250 + 9},
	} {
		f := &fake{answer: func(w io.Writer, sql string) bool {
			if !strings.Contains(sql, "hostile") {
				return false
			}
			b := bufio.NewWriter(w)
			rows(b, c.columns, func(row func(...string)) {
				values := make([]string, c.columns)
				for range c.rows {
					row(values...)
				}
			})
			b.Flush()
			return true
		}}
		sp := spec(t, "mysql://u@"+f.listen(t)+"/")
		sp.MaxAnswer = c.room
		x, err := Open(t.Context(), sp)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := x.Reading().QueryContext(t.Context(), "SELECT 'hostile'")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rows.Next() {
			n++
		}
		err = rows.Err()
		rows.Close()
		if n != c.want || (err == nil) != (n == c.rows) || err != nil && !strings.Contains(x.Wrap("read", err).Error(),
			"the server's answer is too long") {
			t.Errorf("%d rows of %d values with room %d: %d came, want %d: %v", c.rows, c.columns,
				c.room, n, c.want, err)
		}
		x.Close()
	}
}

// TestCountsThatNobodyAskedFor: of what a session says it has counted no more is kept than was asked for.
func TestCountsThatNobodyAskedFor(t *testing.T) {
	now := map[string]float64{}
	take := spentRow(now)
	for n := range 1000 {
		take([]driver.Value{[]byte("Invented_" + itoa(n)), []byte("1")})
	}
	for _, name := range counted {
		take([]driver.Value{[]byte(strings.ToUpper(name)), []byte("2")})
	}
	if len(now) != len(counted) {
		t.Errorf("%d counts are kept, %d were asked for", len(now), len(counted))
	}
}

// TestNewKeysAreNoQuestion: a server may ask for new keys in the middle of an answer as often as it likes. The answer
// keeps its bound.
func TestNewKeysAreNoQuestion(t *testing.T) {
	const most = 1 << 20
	cert := certificates(t, "its")[0]
	addr := answer(t, func(c net.Conn) {
		var keys bytes.Buffer
		x := tls.Server(c, &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert},
			SessionTicketsDisabled: true, KeyLogWriter: &keys,
		})
		if _, err := x.Read(make([]byte, 64)); err != nil ||
			x.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
			t.Errorf("the question: %v, %x", err, x.ConnectionState().CipherSuite)
			return
		}
		_, line, _ := strings.Cut(keys.String(), "SERVER_TRAFFIC_SECRET_0 ")
		secret, err := hex.DecodeString(strings.Fields(line)[1])
		if err != nil {
			t.Error(err)
			return
		}
		expand := func(label string, n int) []byte { // RFC 8446, section 7.1
			b, err := hkdf.Expand(sha256.New, secret, "\x00"+string(rune(n))+string(rune(6+len(label)))+
				"tls13 "+label+"\x00", n)
			if err != nil {
				t.Error(err)
			}
			return b
		}
		for range 16 {
			block, _ := aes.NewCipher(expand("key", 16))
			gcm, _ := cipher.NewGCM(block)
			iv, seq := expand("iv", 12), uint64(0)
			say := func(kind byte, p []byte) {
				n := len(p) + 1 + gcm.Overhead()
				head, nonce := []byte{23, 3, 3, byte(n >> 8), byte(n)}, bytes.Clone(iv)
				binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(iv[4:])^seq)
				seq++
				_, _ = c.Write(gcm.Seal(head, nonce, append(p, kind), head))
			}
			for range most / 2 >> 14 {
				say(23, make([]byte, 1<<14))
			}
			say(22, []byte{24, 0, 0, 1, 1}) // KeyUpdate, and you too
			secret = expand("traffic upd", 32)
		}
	})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x := tls.Client(&greeted{Conn: c, most: most}, &tls.Config{InsecureSkipVerify: true})
	if _, err := x.Write([]byte("question")); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, x); n > most || n < most/2 || !errors.Is(err, errTooLong) {
		t.Errorf("%d bytes are one answer, at most %d may be: %v", n, most, err)
	}
}
