package report

import "strings"

// branches writes a reasoning as a tree, one thought a line, each with the lines that lead to it.
func branches(nodes []Node, lead string, line func(lead, next, text string)) {
	for i, n := range nodes {
		turn, on := "├─ ", "│  "
		if i == len(nodes)-1 {
			turn, on = "└─ ", "   "
		}
		line(lead+turn, lead+on, n.Text)
		branches(n.Then, lead+on, line)
	}
}

// reasoning draws the tree for a terminal.
func (p *textPage) reasoning() {
	if len(p.d.Reasoning) == 0 {
		return
	}
	p.section("How it was judged")
	for _, n := range p.d.Reasoning {
		p.para("  ", n.Text)
		branches(n.Then, "  ", func(lead, next, text string) {
			for i, l := range wrap(text, p.width-cells(lead)) {
				if i > 0 {
					lead = next
				}
				p.line(lead + l)
			}
		})
	}
}

// reasoning writes it as a nested list.
func (p *mdPage) reasoning() {
	if len(p.d.Reasoning) == 0 {
		return
	}
	p.section(2, "How it was judged")
	var write func(nodes []Node, depth int)
	write = func(nodes []Node, depth int) {
		for _, n := range nodes {
			p.line(strings.Repeat("  ", depth) + "- " + mdStart(n.Text))
			write(n.Then, depth+1)
		}
	}
	write(p.d.Reasoning, 0)
}
