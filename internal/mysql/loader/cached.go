package loader

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/platform"
)

// cache is a Cache at work on one server.
type cache struct {
	load.Cache
	mu sync.Mutex
	// the directory where the server keeps the files of the plan's tables; nil when nothing can be cached
	tables *os.Root
}

func newCache(c load.Cache) *cache {
	if c.Max <= 0 {
		c.Max = load.DefaultCacheMax
	}
	return &cache{Cache: c}
}

// close gives the server's directory back. A cache that is not there has none.
func (c *cache) close() {
	if c != nil && c.tables != nil {
		c.tables.Close()
		c.tables = nil
	}
}

func (c *cache) remark(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Remark != nil {
		c.Remark(fmt.Sprintf(format, args...))
	}
}

// copied is a file of a table as it was copied.
type copied struct {
	Size int64  `json:"size"`
	CRC  uint32 `json:"crc32c"`
}

// entry describes one table in the cache; it lies beside its files.
type entry struct {
	Key    string            `json:"key"`
	Table  string            `json:"table"`
	Server string            `json:"server"`
	Rows   int               `json:"rows"`
	Sum    string            `json:"sum"` // of some of the rows, by the server
	Files  map[string]copied `json:"files"`
}

const entryFile = "entry.json"

// suffixes are the files of a tablespace: the pages, and what the server says about them.
// https://dev.mysql.com/doc/refman/9.0/en/innodb-table-import.html
var suffixes = [...]string{".ibd", ".cfg"}

func (e *entry) size() (n int64) {
	for _, f := range e.Files {
		n += f.Size
	}
	return n
}

// find returns the entry of a key, nil when there is none. The entry counts as used now.
func (c *cache) find(key string) *entry {
	e, err := c.read(key)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.remark("a cached table cannot be read and is removed: %v", err)
			c.remove(key)
		}
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(c.Dir, key, entryFile), now, now)
	return e
}

func (c *cache) read(key string) (*entry, error) {
	b, err := os.ReadFile(filepath.Join(c.Dir, key, entryFile))
	if err != nil {
		return nil, err
	}
	var e entry
	if err := json.Unmarshal(b, &e); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(c.Dir, key, entryFile), err)
	}
	if e.Key != key || len(e.Files) != len(suffixes) {
		return nil, fmt.Errorf("%s: it describes something else", filepath.Join(c.Dir, key, entryFile))
	}
	return &e, nil
}

func (c *cache) remove(key string) { _ = os.RemoveAll(filepath.Join(c.Dir, key)) }

// unfinishedPrefix begins the names of entries that are being made.
const unfinishedPrefix = ".new-"

// begin makes a directory for a new entry. Call commit or os.RemoveAll.
func (c *cache) begin() (dir string, err error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(c.Dir, unfinishedPrefix)
}

// commit makes what begin returned an entry. When another process was faster, its entry stays.
func (c *cache) commit(dir string, e *entry) error {
	b, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, entryFile), b, 0o600); err != nil {
		return err
	}
	to := filepath.Join(c.Dir, e.Key)
	if err := os.Rename(dir, to); err != nil {
		if _, there := c.read(e.Key); there == nil {
			return os.RemoveAll(dir)
		}
		return err
	}
	return c.prune(e.Key)
}

// prune removes the least recently used entries, but for one, until the rest fit, and what killed processes left.
func (c *cache) prune(but string) error {
	list, err := os.ReadDir(c.Dir)
	if err != nil {
		return err
	}
	type used struct {
		key  string
		at   time.Time
		size int64
	}
	var all []used
	var sum int64
	for _, d := range list {
		info, err := d.Info()
		if err != nil {
			continue
		}
		if strings.HasPrefix(d.Name(), unfinishedPrefix) {
			if time.Since(info.ModTime()) > 24*time.Hour {
				c.remove(d.Name())
			}
			continue
		}
		e, err := c.read(d.Name())
		if err != nil {
			continue // nothing of ours: it is left alone
		}
		if info, err = os.Stat(filepath.Join(c.Dir, d.Name(), entryFile)); err == nil {
			all = append(all, used{d.Name(), info.ModTime(), e.size()})
			sum += e.size()
		}
	}
	slices.SortFunc(all, func(a, b used) int { return a.at.Compare(b.at) })
	for _, u := range all {
		if sum <= c.Max {
			break
		}
		if u.key != but {
			c.remove(u.key)
			sum -= u.size
		}
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const copyBytes = 1 << 20

// copyFile copies a file to a path where nothing may be yet, and sums it up on the way. each takes the bytes as they
// are copied.
func copyFile(to *os.Root, name string, from *os.Root, source string, mode fs.FileMode,
	each func(n int) error,
) (c copied, err error) {
	in, err := from.OpenFile(source, os.O_RDONLY|platform.NoFollow|platform.NonBlock, 0)
	if err != nil {
		return c, err
	}
	defer in.Close()
	if st, err := in.Stat(); err != nil || !st.Mode().IsRegular() {
		return c, errors.Join(err, fmt.Errorf("%s is not a regular file", source))
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return c, err
	}
	defer func() {
		if e := out.Close(); err == nil {
			err = e
		}
		if err != nil {
			_ = to.Remove(name)
		}
	}()
	buf := make([]byte, copyBytes)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			c.CRC = crc32.Update(c.CRC, castagnoli, buf[:n])
			c.Size += int64(n)
			if _, err := out.Write(buf[:n]); err != nil {
				return c, err
			}
			if err := each(n); err != nil {
				return c, err
			}
		}
		if err == io.EOF {
			return c, nil
		}
		if err != nil {
			return c, err
		}
	}
}

// keyOf is the name of an entry: a hash of all that decides the bytes.
func keyOf(parts ...any) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(parts)
	return hex.EncodeToString(h.Sum(nil)[:20])
}
