package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// DataSet is a data directory that SaveData kept: a server shut down in order on rows somebody prepared, to copy from
// and to restore to. It belongs to a flavor, a version and the settings a data directory is made with.
type DataSet struct {
	Key     string            `json:"key"`
	About   map[string]string `json:"about,omitempty"`   // what is in it, in the words of who saved it
	Flavor  dbms.Flavor       `json:"flavor,omitempty"`  // of the server that made it
	Version string            `json:"version,omitempty"` // of the server that made it
	// the options its first data directory was made with, as initialSettings has them
	Initial []string  `json:"initial,omitempty"`
	Size    int64     `json:"size"`  // bytes of its files
	Bytes   int64     `json:"bytes"` // on disk
	Files   int       `json:"files"`
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`              // a sandbox was last made of it or restored to it
	Users   []string  `json:"users,omitempty"`   // sandboxes made of it; told by DataSets
	Problem string    `json:"problem,omitempty"` // why it cannot be used
}

// dataList is data.json of a data set: what makes it whole. It is written last, in a directory that is renamed then.
type dataList struct {
	Format  int               `json:"format"`
	Key     string            `json:"key"`
	About   map[string]string `json:"about,omitempty"`
	Flavor  dbms.Flavor       `json:"flavor"`
	Version string            `json:"version"`
	Initial []string          `json:"initial,omitempty"`
	Created time.Time         `json:"created"`
	Bytes   int64             `json:"bytes"` // on disk
	Tree    tree              `json:"tree"`
	dir     string
}

const (
	dataListName = "data.json"
	dataFormat   = 1
	dataUsedName = "used" // its modification time is when the data set was last used
)

func dataSetsIn(home string) string   { return filepath.Join(home, "data") }
func dataDir(home, key string) string { return filepath.Join(dataSetsIn(home), key) }

func (l dataList) data() string { return filepath.Join(l.dir, "data") }

var dataKeys = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// CheckKey returns an error when key cannot be a data set's: 1 to 100 letters, digits, '.', '_' and '-', the first one
// a letter or digit. Its cause is ErrBadKey.
func CheckKey(key string) error {
	if dataKeys.MatchString(key) {
		return nil
	}
	return hint(fmt.Errorf("%w: %q", ErrBadKey, key), "use 1 to 100 letters, digits, '.', '_' and '-', and begin "+
		"with a letter or digit")
}

// HasData returns the data set with the key; ok is false when there is none that is whole.
func (y *Yard) HasData(key string) (d DataSet, ok bool) {
	if CheckKey(key) != nil {
		return DataSet{}, false
	}
	l, err := readDataList(dataDir(y.Home, key))
	if err != nil {
		return DataSet{}, false
	}
	return l.set(), true
}

// DataSets returns all data sets by key, also those that cannot be used, whose Problem says why.
func (y *Yard) DataSets(ctx context.Context) ([]DataSet, error) {
	const op = "list data sets"
	users, err := dataUsers(ctx, y.Home)
	if err != nil {
		return nil, wrap(op, "", err)
	}
	entries, err := os.ReadDir(dataSetsIn(y.Home))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, wrap(op, "", err)
	}
	all := []DataSet{}
	for _, e := range entries {
		if !e.IsDir() || CheckKey(e.Name()) != nil { // dotted ones are being made or removed
			continue
		}
		l, err := readDataList(dataDir(y.Home, e.Name()))
		if err != nil && !there(dataDir(y.Home, e.Name())) { // removed meanwhile
			continue
		}
		s := l.set()
		s.Key, s.Users = e.Name(), users[e.Name()]
		if err != nil {
			s.Problem = err.Error()
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b DataSet) int { return cmp.Compare(a.Key, b.Key) })
	return all, nil
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// dataUsers returns the sandboxes made of each data set. A sandbox whose record cannot be read uses none that is known.
func dataUsers(ctx context.Context, home string) (map[string][]string, error) {
	users := map[string][]string{}
	unlock, err := flock(ctx, sandboxesIn(home))
	if errors.Is(err, fs.ErrNotExist) {
		return users, nil
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	entries, err := os.ReadDir(sandboxesIn(home))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if r, ok, err := readRecord(sandboxDir(home, e.Name())); err == nil && ok && r.Data != "" {
			users[r.Data] = append(users[r.Data], e.Name())
		}
	}
	return users, nil
}

func (l dataList) set() DataSet {
	s := DataSet{
		Key: l.Key, About: l.About, Flavor: l.Flavor, Version: l.Version, Initial: l.Initial,
		Size: l.Tree.size(), Bytes: l.Bytes, Files: len(l.Tree.Files), Created: l.Created, Used: l.Created,
	}
	if fi, err := os.Stat(filepath.Join(l.dir, dataUsedName)); err == nil {
		s.Used = fi.ModTime()
	}
	return s
}

// readDataList returns the list of a data set whose files are those of the list; otherwise what was read of it, and why
// not.
func readDataList(dir string) (dataList, error) {
	l := dataList{dir: dir}
	b, err := os.ReadFile(filepath.Join(dir, dataListName))
	if err != nil {
		return l, fmt.Errorf("its list cannot be read: %w", err)
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return dataList{dir: dir}, fmt.Errorf("its list cannot be read: %w", err)
	}
	if l.Format != dataFormat {
		return l, fmt.Errorf("its list has format %d, this dyno knows %d", l.Format, dataFormat)
	}
	if len(l.Tree.Files) == 0 {
		return l, errors.New("its list is empty")
	}
	return l, l.Tree.check(l.data())
}

// fits returns an error when a server with initial settings cannot use the data set.
func (l dataList) fits(s Server, set settings) error {
	if s.Flavor != l.Flavor || s.Version != l.Version {
		return hint(fmt.Errorf("%w: data set %s belongs to %s@%s, the server is %s", ErrData, l.Key,
			l.Flavor, l.Version, s.Spec()),
			"save one with this server, or leave the server out")
	}
	if have := set.initialSettings(); !slices.Equal(have, l.Initial) {
		return hint(fmt.Errorf("%w: data set %s was made with %s, not with %s", ErrData, l.Key,
			said(l.Initial), said(have)),
			"these are fixed when a data directory is created: set them to the same values, or save another data set")
	}
	return nil
}

func said(opts []string) string {
	if len(opts) == 0 {
		return "no initial settings"
	}
	return strings.Join(opts, " ")
}

// initialSettings returns the initial settings in one spelling, "page_size=16384", so that equal ones compare
// equal.
func (s settings) initialSettings() []string {
	var out []string
	for _, name := range s.first {
		if v, ok := s.values[name]; ok {
			out = append(out, name+"="+plainValue(v))
		}
	}
	return out
}

var sized = lazyregexp.New(`^[0-9]{1,9}[kmg]$`)

// plainValue writes a size as the number of its bytes and a switch as on or off.
func plainValue(v string) string {
	v = strings.ToLower(strings.TrimSpace(v))
	switch v {
	case "1", "true":
		return "on"
	case "0", "false":
		return "off"
	}
	if !sized.MatchString(v) {
		return v
	}
	n, err := strconv.ParseInt(v[:len(v)-1], 10, 64)
	if err != nil {
		return v
	}
	return fmt.Sprint(n << map[byte]int{'k': 10, 'm': 20, 'g': 30}[v[len(v)-1]])
}
