package series

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
)

// mostMemory is by how much all of the process may grow while a query is evaluated, bytes. What an expression takes has
// bounds of its own, by what is known of the engine; this is the last one, for what is not. It ends the queries that
// run then, whosever they are.
const mostMemory = 1 << 30

var errMemory = fmt.Errorf("memory grew by more than %d MiB while it was evaluated: ask for fewer series or steps",
	mostMemory>>20)

// watchMemory calls end when the heap in use has grown by more than most bytes, until ctx ends. What may be garbage is
// collected before it counts. The engine looks at its context at each step.
func watchMemory(ctx context.Context, most uint64, end context.CancelCauseFunc) {
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	read := func() (live, all uint64) {
		metrics.Read(heap)
		return heap[0].Value.Uint64(), heap[1].Value.Uint64()
	}
	live, all := read()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l, a := read()
		if l <= live+most && a > all+most {
			runtime.GC()
			l, a = read()
		}
		if l > live+most {
			end(errMemory)
			return
		}
		live, all = min(live, l), min(all, a)
	}
}
