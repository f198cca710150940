package loader

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/workload"
)

// heard is a generator that keeps the rows.
type heard struct {
	workload.Generator
	rows []string
}

func (h *heard) Row(row []workload.Datum) {
	var list []string
	for _, d := range row {
		list = append(list, d.String())
	}
	h.rows = append(h.rows, strings.Join(list, " "))
}

func newCodec() *codec {
	plan := &workload.Plan{Statements: []workload.Statement{
		{SQL: "SELECT a, b FROM t WHERE a = ? AND b = ?"}, {SQL: "SELECT ?", Text: true},
	}}
	return &codec{plan: plan, stmts: []*prepared{newPrepared(&pgconn.StatementDescription{
		Name: "s0", ParamOIDs: []uint32{pgtype.Int4OID, pgtype.TextOID},
		Fields: []pgconn.FieldDescription{{DataTypeOID: pgtype.Int4OID}, {DataTypeOID: pgtype.TextOID}},
	}), nil}}
}

// TestCommandsAsTheDriverReadsThem decodes what the codec sends with the driver's own protocol package.
func TestCommandsAsTheDriverReadsThem(t *testing.T) {
	c := newCodec()
	out, err := c.AppendCall(nil, &workload.Call{Args: []workload.Datum{workload.Int(-7), {}}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err = c.AppendCall(
		out,
		&workload.Call{Statement: 1, Args: []workload.Datum{workload.String("it's")}},
	); err != nil {
		t.Fatal(err)
	}
	out = c.AppendText(out, "ROLLBACK")
	back := pgproto3.NewBackend(strings.NewReader(string(out)), nil)
	next := func() pgproto3.FrontendMessage {
		t.Helper()
		m, err := back.Receive()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if b, ok := next().(*pgproto3.Bind); !ok || b.PreparedStatement != "s0" || b.DestinationPortal != "" ||
		len(b.Parameters) != 2 || string(b.Parameters[0]) != "-7" || b.Parameters[1] != nil ||
		len(b.ParameterFormatCodes)+len(b.ResultFormatCodes) != 0 {
		t.Errorf("%+v", b)
	}
	if e, ok := next().(*pgproto3.Execute); !ok || e.Portal != "" || e.MaxRows != 0 {
		t.Errorf("%+v", e)
	}
	if s, ok := next().(*pgproto3.Sync); !ok {
		t.Errorf("%+v", s)
	}
	for _, want := range []string{"SELECT 'it''s'", "ROLLBACK"} {
		if q, ok := next().(*pgproto3.Query); !ok || q.String != want {
			t.Errorf("%+v, want %s", q, want)
		}
	}
	if _, err := c.AppendCall(nil, &workload.Call{Args: []workload.Datum{workload.Int(1)}}); err == nil {
		t.Error("one argument for two")
	}
}

// answer is what a server says to the two statements, with what it may say between.
func answer(t *testing.T) []byte {
	t.Helper()
	var out []byte
	for _, m := range []pgproto3.BackendMessage{
		&pgproto3.BindComplete{},
		&pgproto3.DataRow{Values: [][]byte{[]byte("5"), nil}},
		&pgproto3.NoticeResponse{Severity: "NOTICE", Message: "well"},
		&pgproto3.DataRow{Values: [][]byte{[]byte("-6"), []byte("six")}},
		&pgproto3.CommandComplete{CommandTag: []byte("SELECT 2")},
		&pgproto3.ReadyForQuery{TxStatus: 'I'},
		&pgproto3.ParameterStatus{Name: "TimeZone", Value: "UTC"},
		&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{
			{Name: []byte("x"), DataTypeOID: pgtype.Float8OID},
		}},
		&pgproto3.DataRow{Values: [][]byte{[]byte("1.50")}},
		&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "40P01", Message: "deadlock"},
		&pgproto3.ReadyForQuery{TxStatus: 'E'},
	} {
		var err error
		if out, err = m.Encode(out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestAnswersInPieces cuts two answers in every place.
func TestAnswersInPieces(t *testing.T) {
	all := answer(t)
	for size := 1; size <= len(all); size++ {
		c, h := newCodec(), &heard{}
		if _, err := c.AppendCall(nil, &workload.Call{Args: []workload.Datum{{}, {}}}); err != nil {
			t.Fatal(err)
		}
		answers := 0
		for i := 0; i < len(all); i += size {
			piece := append([]byte(nil), all[i:min(i+size, len(all))]...)
			c.Feed(piece)
			for {
				done, err := c.Next(h)
				if !done && err != nil || done && (err != nil) != (answers == 1) {
					t.Fatalf("pieces of %d: answer %d, %v", size, answers, err)
				}
				if !done {
					break
				}
				answers++
				if code, _ := conn.SQLState(err); answers == 2 && code != "40P01" {
					t.Fatal(err)
				}
				c.AppendText(nil, "SELECT 1.5")
			}
			clear(piece) // the loop reads into the same memory again
		}
		if got := strings.Join(h.rows, "; "); answers != 2 || got != "5 NULL; -6 six; 1.5" {
			t.Fatalf("pieces of %d: %d answers, rows %s", size, answers, got)
		}
	}
}

func TestAnswersThatEndTheConnection(t *testing.T) {
	f := func(b []byte, want string) {
		t.Helper()
		c := newCodec()
		c.AppendText(nil, "x")
		c.Feed(b)
		if done, err := c.Next(&heard{}); !done || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %s", b, done, err, want)
		}
	}
	fatal, err := (&pgproto3.ErrorResponse{
		Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01", Message: "terminating connection",
	}).Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	f(fatal, "57P01")
	f([]byte("D\x00\x00\x00\x03"), "message 'D' of 3 bytes")
	f([]byte("D\xff\x00\x00\x03"), "of 4278190083 bytes")
	f([]byte("D\x00\x00\x00\x04"), "ends too early")
	f([]byte("D\x00\x00\x00\x0a\x00\x01\x00\x00\x00\x09"), "ends too early")
	f([]byte("T\x00\x00\x00\x08\x00\x01x\x00"), "ends too early")
	f([]byte("G\x00\x00\x00\x07\x00\x00\x00"), "COPY FROM STDIN")
}

// FuzzAnswers feeds whatever there may be, in two pieces: it is an error or an answer, and never a crash.
func FuzzAnswers(f *testing.F) {
	f.Add(
		[]byte(
			"T\x00\x00\x00\x1b\x00\x01x\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00",
		),
		3,
	)
	f.Add(binary.BigEndian.AppendUint32([]byte("D"), 4), 1)
	f.Fuzz(func(_ *testing.T, b []byte, at int) {
		c := newCodec()
		at = max(0, min(at, len(b)))
		for _, piece := range [][]byte{b[:at], b[at:]} {
			c.Feed(piece)
			for range len(b) + 1 {
				if done, err := c.Next(&heard{}); err != nil {
					return
				} else if !done {
					break
				}
			}
		}
	})
}

func TestCodecAllocatesNothing(t *testing.T) {
	c := newCodec()
	call := &workload.Call{Args: []workload.Datum{workload.Int(123456), workload.String("a text")}}
	var msgs []byte
	for _, m := range []pgproto3.BackendMessage{
		&pgproto3.BindComplete{}, &pgproto3.DataRow{Values: [][]byte{[]byte("5"), []byte("five")}},
		&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")}, &pgproto3.ReadyForQuery{TxStatus: 'I'},
	} {
		msgs, _ = m.Encode(msgs)
	}
	gen := &quiet{}
	var out []byte
	n := testing.AllocsPerRun(1000, func() {
		out, _ = c.AppendCall(out[:0], call)
		c.Feed(msgs[:20])
		c.Next(gen)
		c.Feed(msgs[20:])
		if done, err := c.Next(gen); !done || err != nil {
			t.Fatal(done, err)
		}
	})
	if n > 0 {
		t.Errorf("a call allocates %v times", n)
	}
}

type quiet struct{ workload.Generator }

func (*quiet) Row([]workload.Datum) {}
