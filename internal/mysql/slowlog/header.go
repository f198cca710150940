package slowlog

import (
	"encoding/binary"

	"github.com/dyno-perf/dyno/internal/attribute"
)

// header is what is known of an entry's comment lines besides the entry itself.
type header struct {
	ends   ending
	logged int64 // "# Time:"
	stamp  int64 // SET timestamp
	plan   int   // where Entry.Plan begins

	dated, zoned, stamped bool // logged is known; in UTC; stamp is known
	used, schema          bool // this entry names its database: by use; by Schema
	user                  bool // "# User@Host:" was there, whole or torn
	badTime               bool
}

// ending tells how a header ends.
type ending uint8

const (
	endText  ending = iota // with a statement
	endAdmin               // with an administrator command
	endNext                // another header follows
	endData                // with the piece
)

// field is a word of a header, or an attribute.
type field uint16

const (
	fieldStart field = iota // no word: the beginning of an entry
	fieldNone               // text without a value
	fieldTime
	fieldUser
	fieldThread
	fieldSchema
	fieldErrno
	fieldKilled
	fieldRate
	fieldWord // a value that nobody asks for
	fieldExplain
	fieldUse
	fieldStamp
	firstFigure // attribute 0
)

const noStatistics = "No InnoDB statistics available for this query"

// names maps the words of headers, in small letters, to fields.
func names() map[string]field {
	m := map[string]field{
		"time": fieldTime, "user@host": fieldUser, "thread_id": fieldThread, "id": fieldThread, "schema": fieldSchema,
		"last_errno": fieldErrno, "errno": fieldErrno, "killed": fieldKilled, "log_slow_rate_limit": fieldRate,
		"explain": fieldExplain,
		// Words and ids, no figures.
		"log_slow_rate_type": fieldWord, "start": fieldWord, "end": fieldWord, "innodb_trx_id": fieldWord,
		"stored_routine": fieldWord,
		"query_id":       fieldWord, "conn_id": fieldWord, "session_id": fieldWord,
		"txn_start_ts": fieldWord, "digest": fieldWord,
		// MySQL's names of the same.
		"created_tmp_tables":      firstFigure + field(TmpTables),
		"created_tmp_disk_tables": firstFigure + field(TmpDiskTables),
	}
	for a, i := range infos {
		if Attribute(a) != QueryLength {
			m[i.Key] = firstFigure + field(a)
		}
	}
	return m
}

// header reads the comment lines at p.pos and the server's own statements behind them. It returns where they end.
func (p *Parser) header(e *Entry, h *header) int {
	d := p.data
	i, at := p.pos, fieldStart
	var run recorder
	for {
	fast:
		for len(d)-i >= 8 {
			word := binary.LittleEndian.Uint64(d[i:])
			n := &p.nodes[at]
			for k := range n.runs {
				if r := &n.runs[k]; word == r.first && hasPrefix(d, i, r.text) && wordEnds(d, i+len(r.text)) &&
					p.seen[0]&r.seen[0]|p.seen[1]&r.seen[1] == 0 {
					p.figures = append(p.figures, r.figures...)
					p.seen[0] |= r.seen[0]
					p.seen[1] |= r.seen[1]
					i, at = i+len(r.text), r.to
					if k > 1 {
						n.runs[k], n.runs[k-1] = n.runs[k-1], n.runs[k]
					}
					if run.length > 0 {
						p.record(&run)
					}
					continue fast
				}
			}
			k := 0
			for ; k < len(n.edges); k++ {
				if g := &n.edges[k]; (word^g.first)&g.mask == 0 && g.is(d[i:]) {
					break
				}
			}
			if k == len(n.edges) {
				if d[i] == '\n' && d[i+1] != '#' && (at == fieldStamp || d[i+1] != 'u' && d[i+1] != 'S') {
					p.record(&run)
					h.ends = endText
					return i + 1
				}
				break
			}
			g := &n.edges[k]
			v, to := i+len(g.text), g.to
			var end int
			switch {
			case to == fieldUser && (h.user || p.has(QueryTime)):
				break fast
			case to < firstFigure:
				if end = p.read(e, h, to, v); end < 0 {
					break fast
				}
				h.user = h.user || to == fieldUser
				if run.length > 0 {
					p.record(&run)
				}
				if d[end-1] == ';' && to < fieldUse { // another entry may follow: not for the fast way
					i, at = end, to
					break fast
				}
			case to == firstFigure+field(QueryTime) && p.has(QueryTime):
				break fast
			default:
				var x float64
				switch {
				case g.flag:
					x, end = yesNo(d, v)
				case v+1 < len(d) && digit(d[v]) && (d[v+1] == ' ' || d[v+1] == '\n'):
					x, end = float64(d[v]-'0'), v+1
				default:
					x, end = number(d, v)
				}
				if end < 0 {
					break fast
				}
				switch {
				case !g.flag && x != 0 || to == firstFigure+field(QueryTime):
					if run.length > 0 {
						p.record(&run)
					}
				case run.length == 0:
					run = recorder{from: i, at: at, figures: len(p.figures)}
					fallthrough
				default:
					run.length++
					run.to, run.end = to, end
				}
				p.figure(Attribute(to-firstFigure), x)
				if x > maxSec {
					h.judge(p, Attribute(to-firstFigure))
				}
			}
			if k > 2 {
				n.edges[k], n.edges[k-1] = n.edges[k-1], n.edges[k]
			}
			i, at = end, to
		}
		p.record(&run)
		var done bool
		at, i, done = p.slow(e, h, at, i)
		for !done && d[i-1] == ';' && at < fieldUse {
			at, i, done = p.slow(e, h, at, i)
		}
		if done {
			return i
		}
	}
}

// judge notes that an attribute's value is beyond maxSec.
func (h *header) judge(p *Parser, a Attribute) {
	if p.Info(a).Unit == attribute.Seconds {
		h.badTime = true
	}
}
