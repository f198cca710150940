package slowlog

import "encoding/binary"

// days remembers the last minute of a log in each of the forms servers write it, because it is most often the next
// one's too.
type days struct {
	long, short           [2]uint64 // "2026-11-21T07:33"; "261121  7:33:", the second word overlapping the first
	longMicro, shortMicro int64     // microseconds since 1970 at its beginning, the long one's in UTC
}

const (
	secondMicro = int64(1e6)
	dayMicro    = 86400 * secondMicro
)

// time reads "2026-11-21T07:33:34.123456Z", with an offset such as +01:00 instead of the Z or with nothing, or "261121
// 7:33:34". It returns microseconds since 1970, whether a zone was told (else the time is the server's local one, taken
// as UTC), and where it ended, -1 when it is none of these.
func (p *days) time(d []byte, i int) (micro int64, zoned bool, end int) {
	if len(d)-i >= 28 {
		word := binary.LittleEndian.Uint64(d[i:])
		if word == p.long[0] && binary.LittleEndian.Uint64(d[i+8:]) == p.long[1] && d[i+16] == ':' && d[i+19] == '.' &&
			d[i+26] == 'Z' && wordEnds(d, i+27) {
			if x := binary.LittleEndian.Uint64(d[i+20:]); sixDigits(x) {
				if s := two(d, i+17); s <= 60 {
					return p.longMicro + int64(s)*secondMicro + int64(six(x)), true, i + 27
				}
			}
		}
		if word == p.short[0] && binary.LittleEndian.Uint64(d[i+5:]) == p.short[1] && wordEnds(d, i+15) {
			if s := two(d, i+13); s <= 60 {
				return p.shortMicro + int64(s)*secondMicro, false, i + 15
			}
		}
	}
	var day int64
	var ok bool
	begin, long := i, false
	switch {
	case len(d)-i >= 19 && d[i+4] == '-':
		century, year := two(d, i), two(d, i+2)
		day, ok = date(century*100+year, two(d, i+5), two(d, i+8))
		ok = ok && year <= 99 && d[i+7] == '-' && (d[i+10] == 'T' || d[i+10] == ' ')
		long = true
		i += 11
	case len(d)-i >= 15 && d[i+6] == ' ':
		year := two(d, i)
		if ok = year <= 99; year < 70 {
			year += 100
		}
		if ok {
			day, ok = date(1900+year, two(d, i+2), two(d, i+4))
		}
		i += 7
	}
	if !ok {
		return 0, false, -1
	}
	t, end := clock(d, i)
	if end < 0 {
		return 0, false, -1
	}
	micro = day + t
	if end < len(d) {
		switch d[end] {
		case 'Z':
			zoned = true
			end++
		case '+', '-':
			off, ok := offset(d, end)
			if !ok {
				return 0, false, -1
			}
			micro -= off
			zoned = true
			end += len("+01:00")
		}
	}
	if !wordEnds(d, end) {
		return 0, false, -1
	}
	minute := day + t - t%(60*secondMicro)
	if two(d, i+6) == 60 { // a leap second
		return micro, zoned, end
	}
	if long {
		p.long = [2]uint64{binary.LittleEndian.Uint64(d[begin:]), binary.LittleEndian.Uint64(d[begin+8:])}
		p.longMicro = minute
	} else {
		p.short = [2]uint64{binary.LittleEndian.Uint64(d[begin:]), binary.LittleEndian.Uint64(d[begin+5:])}
		p.shortMicro = minute
	}
	return micro, zoned, end
}

// clock reads "07:33:34.123456"; the hour may have a space for its first digit.
func clock(d []byte, i int) (micro int64, end int) {
	if len(d)-i < 8 || d[i+2] != ':' || d[i+5] != ':' {
		return 0, -1
	}
	h := two(d, i)
	if d[i] == ' ' && digit(d[i+1]) {
		h = int(d[i+1] - '0')
	}
	m, s := two(d, i+3), two(d, i+6)
	if h > 23 || m > 59 || s > 60 {
		return 0, -1
	}
	micro = int64(h*3600+m*60+s) * secondMicro
	i += 8
	if i < len(d) && d[i] == '.' {
		i++
		for unit := secondMicro / 10; i < len(d) && digit(d[i]); unit /= 10 {
			micro += unit * int64(d[i]-'0')
			i++
		}
	}
	return micro, i
}

// offset reads "+01:00".
func offset(d []byte, i int) (micro int64, ok bool) {
	if len(d)-i < 6 || d[i+3] != ':' {
		return 0, false
	}
	h, m := two(d, i+1), two(d, i+4)
	if h > 23 || m > 59 {
		return 0, false
	}
	micro = int64(h*3600+m*60) * secondMicro
	if d[i] == '-' {
		micro = -micro
	}
	return micro, true
}

// two reads two digits; what is none gives a number that no part of a time can be.
func two(d []byte, i int) int {
	a, b := d[i]-'0', d[i+1]-'0'
	if a > 9 || b > 9 {
		return 1000
	}
	return int(a)*10 + int(b)
}

// date returns the midnight in UTC that begins a day, microseconds since 1970.
func date(y, m, d int) (micro int64, ok bool) {
	if y > 9999 || y < 1970 || m < 1 || m > 12 || d < 1 || d > 31 {
		return 0, false
	}
	// Days by counting years from March, so that the leap day is a year's last.
	if m <= 2 {
		y, m = y-1, m+12
	}
	n := 365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 1 - 719468
	return int64(n) * dayMicro, true
}
