package history

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
)

// TestBytesOfAState bounds what a second of a busy server costs: 50 sessions of which a third goes on with its
// statement, fresh numbers in each, 40 headline figures, ten classes.
func TestBytesOfAState(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	r := rand.New(rand.NewPCG(1, 2))
	sessions := make([]state.Session, 50)
	const n = 300
	for i := range n {
		s := &state.State{
			Target: "shop", At: noon.Add(time.Duration(i) * time.Second), Up: true,
			Server: "mariadb 10.11.19", Connections: known.Of(60), Idle: known.Of(10),
		}
		for k := range 40 {
			s.Vitals = append(s.Vitals, state.Vital{
				Name:  fmt.Sprintf("figure_number_%d", k),
				Value: float64(r.IntN(1000000)) / 100,
			})
		}
		for k := range sessions {
			x := &sessions[k]
			x.Seconds++
			if x.ID == 0 || r.IntN(3) > 0 {
				*x = state.Session{
					ID: uint64(100 + k), User: "app", Host: fmt.Sprintf("10.0.0.%d:%d", k%7, 40000+k),
					DB: "shop", Command: "Query", Phase: []string{"Sending data", "Statistics", "Updating"}[r.IntN(3)],
				}
				switch r.IntN(3) {
				case 0:
					x.SQL, x.ClassID = fmt.Sprintf("SELECT c FROM sbtest%d WHERE id=%d", r.IntN(8), r.IntN(1000000)),
						"A7B1C5D9E3F7A1B5C9D3E7F1A5B9C3D7"
				case 1:
					x.SQL, x.ClassID = fmt.Sprintf("UPDATE sbtest%d SET k=k+1 WHERE id=%d", r.IntN(8), r.IntN(1000000)),
						"B7B1C5D9E3F7A1B5C9D3E7F1A5B9C3D7"
				default:
					x.SQL, x.ClassID = fmt.Sprintf("SELECT o.*, c.name FROM orders o JOIN customers c ON "+
						"c.id=o.customer WHERE o.id BETWEEN %d AND %d", r.IntN(1000000), r.IntN(1000000)),
						"C7B1C5D9E3F7A1B5C9D3E7F1A5B9C3D7"
				}
				x.Seconds, x.Examined, x.Memory = float64(r.IntN(1000))/1000, known.Of(uint64(r.IntN(1000))),
					known.Of(uint64(80000+r.IntN(8)*1024))
			}
		}
		s.Sessions = append(s.Sessions, sessions...)
		for k := range 10 {
			s.Classes = append(s.Classes, state.ActiveClass{
				ID:          fmt.Sprintf("%032X", k),
				Fingerprint: fmt.Sprintf("select c from sbtest%d where id=?", k), PerSecond: float64(r.IntN(10000)),
				Load: float64(r.IntN(1000)) / 1000,
			})
		}
		ok(t, h.PutState(s))
	}
	ok(t, h.Maintain(t.Context(), noon.Add(time.Hour)))
	var bytes float64
	ok(t, h.db.QueryRow("SELECT (SELECT coalesce(sum(bytes), 0) FROM state) + (SELECT sum(bytes) FROM pack)").
		Scan(&bytes))
	t.Logf("%.0f bytes a state", bytes/n)
	if bytes/n > 1500 {
		t.Errorf("%.0f bytes a state", bytes/n)
	}
}

// TestLargeStatesWithoutEnd has a target put another large state for each that is packed: maintenance ends and keeps
// the bound, and what it cannot pack this time counts.
func TestLargeStatesWithoutEnd(t *testing.T) {
	const n, bound = packsAtOnce + 10, 8 << 10
	h := mustOpen(t, file(t), Options{StateBytes: bound})
	for i := range n {
		s := aState("evil", noon.Add(time.Duration(i)*time.Second))
		s.EngineStatus = strings.Repeat("x", packBytes/2+1)
		ok(t, h.PutState(s))
	}
	ok(t, h.Flush(t.Context()))
	_, err := h.db.Exec(fmt.Sprintf(`CREATE TABLE made (id INTEGER);
		CREATE TRIGGER counted AFTER INSERT ON pack BEGIN INSERT INTO made VALUES (NEW.id); END;
		CREATE TRIGGER another AFTER INSERT ON pack WHEN NEW.id < %d BEGIN
		INSERT INTO state SELECT target, at + %d, bytes, doc FROM state WHERE target = NEW.target AND at = NEW.first; END`, 2*n, n*1000))
	ok(t, err)
	ok(t, h.Maintain(t.Context(), noon.Add(time.Hour)))
	packs, left, bytes := 0, 0, 0
	ok(t, h.db.QueryRow("SELECT (SELECT count(*) FROM made), (SELECT count(*) FROM state)").Scan(&packs, &left))
	ok(t, h.db.QueryRow("SELECT sum(bytes) FROM (SELECT bytes FROM pack UNION ALL SELECT bytes FROM state)").
		Scan(&bytes))
	t.Logf("%d packs, %d states, %d bytes", packs, left, bytes)
	if packs > packsAtOnce || bytes > bound {
		t.Errorf("%d packs were made at once, %d states are left; %d bytes are kept, want %d",
			packs, left, bytes, bound)
	}
}

// TestPutStateWaitsForNoPack: the encoder of a pack, which may take seconds, is not the one of all targets' new states.
func TestPutStateWaitsForNoPack(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	seconds(t, h, "shop", 1, 2, 3)
	var err error
	h.enc, err = zstd.NewWriter(nil, zstd.WithEncoderCRC(false)) // known by what it writes
	ok(t, err)
	ok(t, h.Maintain(t.Context(), noon.Add(time.Hour)))
	var doc []byte
	ok(t, h.db.QueryRow("SELECT doc FROM pack").Scan(&doc))
	var head zstd.Header
	ok(t, head.Decode(doc))
	if !head.HasCheckSum {
		t.Error("a pack is written by the encoder of PutState")
	}
}
