package wire

import "cmp"

// MaxPayload bounds what a Reader puts together from several packets: more than max_allowed_packet can be on any
// server.
const MaxPayload = 1<<30 + 1<<24

// packets puts packets together from whatever bytes arrive. A packet that arrived whole is not copied.
type packets struct {
	in      []byte // arrived, not yet looked at
	own     []byte // the payload of a packet of which only a part has come
	head    [headSize]byte
	n       int  // bytes of head that have come
	left    int  // bytes of the payload that have not, once head is complete
	partial bool // head, own and left are in use
	any     bool // the next packet may have any number: it is the first of an answer
	seq     byte // number of the next packet
	most    int  // bytes that a payload has at most; 0 stands for MaxPayload
}

// Feed gives the bytes that arrived. Earlier ones must have been used up: Next has answered More, Done or an error.
func (r *packets) Feed(b []byte) { r.in = b }

// next returns the payload of the next packet, valid until the next call; not ok when more bytes are needed, of which
// it has kept those that came.
func (r *packets) next() (p []byte, ok bool, err error) {
	if in := r.in; !r.partial && len(in) >= headSize {
		n := int(in[0]) | int(in[1])<<8 | int(in[2])<<16
		if n < maxPayload && n <= len(in)-headSize {
			if in[3] != r.seq && !r.any {
				return nil, false, malformed("a packet out of sequence")
			}
			r.seq, r.any = in[3]+1, false
			r.in = in[headSize+n:]
			return in[headSize : headSize+n : headSize+n], true, nil
		}
	}
	return r.assemble()
}

// keep is how much room for parts of packets outlives a long packet.
const keep = 64 << 10

func (r *packets) assemble() (p []byte, ok bool, err error) {
	if !r.partial {
		if len(r.in) == 0 {
			return nil, false, nil
		}
		if cap(r.own) > keep {
			r.own = nil
		}
		r.own, r.n, r.left, r.partial = r.own[:0], 0, 0, true
	}
	for {
		if r.n < headSize {
			k := copy(r.head[r.n:], r.in)
			r.n, r.in = r.n+k, r.in[k:]
			if r.n < headSize {
				return nil, false, nil
			}
			if r.head[3] != r.seq && !r.any {
				return nil, false, malformed("a packet out of sequence")
			}
			r.seq, r.any = r.head[3]+1, false
			r.left = int(r.head[0]) | int(r.head[1])<<8 | int(r.head[2])<<16
			if most := cmp.Or(r.most, MaxPayload); len(r.own)+r.left > most {
				return nil, false, malformed("a packet longer than any server sends")
			}
		}
		k := min(r.left, len(r.in))
		r.own = append(r.own, r.in[:k]...)
		r.left, r.in = r.left-k, r.in[k:]
		if r.left > 0 {
			return nil, false, nil
		}
		if r.head[0]&r.head[1]&r.head[2] == 0xff { // full: the payload goes on in the next
			r.n = 0
			continue
		}
		r.partial = false
		return r.own, true, nil
	}
}
