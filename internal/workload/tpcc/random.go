package tpcc

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/workload"
)

// letters are those of texts. They are 64, so that six random bits make one.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789eE"

// text overwrites dst with random letters.
func text(r *rand.Rand, dst []byte) []byte {
	var pool uint64
	for i := range dst {
		if i%10 == 0 {
			pool = r.Uint64()
		}
		dst[i] = letters[pool&63]
		pool >>= 6
	}
	return dst
}

// digits overwrites dst with random digits.
func digits(r *rand.Rand, dst []byte) []byte {
	var pool uint64
	for i := range dst {
		if i%18 == 0 {
			pool = r.Uint64N(1e18)
		}
		dst[i] = '0' + byte(pool%10)
		pool /= 10
	}
	return dst
}

// between returns a number from low to high, both included.
func between(r *rand.Rand, low, high int) int { return low + r.IntN(high-low+1) }

// uneven returns a number from low to high, of which some come up much more often than others: NURand of clause 2.1.6.
// a is a power of two less one, c a constant of the run.
func uneven(r *rand.Rand, a, c, low, high int) int {
	return ((r.IntN(a+1)|between(r, low, high))+c)%(high-low+1) + low
}

// constants are the run's constants C of NURand, the same for all terminals of a run.
type constants struct{ last, customer, item int }

// loadLast is the constant C of the last names that prepare writes.
const loadLast = 71

// drawConstants draws those of a run. Clause 2.1.6.1 wants that of the last names to differ from that of the load by 65
// to 119, but not by 96 or 112, so that a run does not ask for the names that are the most frequent.
func drawConstants(seed uint64) constants {
	r := rand.New(rand.NewPCG(seed, 1<<63))
	var valid []int
	for c := range 256 {
		d := max(c-loadLast, loadLast-c)
		if d >= 65 && d <= 119 && d != 96 && d != 112 {
			valid = append(valid, c)
		}
	}
	return constants{last: valid[r.IntN(len(valid))], customer: r.IntN(1024), item: r.IntN(8192)}
}

// syllables are those of last names: clause 4.3.2.3.
var syllables = [10]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

// appendLast appends the last name of a number from 0 to 999.
func appendLast(dst []byte, n int) []byte {
	dst = append(dst, syllables[n/100]...)
	dst = append(dst, syllables[n/10%10]...)
	return append(dst, syllables[n%10]...)
}

// mix scatters the bits of x: the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// permuted returns the image of i, from 0 to n-1, under a permutation of these numbers that key chooses; n is at most
// 4096. Four rounds of a Feistel network permute twelve bits, and what falls beyond n goes round again.
func permuted(key uint64, i, n int) int {
	for {
		l, r := uint64(i>>6), uint64(i&63)
		for round := range uint64(4) {
			l, r = r, l^mix(key^round<<8^r)&63
		}
		if i = int(l<<6 | r); i < n {
			return i
		}
	}
}

// appendCents appends an amount of hundredths as a decimal number.
func appendCents(dst []byte, n int64) []byte {
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	var b [20]byte
	i := len(b)
	for k := 0; k < 3 || n > 0; k++ {
		if k == 2 {
			i--
			b[i] = '.'
		}
		i--
		b[i] = '0' + byte(n%10)
		n /= 10
	}
	return append(dst, b[i:]...)
}

// cents reads a decimal number with up to two places as hundredths.
func cents(d workload.Datum) (n int64, ok bool) {
	b := d.Raw()
	if b == nil {
		n, err := d.Int()
		return n * 100, err == nil
	}
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 17 {
		return 0, false
	}
	places := -1
	for _, c := range b {
		switch {
		case c == '.' && places < 0:
			places = 0
			continue
		case c < '0' || c > '9' || places == 2:
			return 0, false
		}
		n = n*10 + int64(c-'0')
		if places >= 0 {
			places++
		}
	}
	for range 2 - max(places, 0) {
		n *= 10
	}
	if neg {
		n = -n
	}
	return n, true
}
