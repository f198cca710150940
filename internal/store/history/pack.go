package history

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// A pack holds states of one target that were taken within packSpan. Its document is, compressed as a whole, for each
// state in order of time: the time as 8 bytes and the length of its JSON as 4, big-endian, and that JSON. Its times are
// the moments alone, as 8 bytes each, so that they can be listed without unpacking.
const (
	packStates = 60              // as many rows are packed at a time
	packSpan   = 5 * time.Minute // from the first to the last at most
	packBytes  = 8 << 20         // of JSON, about; also how far back the compressor looks
	packWait   = 2 * time.Minute // a row that is older is packed in any case
	// packEach is what a state may take in a pack on average before its longest statements are cut, bytes: somebody
	// whose every statement is new and long would else push out within the hour what the sessions of others did.
	packEach = 24 << 10
	// packsAtOnce bounds the packs of a target in one maintenance, which the other steps and targets wait for. Rows
	// that are left count in its size like packs.
	packsAtOnce = 30
)

// packTexts are the bytes that statements are cut to, one after the other until a pack is small enough.
var packTexts = []int{512, 128, 48}

// record is a state as it stands in a pack.
type record struct {
	at  int64
	raw []byte
}

func appendRecord(b []byte, r record) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(r.at))
	b = binary.BigEndian.AppendUint32(b, uint32(len(r.raw)))
	return append(b, r.raw...)
}

// records goes through an unpacked pack; ok is false at the end of one that is cut short.
func records(b []byte) iter.Seq2[record, bool] {
	return func(yield func(record, bool) bool) {
		for len(b) > 0 {
			if len(b) < 12 || int64(len(b)-12) < int64(binary.BigEndian.Uint32(b[8:])) {
				yield(record{}, false)
				return
			}
			n := 12 + int(binary.BigEndian.Uint32(b[8:]))
			if !yield(record{int64(binary.BigEndian.Uint64(b)), b[12:n:n]}, true) {
				return
			}
			b = b[n:]
		}
	}
}

// member returns the state of that moment from an unpacked pack.
func member(b []byte, at int64) ([]byte, error) {
	for r, ok := range records(b) {
		if ok && r.at == at {
			return r.raw, nil
		}
	}
	return nil, fmt.Errorf("%w: a pack names the state of %s and does not hold it", sqlitefile.ErrCorrupt,
		time.UnixMilli(at).Format(time.RFC3339))
}

// moments goes through the times of a pack.
func moments(b []byte) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for ; len(b) >= 8; b = b[8:] {
			if !yield(int64(binary.BigEndian.Uint64(b))) {
				return
			}
		}
	}
}

// packDue turns rows of states into packs, a transaction each, until no target has enough of them or had packsAtOnce.
func packDue(ctx context.Context, h *History, now time.Time) error {
	type due struct{ target, oldest int64 }
	ds, err := query(ctx, h.db, func(r *sql.Rows, d *due) error { return r.Scan(&d.target, &d.oldest) },
		"SELECT target, min(at) FROM state GROUP BY target HAVING count(*) >= ? OR min(at) < ? OR max(at) > ?",
		packStates, now.Add(-packWait).UnixMilli(), now.Add(packWait).UnixMilli())
	if err != nil {
		return wrap("pack states", h.path, err)
	}
	var errs []error
	for _, d := range ds {
		for n, more := 0, true; more && n < packsAtOnce && ctx.Err() == nil; n++ {
			if err := h.add(ctx, "pack states", func(tx *sql.Tx) (err error) {
				more, err = packOne(ctx, h.dec, h.packer, tx, d.target)
				return err
			}); err != nil {
				errs = append(errs, err) // those of other targets are packed all the same
				break
			}
		}
	}
	return errors.Join(errs...)
}

// shortened returns the records with statements of at most so many bytes. One that cannot be read stays as it is.
func shortened(doc []byte, most int) (out []byte) {
	for r := range records(doc) {
		if s, err := state.Decode(r.raw); err == nil {
			for i := range s.Sessions {
				x := &s.Sessions[i]
				x.SQL, x.Last = state.Clip(x.SQL, most), state.Clip(x.Last, most)
			}
			s.EngineStatus = state.Clip(s.EngineStatus, 64*most) // it holds some of them
			if raw, err := state.Encode(s); err == nil {
				r.raw = raw
			}
		}
		out = appendRecord(out, r)
	}
	return out
}

// packOne packs the oldest rows of a target and reports whether there are as many left as make another pack.
func packOne(
	ctx context.Context, dec *zstd.Decoder, packer *zstd.Encoder, tx *sql.Tx, target int64,
) (more bool, err error) {
	rows, err := query(ctx, tx, func(r *sql.Rows, at *int64) error { return r.Scan(at) },
		"SELECT at FROM state WHERE target = ? ORDER BY at LIMIT ?", target, 2*packStates)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	var doc, times []byte
	n := 0
	for _, at := range rows {
		if n > 0 && (at-rows[0] > packSpan.Milliseconds() || len(doc) > packBytes/2 || n == packStates) {
			break
		}
		var small []byte
		if err := tx.QueryRowContext(ctx, "SELECT doc FROM state WHERE target = ? AND at = ?", target, at).
			Scan(&small); err != nil {
			return false, err
		}
		raw, err := dec.DecodeAll(small, nil)
		if err != nil {
			return false, fmt.Errorf("%w: state of %s: %w", sqlitefile.ErrCorrupt,
				time.UnixMilli(at).Format(time.RFC3339), err)
		}
		doc = appendRecord(doc, record{at, raw})
		times = binary.BigEndian.AppendUint64(times, uint64(at))
		n++
	}
	full := n < len(rows) && len(doc) > packBytes/2 // of large states it takes more packs to keep up
	first, last := rows[0], rows[n-1]
	small := packer.EncodeAll(doc, nil)
	for _, most := range packTexts {
		if len(small) <= n*packEach {
			break
		}
		doc = shortened(doc, most)
		small = packer.EncodeAll(doc, nil)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO pack (target, first, last, bytes, times, doc) VALUES (?, ?, ?, ?, "+
		"?, ?)",
		target, first, last, len(small)+len(times), times, small); err != nil {
		return false, err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM state WHERE target = ? AND at >= ? AND at <= ?", target, first, last)
	return full || len(rows)-n >= packStates, err
}
