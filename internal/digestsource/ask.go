package digestsource

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"sync"
	"time"

	"dyno/internal/sqltext"
	"dyno/internal/target"
)

// asker is the reader's one connection, opened when first needed and again after it broke.
type asker struct {
	t    *target.Target
	mu   sync.Mutex
	s    *target.Session
	live context.Context // of the connection; the time limits of questions come and go
	kill context.CancelFunc
	next time.Time // not before, see retryRefused
	last error
	// sent holds the keys of the classes of what was asked: digests have lost the comment that tells them. texts saves work.
	sent, texts map[string]bool
}

// retryRefused is how long the asker waits after the server refused the account: servers lock accounts that are refused often.
const retryRefused = 15 * time.Second

// query runs a tagged statement; the row and its bytes are valid during the call of row only.
func (a *asker) query(ctx context.Context, sql string, row func([]driver.Value)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.open(ctx); err != nil {
		return err
	}
	if !a.texts[sql] {
		if len(a.texts) < 100 {
			a.texts[sql] = true
		}
		a.sent[sqltext.Key(sqltext.Fingerprint(sql))] = true
	}
	unwatch := context.AfterFunc(ctx, a.kill)
	_, err := a.s.Query(a.live, sqltext.Tagged("digest", "", sql), row)
	inTime := unwatch()
	if _, answered := target.ServerErrorNumber(err); !inTime || err != nil && !answered || target.KindOf(err) == target.Gone {
		a.close()
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("no answer in time: %w", ctx.Err())
	}
	return err
}

func (a *asker) open(ctx context.Context) error {
	if a.s != nil {
		return nil
	}
	if time.Now().Before(a.next) {
		return a.last
	}
	s, err := a.t.Session(ctx, target.SessionOptions{Settings: map[string]string{
		"time_zone":         "'+00:00'",
		"lock_wait_timeout": "5",
		"sql_mode":          "''",   // quotes mean the same everywhere
		"long_query_time":   "3600", // what Dyno asks does not belong in the slow log
	}})
	if err != nil {
		a.last = err
		switch target.KindOf(err) {
		case target.AuthFailed, target.TooManyConnections, target.TLSFailed:
			a.next = time.Now().Add(retryRefused)
		}
		return err
	}
	a.s = s
	a.live, a.kill = context.WithCancel(context.Background())
	return nil
}

func (a *asker) close() {
	if a.s != nil {
		a.s.Close()
		a.kill()
		a.s = nil
	}
}

func (a *asker) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.close()
}

func text(v driver.Value) string {
	switch x := v.(type) {
	case nil:
		return ""
	case []byte:
		return string(x)
	case string:
		return x
	}
	return fmt.Sprint(v)
}

// whole reads a non-negative integer; anything else is 0.
func whole(v driver.Value) uint64 {
	switch x := v.(type) {
	case int64:
		return uint64(max(x, 0))
	case uint64:
		return x
	case float64:
		return uint64(max(x, 0))
	case []byte:
		n := uint64(0)
		for i, c := range x {
			if c -= '0'; c > 9 || i > 18 { // no digit, or more of them than surely fit
				n, err := strconv.ParseUint(string(x), 10, 64)
				if err == nil {
					return n
				}
				break
			}
			n = 10*n + uint64(c)
			if i == len(x)-1 {
				return n
			}
		}
		f, _ := strconv.ParseFloat(string(x), 64)
		return uint64(max(f, 0))
	}
	return 0
}

func decimal(v driver.Value) float64 {
	switch x := v.(type) {
	case int64:
		return float64(x)
	case uint64:
		return float64(x)
	case float64:
		return x
	case []byte:
		f, _ := strconv.ParseFloat(string(x), 64)
		return f
	}
	return 0
}
