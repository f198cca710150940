package fault

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/dyno-perf/dyno/internal/workload"
)

// namesSeed is the option that chooses the names.
const namesSeed = "names-seed"

func namesOption() workload.Option {
	return workload.Option{Name: namesSeed, Type: workload.Number, Default: "0", Help: "0 for names as people choose " +
		"them, else the seed of random ones"}
}

// names gives schemas, tables and columns their names: their own for the seed 0, else random ones that depend on
// nothing but seed and own name. None needs quotes.
type names struct{ seed uint64 }

// of returns the name for a key. The part of a key before a dot tells equal names of different tables apart:
// "visits.id".
func (n names) of(key string) string {
	if n.seed == 0 {
		_, own, dotted := strings.Cut(key, ".")
		if dotted {
			return own
		}
		return key
	}
	h := fnv.New64a()
	h.Write([]byte(key))
	r := rand.New(rand.NewPCG(n.seed, h.Sum64()))
	const consonants, vowels = "bdfglmnprstvz", "aeiou"
	var b strings.Builder
	for range 4 {
		b.WriteByte(consonants[r.IntN(len(consonants))])
		b.WriteByte(vowels[r.IntN(len(vowels))])
	}
	b.WriteByte('k') // no reserved word has this form, "database" would without it
	return b.String()
}

// sql replaces every {key} of a template by its name.
func (n names) sql(template string) string {
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
		b.WriteString(n.of(key))
		template = after
	}
}

// list returns the names of several keys.
func (n names) list(keys ...string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = n.of(k)
	}
	return out
}
