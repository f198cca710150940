package screen

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// pileUp is a server on which a session that does nothing any more holds up a queue of others.
func pileUp(at time.Time) *state.State {
	return &state.State{
		Target: "shop-db1", At: at, Up: true, Server: "mariadb 10.11.19",
		Vitals: []state.Vital{
			{Name: state.QPS, Value: 12345},
			{Name: state.TPS, Value: 210},
			{Name: state.Latency, Value: 0.0012},
			{Name: state.Running, Value: 7},
			{Name: state.Connected, Value: 143},
			{Name: state.ServerCPU, Value: 1.4},
			{Name: state.HostCPUBusy, Value: 0.34},
			{Name: state.HostCPUs, Value: 8},
			{Name: state.RowsRead, Value: 2.3e6},
			{Name: state.RowsWritten, Value: 410},
			{Name: state.PoolMisses, Value: 12},
			{Name: state.PoolDirty, Value: 0.04},
			{Name: state.History, Value: 1200},
			{Name: state.RedoBytes, Value: 2.3 * (1 << 20)},
			{Name: state.RowLockWaiting, Value: 3},
			{Name: state.ScrapeServer, Value: 0.0031},
			{Name: state.ScrapeClient, Value: 0.0007},
			{Name: state.Uptime, Value: 273840},
			{Name: state.SlowQueries, Value: 0},
			{Name: state.Aborted, Value: 0},
		},
		Connections: known.Of(143), Idle: known.Of(120),
		Sessions: []state.Session{
			{
				ID: 42, User: "app", Host: "10.0.0.7:51000", DB: "shop", Command: "Query",
				Phase: "Updating", Seconds: 31,
				SQL: "UPDATE orders SET state='paid'\n\tWHERE id = 7", ClassID: "AAAABBBBCCCCDDDDAAAABBBBCCCCDDDD",
				Examined: known.Of(uint64(1)),
			},
			{
				ID: 43, User: "app", Host: "10.0.0.8:51000", DB: "shop", Command: "Query",
				Phase: "Updating", Seconds: 12,
				SQL: "UPDATE orders SET state='sent' WHERE id = 7", ClassID: "AAAABBBBCCCCDDDDAAAABBBBCCCCDDDD",
			},
			{
				ID: 44, User: "report", Host: "10.0.0.9:4000", DB: "shop", Command: "Query",
				Phase: "Waiting for table metadata lock", Seconds: 3, SQL: "SELECT * FROM stock WHERE 名前 = '東京' AND " +
					"x = '\x1b[31mred\x00'",
			},
			{
				ID: 51, User: "deploy", Host: "localhost", DB: "shop", Command: "Query", Phase: "copy to tmp table",
				Seconds: 95, SQL: "ALTER TABLE stock ADD KEY (a)", Progress: known.Of(0.425),
			},
			{
				ID: 41, User: "batch", Host: "10.0.0.7:50999", DB: "shop", Command: "Sleep", Seconds: 32,
				SQL: "UPDATE orders SET total = total + 1 WHERE id = 7", Memory: known.Of(uint64(3 << 20)),
			},
		},
		Transactions: []state.Transaction{
			{
				Session: 41, ID: "421", Phase: "RUNNING", Seconds: 45,
				Locks: known.Of(uint64(3)), Modified: known.Of(uint64(1)),
			},
			{Session: 42, ID: "422", Phase: "LOCK WAIT", Seconds: 31},
		},
		Waits: []state.Wait{
			{
				Kind: state.RowLock, Waiter: 42, Blocker: known.Of(uint64(41)), Object: "shop.orders PRIMARY",
				Mode: "X,REC_NOT_GAP", Held: "X", Seconds: known.Of(31.0),
			},
			{
				Kind: state.RowLock, Waiter: 43, Blocker: known.Of(uint64(42)), Object: "shop.orders PRIMARY",
				Mode: "X,REC_NOT_GAP", Seconds: known.Of(12.0),
			},
			{Kind: state.MetadataLock, Waiter: 44, Why: "plugin metadata_lock_info is not loaded: INSTALL SONAME " +
				"'metadata_lock_info'", Object: "shop.stock", Mode: "SHARED_READ"},
		},
		Classes: []state.ActiveClass{
			{
				ID: "AAAABBBBCCCCDDDDAAAABBBBCCCCDDDD", Fingerprint: "update orders set state=? where id = ?",
				Schema: "shop", PerSecond: 210, Load: 2.1, MeanSec: known.Of(0.01), Examined: known.Of(1.0),
				Errors: known.Of(0.0),
			},
			{
				ID: "1111222233334444AAAABBBBCCCCDDDD", Fingerprint: "select * from stock where 名前 = ?", Schema: "shop",
				PerSecond: 12000, Load: 0.9, MeanSec: known.Of(0.000075), Errors: known.Of(2.0),
			},
			{
				ID: "99992222333344440000BBBBCCCCDDDD", Fingerprint: "alter table stock add key (a)", Sampled: true,
				PerSecond: 0.1, Load: 1,
			},
		},
		ClassSeconds: 5,
		Sources: []source.Source{
			{
				Name: "waits", State: source.Missing, Reason: "performance_schema is off",
				Fix: "performance_schema=ON in the server's configuration, then a restart",
			},
			{
				Name: "innodb_metrics", State: source.Denied, Reason: "a privilege is missing",
				Fix: "GRANT PROCESS ON *.* TO `dyno`@`%`",
			},
			{
				Name: "process", State: source.Missing,
				Reason: "the server runs on another machine",
			},
			{
				Name: "host", State: source.Missing,
				Reason: "the server runs on another machine",
			},
		},
	}
}

// calm is the same server when nothing is wrong.
func calm(at time.Time) *state.State {
	s := pileUp(at)
	s.Waits, s.Transactions, s.Sources = nil, nil, nil
	s.Sessions = s.Sessions[4:]
	return s
}

// kept is a source whose past is a list.
type kept struct {
	mu     sync.Mutex
	states []*state.State // oldest first
	events []event.Event
	next   chan Update // closed: no more
	asked  int
}

var errNothing = errors.New("nothing is kept of that time")

func (k *kept) Next(ctx context.Context) (Update, error) {
	select {
	case u, ok := <-k.next:
		if !ok {
			return Update{}, io.EOF
		}
		return u, nil
	case <-ctx.Done():
		return Update{}, ctx.Err()
	}
}

func (k *kept) At(_ context.Context, t time.Time) (*state.State, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	for _, s := range slices.Backward(k.states) {
		if !s.At.After(t) && t.Sub(s.At) < 10*time.Minute {
			return s, nil
		}
	}
	return nil, errNothing
}

func (k *kept) Times(_ context.Context, from, to time.Time, max int) ([]time.Time, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var ts []time.Time
	for _, s := range k.states {
		if !s.At.Before(from) && !s.At.After(to) {
			ts = append(ts, s.At)
		}
	}
	if n := len(ts); n > max { // both ends may be left out
		thin := make([]time.Time, max)
		for i := range thin {
			thin[i] = ts[(2*i+1)*n/(2*max)]
		}
		ts = thin
	}
	return ts, nil
}

func (k *kept) Events(_ context.Context, from, to time.Time) ([]event.Event, error) {
	var es []event.Event
	for _, e := range k.events {
		if !e.At.Before(from) && !e.At.After(to) {
			es = append(es, e)
		}
	}
	return es, nil
}
