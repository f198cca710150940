package arith

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// Ask is a buffer pool as it is configured, for pages of 16 KiB. Zero means that an option is not set. (Instances
// written out as 0 are another thing: with 1 GiB or more MySQL 9.7.4 ends at its start.)
type Ask struct {
	Size      uint64 // bytes, innodb_buffer_pool_size
	Instances int    // innodb_buffer_pool_instances
	Chunk     uint64 // bytes, innodb_buffer_pool_chunk_size
	Max       uint64 // bytes, innodb_buffer_pool_size_max of newer MariaDB
	// logical CPUs the server may use: the default number of instances depends on them from MySQL 8.4 on; 0 when not
	// known
	CPUs int
}

// Pool is what a buffer pool becomes.
type Pool struct {
	Size uint64 // bytes, what @@innodb_buffer_pool_size says then
	// Instances is how many there are: rows of information_schema.INNODB_BUFFER_POOL_STATS. MySQL 5.6 and MariaDB 10.0
	// and 10.1 show the number asked for in @@innodb_buffer_pool_instances, 8 when none was, even where a small pool
	// has one.
	Instances int
	Chunk     uint64 // bytes; 0 where a pool has no chunks
	Max       uint64 // bytes that it may grow to while the server runs; 0 where there is no such bound
	// Rules say in words and numbers what acted, in the order in which it did. Empty: the server does as it was told.
	Rules []string
	// Tried tells that this generation of servers was set beside this arithmetic, see BufferPool; else it follows from
	// the manual alone.
	Tried bool
}

func (p *Pool) rule(format string, args ...any) {
	p.Rules = append(p.Rules, fmt.Sprintf(format, args...))
}

// generation is a way to lay out buffer pools.
type generation int

const (
	whole    generation = iota // MySQL 5.6, MariaDB 10.0 and 10.1: a size is divided by the instances, no chunks
	chunks                     // MySQL 5.7 and later, MariaDB 10.2 to 10.4: instances made of chunks
	single                     // MariaDB 10.5 to 10.7: one instance made of chunks
	autosize                   // MariaDB from 10.8 on: one instance, 64 chunks
	// MariaDB from 10.11.12, 11.4.6, 11.8.2 on: one piece of memory that grows and shrinks by MiB
	free
)

// layout tells how a server lays out its pool.
type layout struct {
	gen     generation
	byCPUs  bool   // the default of instances depends on the CPUs
	mibOnly bool   // chunks that were made smaller are whole MiB
	small   uint64 // below that a pool has one instance
	capped  bool   // the pool cannot outgrow its size at the start unless Max says so
	tried   bool
}

// BufferPool returns what a server of the flavor and version ("8.0.33", "10.11.19-MariaDB") makes of a
// buffer pool when it starts. It fails for servers that it knows nothing of and for pools that a server would not start
// with.
//
// Sources: "Configuring InnoDB Buffer Pool Size" and the entries of the variables in the manuals of MySQL 5.6, 5.7,
// 8.0, 8.4 and 9.x and in MariaDB's "InnoDB System Variables"; what they leave open was taken from running servers. Set
// beside running servers: MySQL 5.6.14, 8.0.33 and 9.7.4, MariaDB 10.1.23, 10.2.11, 10.11.19, 11.4.5, 11.8.6 and
// 11.8.9, on two CPUs. Other branches follow from the manuals; Tried tells.
func BufferPool(flavor dbms.Flavor, version string, ask Ask) (p Pool, err error) {
	l, err := layoutOf(flavor, version)
	if err != nil {
		return p, err
	}
	p.Tried = l.tried
	p.Size = ask.Size
	if ask.Size == 0 {
		p.Size = 128 * mib
		p.rule("no size is set: the default is %s", size(p.Size))
	}
	least := uint64(5 * mib)
	if l.gen == free {
		least = 2 * mib
	}
	if l.gen == autosize && p.Size < least {
		return p, fmt.Errorf("buffer pool of %s: the server does not start with less than 5 MiB", size(p.Size))
	}
	if l.gen == whole && ask.Chunk > 0 {
		return p, fmt.Errorf("buffer pool in chunks: %s %s does not know innodb_buffer_pool_chunk_size and does not "+
			"start with it", flavor, version)
	}
	p.floor(least)
	switch l.gen {
	case free:
		return p.grow(l, ask)
	case single, autosize:
		p.Instances = 1
		if ask.Instances > 1 {
			p.rule("innodb_buffer_pool_instances = %d has no effect: MariaDB 10.5 and later have one", ask.Instances)
		}
	default:
		p.split(l, ask)
	}
	switch l.gen {
	case whole:
		return p, nil
	case autosize:
		p.Chunk = ask.Chunk
		if ask.Chunk == 0 {
			p.Chunk = max(p.Size/64, mib)
			p.rule("no chunk size is set: it is a 64th of the pool, but at least 1 MiB: %s", size(p.Chunk))
		}
	default:
		p.Chunk = ask.Chunk
		if ask.Chunk == 0 {
			p.Chunk = 128 * mib
			p.rule("no chunk size is set: the default is %s", size(p.Chunk))
		}
	}
	if ask.Chunk > 0 && (p.Chunk%mib != 0 || p.Chunk < mib) {
		whole := max(p.Chunk/mib*mib, mib)
		p.rule("chunks are whole MiB: %s becomes %s", size(p.Chunk), size(whole))
		p.Chunk = whole
	}
	n := uint64(p.Instances)
	if p.Chunk*n > p.Size {
		c := (p.Size + n - 1) / n
		if l.mibOnly {
			c = (c + mib - 1) / mib * mib
		}
		p.rule("%s of %s are more than the pool: a chunk becomes pool ÷ instances, %s", count(p.Instances, "chunk"),
			size(p.Chunk), size(c))
		p.Chunk = c
	}
	p.align()
	p.many()
	return p, nil
}

// Resize returns what the same server makes of SET GLOBAL innodb_buffer_pool_size while it runs with the pool now, as
// BufferPool gave it. It fails for servers that need a restart for that. The change goes on after the statement has
// returned; while it does, a server answers another one with a warning and leaves the size as it is.
func Resize(flavor dbms.Flavor, version string, now Pool, to uint64) (p Pool, err error) {
	l, err := layoutOf(flavor, version)
	if err != nil {
		return p, err
	}
	p = now
	p.Rules, p.Tried = nil, l.tried
	p.Size = to
	switch l.gen {
	case whole:
		return p, fmt.Errorf("resize buffer pool: %s %s cannot do it while it runs; change the configuration and "+
			"start it again", flavor, version)
	case free:
		p.floor(6 * mib)
		if p.Max > 0 && p.Size > p.Max {
			p.rule("innodb_buffer_pool_size_max = %s is the maximum without a restart", size(p.Max))
			p.Size = p.Max
		}
		return p, nil
	case chunks, single, autosize:
	}
	if l.gen == single || l.gen == autosize {
		if to < p.Chunk {
			return p, fmt.Errorf("resize buffer pool to %s: the server refuses less than one chunk, %s",
				size(to), size(p.Chunk))
		}
		p.align()
		p.many()
		return p, nil
	}
	p.floor(5 * mib)
	if p.Size < gib && p.Instances > 1 {
		p.rule("a pool of %d instances cannot become smaller than 1 GiB while the server runs: it stays at %s",
			p.Instances, size(now.Size))
		p.Size = now.Size
		return p, nil
	}
	p.align()
	p.many()
	return p, nil
}

// floor cuts to whole MiB, not below what the server takes at least.
func (p *Pool) floor(least uint64) {
	if p.Size < least {
		p.rule("%s is too small: the minimum is %s", size(p.Size), size(least))
		p.Size = least
	}
	if cut := p.Size / mib * mib; cut != p.Size {
		p.rule("sizes are whole MiB: %d bytes become %s", p.Size, size(cut))
		p.Size = cut
	}
}

// split decides about instances.
func (p *Pool) split(l layout, ask Ask) {
	switch {
	case p.Size < l.small:
		p.Instances = 1
		if ask.Instances > 1 {
			p.rule("a pool below %s has one instance, not %d", size(l.small), ask.Instances)
		}
	case ask.Instances > 64:
		p.Instances = 64
		p.rule("%d instances are too many: the most is 64", ask.Instances)
	case ask.Instances > 0:
		p.Instances = ask.Instances
	case !l.byCPUs:
		p.Instances = 8
		p.rule("no number of instances is set: pools of %s and more have 8", size(l.small))
	default:
		chunk := ask.Chunk / mib * mib
		if ask.Chunk == 0 {
			chunk = 128 * mib
		}
		byChunks := p.Size / (2 * max(chunk, mib))
		p.Instances = int(min(max(byChunks, 1), 64))
		if ask.CPUs == 0 {
			p.rule("no number of instances is set: half the number of chunks, %d, but at most a quarter of the CPUs, "+
				"which are unknown here", byChunks)
			p.Tried = false
			return
		}
		p.Instances = max(1, min(p.Instances, ask.CPUs/4))
		p.rule("no number of instances is set: the smaller of half the number of chunks, %d, and a quarter of the "+
			"CPUs, %d, is %d", byChunks, ask.CPUs/4, p.Instances)
		p.Tried = p.Tried && ask.CPUs < 8 // the servers it was set beside had two
	}
}

// align makes the pool a multiple of chunk × instances, upwards.
func (p *Pool) align() {
	step := p.Chunk * uint64(p.Instances)
	if step == 0 || p.Size%step == 0 {
		return
	}
	up := (p.Size/step + 1) * step
	p.rule("a pool is a multiple of chunk × instances, %s × %d = %s: %s becomes %s", size(p.Chunk), p.Instances,
		size(step), size(p.Size), size(up))
	p.Size = up
}

// many tells of pools in very many pieces. Servers do as they are told there: the bound is advice of the manual.
func (p *Pool) many() {
	if n := p.Size / max(p.Chunk, 1); p.Chunk > 0 && n > 1000 {
		p.rule("the pool has %d chunks; more than 1000 slow it down, the manual says, so take chunks of %s or more", n,
			size((p.Size/1000+mib-1)/mib*mib))
	}
}

// grow lays out the pool of newer MariaDB, which is one piece of memory.
func (p Pool) grow(l layout, ask Ask) (Pool, error) {
	const extent = 8 * mib // InnoDB allocates memory in such pieces
	p.Instances = 1
	if ask.Instances > 1 {
		p.rule("innodb_buffer_pool_instances = %d has no effect: MariaDB 10.5 and later have one", ask.Instances)
	}
	if ask.Chunk > 0 {
		p.rule("innodb_buffer_pool_chunk_size has no effect any more: the pool is one piece of memory")
	}
	if p.Size < 6*mib {
		return p, fmt.Errorf("buffer pool of %s: the server does not start with less than 6 MiB", size(p.Size))
	}
	up := (p.Size + extent - 1) / extent * extent
	switch {
	case ask.Max > 0:
		p.Max = max(ask.Max/extent*extent, extent)
		if p.Max < up {
			p.rule("innodb_buffer_pool_size_max = %s is less than the pool: it becomes %s", size(ask.Max), size(up))
			p.Max = up
		} else if p.Max != ask.Max {
			p.rule("innodb_buffer_pool_size_max is a multiple of 8 MiB: %s becomes %s", size(ask.Max), size(p.Max))
		}
	case l.capped:
		p.Max = up
		p.rule("innodb_buffer_pool_size_max is not set: the pool cannot outgrow %s without a restart", size(up))
	default:
		p.Max = max(8<<40, up) // address space, no memory
	}
	return p, nil
}

// layoutOf knows the generations.
func layoutOf(flavor dbms.Flavor, version string) (layout, error) {
	v, ok := parse(version)
	from := func(major, minor, patch int) bool {
		w := [3]int{major, minor, patch}
		for i := range v {
			if v[i] != w[i] {
				return v[i] > w[i]
			}
		}
		return true
	}
	branch := func(major, minor int) bool { return v[0] == major && v[1] == minor }
	if !ok {
		return layout{}, fmt.Errorf("buffer pool of %s %q: no version such as 8.0.33", flavor, version)
	}
	switch flavor { //nolint:exhaustive // of this family
	case dbms.MySQL, dbms.Percona:
		switch {
		case from(8, 4, 0):
			return layout{gen: chunks, small: gib, byCPUs: true, mibOnly: true, tried: branch(9, 7)}, nil
		case from(8, 0, 0):
			return layout{gen: chunks, small: gib, mibOnly: true, tried: branch(8, 0)}, nil
		case from(5, 7, 5):
			return layout{gen: chunks, small: gib}, nil
		case from(5, 6, 0):
			return layout{gen: whole, small: 1000 * mib, tried: true}, nil // MiB, though the manual says 1 GB
		}
	case dbms.MariaDB:
		switch {
		case branch(10, 11) && from(10, 11, 12):
			return layout{gen: free, tried: true}, nil
		case branch(11, 4) && from(11, 4, 6):
			return layout{gen: free}, nil
		case branch(11, 8) && from(11, 8, 9):
			return layout{gen: free, tried: true}, nil
		case from(12, 0, 0): // which of them reserve addresses for more is not known
			return layout{gen: free}, nil
		case from(11, 8, 2):
			return layout{gen: free, capped: true, tried: branch(11, 8) && from(11, 8, 6)}, nil
		case from(10, 8, 0):
			return layout{gen: autosize, tried: branch(11, 4)}, nil
		case from(10, 5, 0):
			return layout{gen: single}, nil
		case from(10, 2, 2):
			return layout{gen: chunks, small: gib, tried: branch(10, 2)}, nil
		case from(10, 0, 0):
			return layout{gen: whole, small: gib, tried: branch(10, 1)}, nil
		}
	}
	return layout{}, fmt.Errorf("buffer pool of %s %s: unknown; MySQL and Percona Server from 5.6 and MariaDB from "+
		"10.0 are", flavor, version)
}

// parse reads the first three numbers of a version; the third may be missing.
func parse(version string) (v [3]int, ok bool) {
	for i, part := range strings.SplitN(version, ".", 3) {
		end := 0
		for end < len(part) && part[end] >= '0' && part[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(part[:end])
		if err != nil {
			return v, false
		}
		v[i] = n
		ok = i >= 1
	}
	return v, ok
}

// size writes bytes in the largest unit that they are whole in, so that no digit is lost.
func size(n uint64) string {
	switch {
	case n == 0 || n%mib != 0:
		return strconv.FormatUint(n, 10) + " B"
	case n%gib == 0:
		return unit.Bytes(float64(n))
	}
	return strconv.FormatUint(n/mib, 10) + " MiB"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
