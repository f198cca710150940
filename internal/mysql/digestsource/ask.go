package digestsource

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// asker is the reader's one connection.
type asker struct {
	mu sync.Mutex // a look may be under way when a window ends
	*target.Asker
}

// query runs a tagged statement; the row and its bytes are valid during the call of row only.
func (a *asker) query(ctx context.Context, sql string, row func([]driver.Value)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := a.Query(ctx, sqltext.Tagged("digest", "", sql), row)
	return err
}

// work begins a few questions; done ends them and asks what they made the server count.
func (a *asker) work() (done func()) {
	a.mu.Lock()
	settle := a.Work(nil)
	a.mu.Unlock()
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		settle(ctx)
	}
}

// close ends the connection.
func (a *asker) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Close()
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
		if x > 0 && x < math.MaxUint64 {
			return uint64(x)
		}
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
		if f, err := strconv.ParseFloat(string(x), 64); err == nil && f > 0 && f < math.MaxUint64 {
			return uint64(f)
		}
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
		if math.Abs(x) < math.MaxInt32 { // a server's word may be anything
			return x
		}
	case []byte:
		if f, err := strconv.ParseFloat(string(x), 64); err == nil && math.Abs(f) < math.MaxInt32 {
			return f
		}
	}
	return 0
}
