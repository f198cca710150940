package report

import (
	"bytes"
	"strings"
	"testing"
)

// TestBlocks: every kind of block is written in every form, and nothing is left of one that is empty.
func TestBlocks(t *testing.T) {
	const said = "so it is"
	tab := table{Head: []string{"name", "figure"}, Rows: [][]string{{said, "1"}}, Left: 1}
	chars := func(p *textPage) { p.line(said) }
	for _, b := range []block{
		section{Title: said, Body: []block{para{Text: "x"}}},
		section{Over: "First", Badge: "critical", Title: said, Body: []block{para{Text: "x"}}},
		part(said, para{Text: "x"}),
		para{Text: said},
		sentences("!", "", []string{said}),
		facts{{"name", said}},
		signs{said},
		code{"label", "sql", said},
		cards{table: tab, Cards: []card{{Title: said}}},
		ranked{table: tab, Extra: []extra{{Link: "q1", Bar: "50"}}},
		tab,
		grid{
			Corner: []string{"a"}, Heads: [][]string{{"b"}}, Labels: [][]string{{"c"}},
			Cells: [][]gridCell{{cellOf(said)}},
		},
		drawing{Chars: chars, Figures: []figure{{Title: said}}},
		tree{{Text: "x", Then: []Node{{Text: said}}}},
		moments{{"+1 s", "t-note", said}},
		fold{said, []block{para{Text: "x"}}},
		hero{Sentence: said},
	} {
		text, mark := newTextPage(Options{}), &mdPage{}
		text.blocks([]block{b})
		mark.blocks([]block{b})
		var html bytes.Buffer
		if err := (page{Blocks: []block{b}}).write(&html, "test"); err != nil {
			t.Fatalf("%s: %v", kind(b), err)
		}
		forms := map[string]string{"text": text.b.String(), "Markdown": mark.b.String(), "HTML": html.String()}
		for form, s := range forms {
			if !strings.Contains(s, said) {
				t.Errorf("%s in %s: %q", kind(b), form, s)
			}
		}
	}
	nothing := sec("x", said, para{}, code{}, facts{}, part(said, bullets{}, fold{said, []block{table{}}}))
	all := []block{nothing, hero{}, drawing{}, cards{}, tree{}, signs{}, moments{}, grid{}, ranked{}}
	if got := kept(all); len(got) > 0 {
		t.Errorf("left of nothing: %+v", got)
	}
}
