package digestsource

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/platform"
)

const (
	// printSize is how many first bytes of a log tell it from others: beyond the server's banner, which is always the
	// same, they hold entries with their times.
	printSize = 4 << 10
	// maxSiblings bounds how many files beside a log are looked at.
	maxSiblings = 200
)

// fileID tells a file from all others that exist at the same time on this machine.
type fileID struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

func idOf(st os.FileInfo) fileID {
	f, _ := platform.FileOf(st)
	return fileID{f.Device, f.Inode}
}

// headPrint tells a log by its first bytes, whatever its file is called and however it is compressed.
type headPrint struct {
	Size int    `json:"size"` // bytes, at most printSize
	Sum  string `json:"sum,omitzero"`
}

func printOf(head []byte) headPrint {
	head = head[:min(len(head), printSize)]
	sum := sha256.Sum256(head)
	return headPrint{len(head), hex.EncodeToString(sum[:16])}
}

// begins reports whether a log with these first bytes is the one that the print was taken of, which may have grown
// since.
func (p headPrint) begins(head []byte) bool {
	return p.Size == 0 || len(head) >= p.Size && printOf(head[:p.Size]) == p
}

// place is how far a log was read, and which logs before it.
type place struct {
	File   fileID    `json:"file,omitzero"`
	Head   headPrint `json:"head,omitzero"`
	Offset int64     `json:"offset"` // of the first byte that was not counted yet
	// when the log's first entry was, microseconds since 1970; 0 = not known
	First int64 `json:"first_entry,omitzero"`
	// Before are the last logs that were read to their ends, or lay there at the very beginning; Since is when the
	// first entry of the last of them was, at least 1. The next log begins no earlier and is none of them.
	Before []headPrint `json:"before,omitempty"`
	Since  int64       `json:"since,omitzero"`
}

const maxBefore = 16

// next returns the place behind the end of a log.
func (p place) next() place {
	n := place{Before: p.Before, Since: p.Since}
	if p.First > 0 {
		n.Before = append(slices.Clone(p.Before[max(0, len(p.Before)-maxBefore+1):]), p.Head)
		n.Since = p.First
	}
	return n
}

// passed reports whether a log was read to its end.
func (p place) passed(c *candidate) bool {
	return slices.ContainsFunc(p.Before, func(h headPrint) bool { return h.begins(c.head) })
}

// candidate is a file that may be a log which was called otherwise before.
type candidate struct {
	path    string
	id      fileID
	size    int64 // as stored
	changed time.Time
	plain   bool // not compressed
	head    []byte
	first   int64 // when its first entry was, as place.First
}

// rotated matches what is put between a log's name and its extension, or behind it, when it is rotated.
var rotated = lazyregexp.New(`^[-._](\d[-._:T\d]*|old|bak|prev)$`)

// isRotated reports whether name is what base may be called after rotation: slow.log.1, slow.log-20261121.gz,
// slow-2.log.
func isRotated(base, name string) bool {
	name = uncompressed(name)
	if rest, ok := strings.CutPrefix(name, base); ok {
		return rotated.MatchString(rest)
	}
	ext := filepath.Ext(base)
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(base, ext))
	if rest, ok2 := strings.CutSuffix(rest, ext); ok && ok2 && ext != "" {
		return rotated.MatchString(rest)
	}
	return false
}

// uncompressed returns what a file was called before compression.
func uncompressed(name string) string {
	for _, z := range []string{".gz", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, z)
	}
	return name
}

// finder looks for a log under the names that rotation gives it.
type finder struct {
	path  string
	heads map[headKey]candidate // of files that do not change any more
}

type headKey struct {
	id      fileID
	size    int64
	changed time.Time
}

// siblings returns the log, if it exists, and the files beside it that may be the same log rotated.
func (f *finder) siblings(ctx context.Context) ([]candidate, error) {
	for range 10 {
		before, err := listSiblings(f.path)
		if err != nil {
			return nil, err
		}
		heads := map[headKey]candidate{}
		for i := range before {
			c := &before[i]
			key := headKey{c.id, c.size, c.changed}
			known, ok := f.heads[key]
			if ok && c.path != f.path {
				c.head, c.plain, c.first = known.head, known.plain, known.first
			} else if err := c.look(ctx); err != nil {
				return nil, err
			}
			if len(c.head) > 0 { // else it was renamed just then
				heads[key] = *c
			}
		}
		f.heads = heads
		// While files are renamed one may be seen twice or not at all.
		after, err := listSiblings(f.path)
		if err != nil {
			return nil, err
		}
		if slices.EqualFunc(before, after, func(a, b candidate) bool {
			return a.path == b.path && a.id == b.id && (a.path == f.path || a.changed.Equal(b.changed))
		}) {
			return before, nil
		}
	}
	return nil, fmt.Errorf("follow %s: the files next to it change all the time", f.path)
}

// look reads a file's beginning. One that cannot be read is not the one looked for: another has it, or its loss is
// told.
func (c *candidate) look(ctx context.Context) error {
	s, err := openStream(ctx, c.path, nil)
	if err != nil {
		return ctx.Err()
	}
	defer s.close()
	if head, err := readHead(s); err == nil && s.id == c.id {
		c.plain, c.first = s.plain, firstTime(slowlog.Sniff(head), head)
		c.head = head[:min(len(head), printSize)]
	}
	return ctx.Err()
}

func listSiblings(path string) ([]candidate, error) {
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	var out []candidate
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name })
	}
	for _, e := range entries {
		name := e.Name()
		if name != base && !isRotated(base, name) || has(uncompressed(name)) && uncompressed(name) != name {
			// being compressed
			continue
		}
		p := dir + name
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
			out = append(out, candidate{path: p, id: idOf(st), size: st.Size(), changed: st.ModTime()})
		}
	}
	slices.SortFunc(out, func(a, b candidate) int {
		return cmp.Or(b.changed.Compare(a.changed), cmp.Compare(a.path, b.path))
	})
	out = out[:min(len(out), maxSiblings)]
	slices.SortFunc(out, func(a, b candidate) int { return cmp.Compare(a.path, b.path) }) // the log itself first
	return out, nil
}

// locate finds the file that holds the log of a place, which has a First, now; nil when it is gone.
func (f *finder) locate(ctx context.Context, at place) (*candidate, error) {
	list, err := f.siblings(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list { // the very file
		if c := &list[i]; c.id == at.File && at.Head.begins(c.head) && c.size >= at.Offset {
			return c, nil
		}
	}
	for i := range list { // its copy, or the file compressed
		if c := &list[i]; at.Head.begins(c.head) {
			return c, nil
		}
	}
	return nil, nil
}

// beginning returns the place before all that is written from now on: rotated logs that exist are of the past.
func (f *finder) beginning(ctx context.Context) (place, error) {
	p := place{Since: 1}
	list, err := f.siblings(ctx)
	for i := range list {
		c := &list[i]
		if c.path == f.path || c.first < p.Since {
			continue
		}
		if c.first > p.Since {
			p.Since, p.Before = c.first, nil
		}
		p.Before = append(p.Before, printOf(c.head))
	}
	return p, err
}

// successor finds the log that comes after a place between two logs: the earliest of those that were not read, or the
// one that is being written; nil when there is none.
func (f *finder) successor(ctx context.Context, at place) (*candidate, error) {
	list, err := f.siblings(ctx)
	if err != nil {
		return nil, err
	}
	var next *candidate
	for i := range list {
		c := &list[i]
		if at.passed(c) || c.path != f.path && c.first < at.Since {
			continue
		}
		// One without an entry yet is the last.
		if next == nil || c.first > 0 && (next.first == 0 || c.first < next.first) {
			next = c
		}
	}
	return next, nil
}
