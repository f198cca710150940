package slowlog

import (
	"encoding/binary"
	"slices"
)

// node is what may follow a field: the learned part of the log's grammar. Texts alone decide, so that what was learned
// never changes what is read.
type node struct {
	edges   []edge
	runs    []run // the last one that fitted moves forward
	learned int   // runs since Reset
}

// edge is the literal text between the value of one field and the value of the next.
type edge struct {
	text                string
	first, middle, last uint64 // eight bytes of it each; all of a shorter one
	mask                uint64 // of the bytes that belong to it, when it is shorter than eight
	second, end         int    // where middle and last begin
	to                  field
	flag                bool // values are Yes and No
}

// run is a text that holds several figures with their values: those that are zero or No nearly always.
type run struct {
	text    string
	first   uint64
	figures []Figure
	seen    [2]uint64 // the attributes in figures
	to      field
}

const (
	maxEdges   = 8
	maxLiteral = 96
	maxRuns    = 6  // of a node
	learnRuns  = 12 // by a node in a piece: where values vary too much, learning is in vain
	minRun     = 3  // figures
	maxRun     = 512
)

// is reports whether d begins with the edge's text; first was compared before.
func (g *edge) is(d []byte) bool {
	if len(d) < len(g.text) || len(d) < g.second+8 {
		return false
	}
	middle, last := binary.LittleEndian.Uint64(d[g.second:])^g.middle, binary.LittleEndian.Uint64(d[g.end:])^g.last
	if (middle|last)&g.mask != 0 {
		return false
	}
	return len(g.text) <= 24 || string(d[:len(g.text)]) == g.text
}

// learn remembers that text stood between the value of one field and that of the next.
func (p *Parser) learn(at, to field, flag bool, text []byte) {
	if len(text) < 2 || len(text) > maxLiteral {
		return
	}
	n := &p.nodes[at]
	for k := range n.edges {
		if n.edges[k].text == string(text) {
			if g := &n.edges[k]; g.to == to {
				g.flag = flag
			}
			return
		}
	}
	g := edge{text: string(text), to: to, flag: flag, mask: ^uint64(0)}
	if len(text) < 8 {
		g.mask >>= 64 - 8*len(text)
		text = append(slices.Clone(text), 0, 0, 0, 0, 0, 0)
	} else {
		g.end = len(text) - 8
		g.second = min(8, g.end)
	}
	g.first = binary.LittleEndian.Uint64(text)
	g.middle, g.last = binary.LittleEndian.Uint64(text[g.second:]), binary.LittleEndian.Uint64(text[g.end:])
	if len(n.edges) < maxEdges {
		n.edges = append(n.edges, g)
		return
	}
	n.edges[maxEdges-1] = g
}

// recorder follows figures that stand one after the other and are zero or flags.
type recorder struct {
	from, end int   // in data
	at, to    field // before the first; the last
	figures   int   // where the first lies in Parser.figures
	length    int
}

// record ends a run, and learns it when it is worth it.
func (p *Parser) record(r *recorder) {
	length := r.length
	r.length = 0
	n := &p.nodes[r.at]
	if length < minRun || r.end-r.from > maxRun || n.learned >= learnRuns {
		return
	}
	figures := p.figures[r.figures:]
	if len(figures) < length { // one of them stood earlier too
		return
	}
	n.learned++
	one := run{text: string(p.data[r.from:r.end]), figures: slices.Clone(figures[:length]), to: r.to}
	one.first = binary.LittleEndian.Uint64([]byte(one.text))
	for _, f := range one.figures {
		one.seen[f.Attribute>>6] |= 1 << (f.Attribute & 63)
	}
	if len(n.runs) < maxRuns {
		n.runs = append(n.runs, one)
		return
	}
	n.runs[maxRuns-1] = one
}
