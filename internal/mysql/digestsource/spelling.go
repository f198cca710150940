package digestsource

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
)

// These bound the classes whose spelling is remembered, and what they take, in bytes.
const (
	mostSpellings  = 20_000
	spellingsBytes = 32 << 20
)

// spellings are the fingerprints of statements as they were written, by class.Key. A digest has lost blanks and
// quotes of names: with its fingerprint it would be another class than the same statement in a log or in the
// processlist. The first spelling that is seen stays, so that a class keeps its id.
type spellings struct {
	written map[string]string
	bytes   int
}

// learn takes what the sources of a window know: statements that the server keeps whole beside a digest, the log, the
// processlist.
func (s *spellings) learn(rows []growth, logged []class.Class, seen []*sampled) {
	if s.written == nil {
		s.written = map[string]string{}
	}
	add := func(fp string) {
		k := class.Key(fp)
		n := len(k) + len(fp)
		if _, ok := s.written[k]; !ok && len(s.written) < mostSpellings && s.bytes+n <= spellingsBytes {
			s.written[k] = fp
			s.bytes += n
		}
	}
	// Of several ways to write a statement that one decides which counted most.
	written, most := map[string]string{}, map[string]uint64{}
	for _, x := range rows {
		n := x.row.v[cCount]
		if x.row.sample == "" || x.cut || strings.HasSuffix(x.row.sample, "...") || n <= most[x.id] {
			continue
		}
		if fp := mytext.Fingerprint(x.row.sample); class.Key(fp) == class.Key(x.fingerprint) {
			written[x.id], most[x.id] = fp, n
		}
	}
	for _, fp := range written {
		add(fp)
	}
	for _, c := range logged {
		add(c.Fingerprint)
	}
	for _, c := range seen {
		if !strings.HasSuffix(c.Example, "...") && len(c.Example) < maxText && len(c.Fingerprint) < longestPrint {
			add(c.Fingerprint)
		}
	}
}

// spell gives rows the fingerprint and the id of their statement as it was written, where that is known.
func (s spellings) spell(rows []growth) {
	for i := range rows {
		x := &rows[i]
		if fp, ok := s.written[class.Key(x.fingerprint)]; ok && !x.cut {
			x.fingerprint, x.id, x.spelled = fp, class.ID(fp), true
		}
	}
}
