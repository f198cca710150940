package maker

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// Log is by what the lines of a server's log are understood.
type Log struct {
	Stamp     *lazyregexp.Pattern // what stands before the message
	Error     *lazyregexp.Pattern // lines that say what went wrong
	Aftermath *lazyregexp.Pattern // of those, complaints that follow from an earlier one or are about a session alone
	Changed   *lazyregexp.Pattern // lines that say that a setting is not in force as it was asked for; nil for none
	// Leftover is what a server says that does not start because processes of one that was killed still use its data:
	// they end by themselves. "" for none.
	Leftover string
}

// isError reports whether a line says what went wrong.
func (l Log) isError(line string) bool {
	return l.Error.MatchString(line) && !l.Aftermath.MatchString(line)
}

// HasError reports whether a line of a log says what went wrong.
func (l Log) HasError(log string) bool {
	for line := range strings.Lines(log) {
		if l.isError(line) {
			return true
		}
	}
	return false
}

// Notes returns what a log says about settings that are not in force as they were asked for.
func (l Log) Notes(log string) (notes []string) {
	if l.Changed == nil {
		return nil
	}
	for line := range strings.Lines(log) {
		if l.Changed.MatchString(line) {
			notes = append(notes, l.Stamp.ReplaceAllString(strings.TrimSpace(line), ""))
		}
	}
	return notes
}

// Complaint picks the errors out of a log, the last ones if there are many; without any, its last two lines.
func (l Log) Complaint(log string) string {
	var errs, all []string
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		msg := l.Stamp.ReplaceAllString(line, "")
		all = append(all, msg)
		if l.isError(line) && (len(errs) == 0 || errs[len(errs)-1] != msg) {
			errs = append(errs, msg)
		}
	}
	if len(errs) == 0 {
		errs = all[max(0, len(all)-2):]
	}
	return strings.Join(errs[max(0, len(errs)-4):], "; ")
}
