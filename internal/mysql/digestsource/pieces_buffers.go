package digestsource

import "sync"

// buffers keeps the buffers of pieces for the next ones. Only those of the usual size are kept: one long statement does
// not make all that follows hold its size.
type buffers struct {
	size int
	mu   sync.Mutex
	free [][]byte
}

// get returns an empty buffer that holds at least n bytes.
func (b *buffers) get(n int) []byte {
	if n > b.size {
		return make([]byte, 0, n)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := len(b.free) - 1; i >= 0 {
		x := b.free[i]
		b.free = b.free[:i]
		return x
	}
	return make([]byte, 0, b.size)
}

func (b *buffers) put(x []byte) {
	if cap(x) != b.size {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, x[:0])
}
