package digestsource

import (
	"context"
	"io"
)

const (
	pumpBlock = 256 << 10 // bytes read at a time
	pumpAhead = 4         // blocks
)

// pump reads ahead in a goroutine of its own, so that waiting for a pipe ends with the context and decompression runs
// beside parsing.
type pump struct {
	ctx     context.Context
	cancel  context.CancelFunc
	full    chan block
	free    chan []byte
	ended   chan struct{}
	current block
	at      int // of current
}

type block struct {
	data []byte
	err  error // of the read that ended it
}

func newPump(ctx context.Context, r io.Reader) *pump {
	p := &pump{full: make(chan block, pumpAhead), free: make(chan []byte, pumpAhead+2), ended: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(ctx)
	go p.run(r)
	return p
}

func (p *pump) run(r io.Reader) {
	defer close(p.ended)
	for {
		var b []byte
		select {
		case b = <-p.free:
		default:
			b = make([]byte, pumpBlock)
		}
		n, err := r.Read(b)
		if n == 0 && err == nil {
			err = p.ctx.Err()
		}
		select {
		case p.full <- block{b[:n], err}:
		case <-p.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// Read gives what was read; the context's error when that ended first.
func (p *pump) Read(dst []byte) (int, error) {
	for p.at == len(p.current.data) {
		if p.current.err != nil {
			return 0, p.current.err
		}
		if cap(p.current.data) > 0 {
			select {
			case p.free <- p.current.data[:cap(p.current.data)]:
			default:
			}
		}
		p.at = 0
		select {
		case p.current = <-p.full:
		case <-p.ctx.Done():
			p.current = block{err: p.ctx.Err()}
		}
	}
	n := copy(dst, p.current.data[p.at:])
	p.at += n
	return n, nil
}

// abandon ends the goroutine at its next read, which may be as far off as the next byte of a silent pipe.
func (p *pump) abandon() { p.cancel() }

// wait waits for the goroutine to end.
func (p *pump) wait() { <-p.ended }
