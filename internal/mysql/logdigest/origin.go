package logdigest

import (
	"encoding/binary"
	"math/bits"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// origin is who sent a statement, from where and to which database.
type origin struct{ user, host, db string }

const (
	maxOrigins = 1 << 16
	// others is the origin of statements that came when there were maxOrigins already.
	others     = 0
	othersName = digest.Others
)

// origins numbers what it is given.
type origins struct {
	list  []origin
	names map[string]string // every name once
	table []uint32          // by hash: number + 1, 0 = free
	last  uint32
}

func newOrigins() origins {
	return origins{
		list:  []origin{{othersName, othersName, othersName}},
		names: map[string]string{},
		table: make([]uint32, 256),
	}
}

// of returns the number of the entry's origin.
func (o *origins) of(e *slowlog.Entry) uint32 {
	if l := &o.list[o.last]; l.user == string(e.User) && l.host == string(e.Host) && l.db == string(e.DB) {
		return o.last
	}
	at := o.slot(e.User, e.Host, e.DB)
	if n := o.table[at]; n > 0 {
		o.last = n - 1
		return o.last
	}
	return o.add(at, origin{o.name(e.User), o.name(e.Host), o.name(e.DB)})
}

// slot returns where in the table an origin stands or would stand.
func (o *origins) slot(user, host, db []byte) int {
	h := uint64(0x2545F4914F6CDD1D)
	for _, name := range [...][]byte{user, host, db} {
		h = mix(h, uint64(len(name)))
		for ; len(name) >= 8; name = name[8:] {
			h = mix(h, binary.LittleEndian.Uint64(name))
		}
		var x uint64
		for i, c := range name {
			x |= uint64(c) << (8 * i)
		}
		h = mix(h, x)
	}
	mask := len(o.table) - 1
	for at := int(h>>32) & mask; ; at = (at + 1) & mask {
		n := o.table[at]
		if n == 0 {
			return at
		}
		if l := &o.list[n-1]; l.user == string(user) && l.host == string(host) && l.db == string(db) {
			return at
		}
	}
}

// mix folds the product of two words.
func mix(h, x uint64) uint64 {
	high, low := bits.Mul64(h^x, 0x9E3779B97F4A7C15)
	return high ^ low
}

func (o *origins) add(at int, x origin) uint32 {
	if len(o.list) >= maxOrigins {
		return others
	}
	o.list = append(o.list, x)
	n := uint32(len(o.list))
	o.table[at] = n
	o.last = n - 1
	if len(o.list)*2 > len(o.table) {
		o.table = make([]uint32, 2*len(o.table))
		for i := range o.list[1:] {
			l := &o.list[i+1]
			o.table[o.slot([]byte(l.user), []byte(l.host), []byte(l.db))] = uint32(i + 2)
		}
	}
	return n - 1
}

// number returns the number of an origin that another aggregator or a state knows.
func (o *origins) number(x origin) uint32 {
	if x == o.list[others] {
		return others
	}
	return o.of(&slowlog.Entry{User: []byte(x.user), Host: []byte(x.host), DB: []byte(x.db)})
}

func (o *origins) name(b []byte) string {
	if s, ok := o.names[string(b)]; ok {
		return s
	}
	s := string(b)
	o.names[s] = s
	return s
}
