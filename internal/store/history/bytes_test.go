package history

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"dyno/internal/known"
	"dyno/internal/state"
)

// TestBytesOfAState bounds what a second of a busy server costs: 50 sessions of which a third goes on with its statement, fresh numbers in
// each, 40 headline figures, ten classes.
func TestBytesOfAState(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	r := rand.New(rand.NewPCG(1, 2))
	sessions := make([]state.Session, 50)
	const n = 300
	for i := range n {
		s := &state.State{Target: "shop", At: noon.Add(time.Duration(i) * time.Second), Up: true, Server: "mariadb 10.11.19", Connections: known.Of(60), Idle: known.Of(10)}
		for k := range 40 {
			s.Vitals = append(s.Vitals, state.Vital{Name: fmt.Sprintf("figure_number_%d", k), Value: float64(r.IntN(1000000)) / 100})
		}
		for k := range sessions {
			x := &sessions[k]
			x.Seconds++
			if x.ID == 0 || r.IntN(3) > 0 {
				*x = state.Session{ID: uint64(100 + k), User: "app", Host: fmt.Sprintf("10.0.0.%d:%d", k%7, 40000+k), DB: "shop", Command: "Query", Phase: []string{"Sending data", "Statistics", "Updating"}[r.IntN(3)]}
				switch r.IntN(3) {
				case 0:
					x.SQL, x.ClassID = fmt.Sprintf("SELECT c FROM sbtest%d WHERE id=%d", r.IntN(8), r.IntN(1000000)), "A7B1C5D9E3F7A1B5C9D3E7F1A5B9C3D7"
				case 1:
					x.SQL, x.ClassID = fmt.Sprintf("UPDATE sbtest%d SET k=k+1 WHERE id=%d", r.IntN(8), r.IntN(1000000)), "B7B1C5D9E3F7A1B5C9D3E7F1A5B9C3D7"
				default:
					x.SQL, x.ClassID = fmt.Sprintf("SELECT o.*, c.name FROM orders o JOIN customers c ON c.id=o.customer WHERE o.id BETWEEN %d AND %d", r.IntN(1000000), r.IntN(1000000)), "C7B1C5D9E3F7A1B5C9D3E7F1A5B9C3D7"
				}
				x.Seconds, x.Examined, x.Memory = float64(r.IntN(1000))/1000, known.Of(uint64(r.IntN(1000))), known.Of(uint64(80000+r.IntN(8)*1024))
			}
		}
		s.Sessions = append(s.Sessions, sessions...)
		for k := range 10 {
			s.Classes = append(s.Classes, state.Class{ID: fmt.Sprintf("%032X", k), Fingerprint: fmt.Sprintf("select c from sbtest%d where id=?", k), PerSecond: float64(r.IntN(10000)), Load: float64(r.IntN(1000)) / 1000})
		}
		ok(t, h.PutState(s))
	}
	ok(t, h.Maintain(t.Context(), noon.Add(time.Hour)))
	var bytes float64
	ok(t, h.db.QueryRow("SELECT (SELECT coalesce(sum(bytes), 0) FROM state) + (SELECT sum(bytes) FROM pack)").Scan(&bytes))
	t.Logf("%.0f bytes a state", bytes/n)
	if bytes/n > 1500 {
		t.Errorf("%.0f bytes a state", bytes/n)
	}
}
