package screen

// kind tells what a row is about.
type kind uint8

const (
	nothing  kind = iota // headings and remarks: the cursor passes over them
	aSession             // id: the session's
	aClass               // id: the class's, with its schema
	aSource              // id: its name
	aBlocker             // a blocker that is not known; id: its place
)

// ref names what a row is about, the same from one second to the next.
type ref struct {
	kind kind
	id   string // within its kind
	at   string // tells rows about one thing apart: a session stands below two blockers
}

// row is a line that the cursor may stand on.
type row struct {
	line line
	ref  ref
}

func heading(l line) row { return row{line: l} }

// column is one of a table: its name, its width in cells (0: what is left over) and whether figures stand in it.
type column struct {
	name  string
	width int
	right bool
	from  int // the least width of the screen at which it is shown
}

// table lays out columns within n cells.
type table struct {
	cols  []column
	width []int // 0: left out
}

func newTable(cols []column, n int) table {
	t := table{cols, make([]int, len(cols))}
	rest := n
	flexible := -1
	for i, c := range cols {
		switch {
		case n < c.from:
		case c.width == 0:
			flexible = i
		default:
			t.width[i] = c.width
			rest -= c.width + 1
		}
	}
	if flexible >= 0 {
		t.width[flexible] = max(rest, 8)
	}
	return t
}

// head returns the line of names, the one that the rows are ordered by being marked.
func (t table) head(by string) line {
	var l line
	for i, c := range t.cols {
		if t.width[i] == 0 {
			continue
		}
		if len(l) > 0 {
			l = l.add(plain, " ")
		}
		r, name := dim, c.name
		if name == by && by != "" {
			r, name = accent, name+"↓"
		}
		l = append(l, t.cell(i, span{name, r}))
	}
	return l
}

// row returns a line of the table; texts have been cleaned.
func (t table) row(texts ...span) line {
	var l line
	for i := range t.cols {
		if t.width[i] == 0 {
			continue
		}
		if len(l) > 0 {
			l = l.add(plain, " ")
		}
		l = append(l, t.cell(i, texts[i]))
	}
	return l
}

func (t table) cell(i int, s span) span {
	if t.cols[i].right {
		return span{padLeft(s.text, t.width[i]), s.role}
	}
	return span{pad(s.text, t.width[i]), s.role}
}

// fits reports whether any of the texts contains what was typed as a filter, in either case.
func fits(filter string, texts ...string) bool {
	if filter == "" {
		return true
	}
	for _, t := range texts {
		if containsFold(t, filter) {
			return true
		}
	}
	return false
}
