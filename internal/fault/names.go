package fault

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/dyno-perf/dyno/internal/workload"
)

// NamesSeed is the option that chooses the names.
const NamesSeed = "names-seed"

func namesOption() workload.Option {
	return workload.Option{Name: NamesSeed, Type: workload.Number, Default: "0", Help: "0 for names as people choose " +
		"them, else the seed of random ones"}
}

// Names gives schemas, tables and columns their names: their own for the seed 0, else random ones that depend on
// nothing but seed and own name. None needs quotes.
type Names uint64

// Of returns the name for a key. The part of a key before a dot tells equal names of different tables apart:
// "visits.id".
func (n Names) Of(key string) string {
	if n == 0 {
		_, own, dotted := strings.Cut(key, ".")
		if dotted {
			return own
		}
		return key
	}
	h := fnv.New64a()
	h.Write([]byte(key))
	r := rand.New(rand.NewPCG(uint64(n), h.Sum64()))
	const consonants, vowels = "bdfglmnprstvz", "aeiou"
	var b strings.Builder
	for range 4 {
		b.WriteByte(consonants[r.IntN(len(consonants))])
		b.WriteByte(vowels[r.IntN(len(vowels))])
	}
	b.WriteByte('k') // no reserved word has this form, "database" would without it
	return b.String()
}

// SQL replaces every {key} of a template by its name.
func (n Names) SQL(template string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(template, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		key, after, ok := strings.Cut(rest, "}")
		if !ok {
			panic("BUG: no } in " + template)
		}
		b.WriteString(n.Of(key))
		template = after
	}
}

// List returns the names of several keys.
func (n Names) List(keys ...string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = n.Of(k)
	}
	return out
}
