package sandbox

import (
	"cmp"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// logs are the files that a server writes while it starts, as far as it had come.
type logs struct {
	files []string
	from  []int64 // where this start begins in each
	log   maker.Log
}

// consoleName is what the server writes before it has opened its log. The file is not in a
// directory of the server's.
const consoleName = "console"

// maxLog bounds how much of a log is read, from its end.
const maxLog = 1 << 20

// openLogs notes where the logs of a sandbox end before a start.
func openLogs(dir string, log maker.Log) logs {
	l := logs{files: []string{filepath.Join(dir, "log", "error.log"), filepath.Join(dir, consoleName)}, log: log}
	for _, f := range l.files {
		_, size := readLog(f, math.MaxInt64)
		l.from = append(l.from, size)
	}
	return l
}

// readLog returns what a log has from a byte on, and its size.
func readLog(path string, from int64) (text string, size int64) {
	root, err := openOwned(filepath.Dir(path))
	if err != nil {
		return "", 0
	}
	defer root.Close()
	f, err := root.plain(filepath.Base(path), os.O_RDONLY)
	if err != nil {
		return "", 0
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || from >= fi.Size() {
		return "", fi.Size()
	}
	b, err := io.ReadAll(io.NewSectionReader(f, max(from, fi.Size()-maxLog), maxLog))
	if err != nil {
		return "", fi.Size()
	}
	return string(b), fi.Size()
}

// said returns what was written into a log since the start.
func (l logs) said(i int) string {
	text, size := readLog(l.files[i], l.from[i])
	if size < l.from[i] { // somebody began it anew
		text, _ = readLog(l.files[i], 0)
	}
	return text
}

// changed returns what the server said about settings that are not in force as they were asked for: it starts all the
// same.
func (l logs) changed() []string {
	var notes []string
	for i := range l.files {
		notes = append(notes, l.log.Notes(l.said(i))...)
	}
	return notes
}

// last returns what the server said went wrong since the start, in a few lines; "" when it said nothing.
func (l logs) last() string {
	other := ""
	for i := range l.files {
		said := l.said(i)
		if l.log.HasError(said) {
			return l.log.Complaint(said)
		}
		other = cmp.Or(other, l.log.Complaint(said)) // the best there is
	}
	return other
}

// LastError returns the last errors that a sandbox's server wrote to its logs since it was last started, in a few
// lines; "" when there is none.
func (y *Yard) LastError(name string) string {
	if CheckName(name) != nil {
		return ""
	}
	dir := sandboxDir(y.Home, name)
	r, ok, err := y.load(dir)
	if err != nil || !ok {
		return ""
	}
	l := openLogs(dir, r.Server.Maker.Traits().Log)
	clear(l.from)
	copy(l.from, r.Logs)
	for i := range l.files {
		if said := l.said(i); l.log.HasError(said) {
			return l.log.Complaint(said)
		}
	}
	return ""
}
