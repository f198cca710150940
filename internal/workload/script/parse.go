package script

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/suggest"
	"github.com/dyno-perf/dyno/internal/workload"
)

// sessionVariables is how many variables are there from the beginning: see predefined.
const sessionVariables = 2

// predefined are variables that hold the number of the session, from 0; the second name is pgbench's.
var predefined = [sessionVariables]string{"session", "client_id"}

// largest is the size of a script in bytes that is taken; a larger one is a dump that was named by mistake.
const largest = 4 << 20

// Parse reads one script. The name is that of the file: errors carry it, and a script without \transaction is one
// transaction of its base name. The error, if any, is an *Error.
func Parse(name string, text []byte) (*Script, error) {
	src := string(text)
	p := &parser{
		name: name, src: src,
		s:     &Script{Name: name, sum: checksum(text)},
		known: map[string]int{}, lists: map[string][]expression{},
	}
	switch {
	case len(text) > largest:
		return nil, p.at(0).errorf("data are loaded separately: a script says what one operation does",
			"the script has %d bytes, at most %d are taken", len(text), largest)
	case !utf8.Valid(text):
		i := 0
		for r, n := utf8.DecodeRuneInString(src); r != utf8.RuneError || n > 1; r,
			n = utf8.DecodeRuneInString(src[i:]) {
			i += n
		}
		return nil, p.at(i).errorf("save the file as UTF-8", "the text is not valid UTF-8")
	}
	if strings.HasPrefix(src, "\ufeff") {
		p.i = len("\ufeff")
	}
	for _, n := range predefined {
		p.variable(n)
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	return p.s, nil
}

// parser reads a script from front to back.
type parser struct {
	name string
	src  string
	i    int // offset of what comes next
	s    *Script

	known map[string]int          // variables that have a value where the parser is
	lists map[string][]expression // of \list
	head  []instruction           // commands before the first \transaction
	loops int                     // of the head
	heads map[string]int          // known at the end of the head; nil before the first \transaction
	t     *transaction            // nil before the first command that belongs to one
	named bool                    // t was begun by \transaction
	open  []block                 // what is not closed yet
	plain bool                    // \text on
	after bool                    // something that comes after the options has been seen
}

// block is an \if or a \repeat that is open.
type block struct {
	word string // if, else or repeat
	from place
	test int   // index of the jump to the next branch, or of the repeat; -1 when there is none
	ends []int // jumps to the end
	loop int
}

func (p *parser) at(offset int) place { return placeOf(p.name, p.src, offset) }

func (p *parser) run() error {
	for {
		end, err := skipSpace(p, p.i)
		if err != nil {
			return err
		}
		p.i = end
		if p.i >= len(p.src) {
			break
		}
		if p.src[p.i] == '\\' {
			err = p.command()
		} else {
			err = p.statement()
		}
		if err != nil {
			return err
		}
	}
	if p.t == nil {
		return p.at(len(p.src)).errorf("write at least one SQL statement that ends with ;",
			"the script has no statement")
	}
	return p.close()
}

// variable returns the number of a variable, a new one when the name is new.
func (p *parser) variable(name string) int {
	n, ok := p.known[name]
	if !ok {
		n = p.s.vars
		p.s.vars++
		p.known[name] = n
	}
	return n
}

// begin makes sure that there is a transaction to add to.
func (p *parser) begin(at place) {
	p.after = true
	if p.t == nil {
		base := path.Base(p.name)
		if name := strings.TrimSuffix(base, path.Ext(base)); name != "" {
			base = name
		}
		p.t = &transaction{name: base, weight: 1, at: at}
	}
}

// addTo appends an instruction and returns its index.
func addTo(t *transaction, in instruction) int {
	t.code = append(t.code, in)
	return len(t.code) - 1
}

// close ends the transaction.
func (p *parser) close() error {
	if n := len(p.open); n > 0 {
		b := p.open[n-1]
		want := "\\endif"
		if b.word == "repeat" {
			want = "\\endrepeat"
		}
		return b.from.errorf("write "+want+" where it ends", "\\%s has no end", b.word)
	}
	if len(p.t.calls) == 0 {
		return p.t.at.errorf("write at least one SQL statement that ends with ;", "transaction %s has no statement",
			p.t.name)
	}
	p.s.transactions = append(p.s.transactions, p.t)
	p.t = nil
	return nil
}

// commands are the words behind a backslash.
var commands = []string{
	"set", "option", "list", "transaction", "think", "into", "text", "if", "elif", "else",
	"endif", "repeat", "endrepeat",
}

// elsewhere says what to write in place of commands that other tools have.
var elsewhere = map[string]string{
	"gset":          "write \\into with a name for each column, after the ; of the statement",
	"aset":          "write \\into with a name for each column, after the ; of the statement",
	"sleep":         "a wait belongs before an operation: \\think 10 ms",
	"setrandom":     "write \\set NAME random(1, 100)",
	"setshell":      "scripts start no programs; dyno load exec does",
	"shell":         "scripts start no programs; dyno load exec does",
	"startpipeline": "one statement is sent at a time",
	"endpipeline":   "one statement is sent at a time",
}

// command reads a line that begins with a backslash.
func (p *parser) command() error {
	start := p.i
	end := start
	for { // a backslash at the end of a line takes the next one in
		n := strings.IndexByte(p.src[end:], '\n')
		if n < 0 {
			end = len(p.src)
			break
		}
		end += n
		if before := strings.TrimSuffix(p.src[start:end], "\r"); len(before) < 2 || before[len(before)-1] != '\\' {
			break
		}
		end++
	}
	p.i = end
	l := &lexer{p: p, i: start + 1, end: end}
	word, err := l.next()
	if err != nil {
		return err
	}
	if word.kind != nameToken {
		return p.at(start).errorf("write \\set NAME EXPRESSION, for example", "a backslash without a command")
	}
	cmd := strings.ToLower(word.text)
	here := p.at(start)
	switch cmd {
	case "set":
		err = parseSet(p, l, here)
	case "option":
		err = parseOption(p, l, here)
	case "list":
		err = parseList(p, l, here)
	case "transaction":
		err = parseTransaction(p, l, here)
	case "think":
		err = parseThink(p, l, here)
	case "into":
		err = parseInto(p, l, here)
	case "text":
		err = p.text(l)
	case "if", "elif", "else", "endif":
		err = parseBranch(p, cmd, l, here)
	case "repeat", "endrepeat":
		err = parseRepeat(p, cmd, l, here)
	default:
		hint := elsewhere[cmd]
		if hint == "" {
			hint = "commands are \\" + strings.Join(commands, " \\")
			if n := suggest.Name(cmd, commands, len(cmd)/2+1); n != "" {
				hint = "did you mean \\" + n + "?"
			}
		}
		return here.errorf(hint, "unknown command \\%s", word.text)
	}
	if err != nil {
		return err
	}
	return l.done()
}

// set: \set NAME EXPRESSION
func parseSet(p *parser, l *lexer, here place) error {
	name, err := p.newName(l)
	if err != nil {
		return err
	}
	x, err := p.expression(l)
	if err != nil {
		return err
	}
	p.begin(here)
	addTo(p.t, instruction{do: set, value: x, variable: p.variable(name), at: here})
	return nil
}

// newName reads the name of a variable that gets a value.
func (p *parser) newName(l *lexer) (string, error) {
	t, err := l.next()
	if err != nil {
		return "", err
	}
	if t.kind != nameToken {
		hint := ""
		if t.kind == variableToken {
			hint = "write " + t.text + " without the colon here"
		}
		return "", p.at(t.offset).errorf(hint, "a name is missing: letters, digits and _")
	}
	if slices.Contains(predefined[:], t.text) {
		return "", p.at(t.offset).errorf("take another name", "%s is the number of the session", t.text)
	}
	if n, ok := p.known[t.text]; ok && n < sessionVariables+len(p.s.options) {
		return "", p.at(t.offset).errorf("take another name", "%s is an option and does not change", t.text)
	}
	if p.lists[t.text] != nil {
		return "", p.at(t.offset).errorf("take another name", "%s is a list", t.text)
	}
	return t.text, nil
}

// option: \option NAME DEFAULT [what it is]
func parseOption(p *parser, l *lexer, here place) error {
	if p.after {
		return here.errorf("move it to the top of the file", "options come before everything else")
	}
	name, err := p.newName(l)
	if err != nil {
		return err
	}
	value, err := l.word()
	if err != nil {
		return err
	}
	if value.kind == endToken {
		return p.at(value.offset).errorf("write \\option "+name+" 1000, for example", "option %s has no default", name)
	}
	o := option{Option: workload.Option{
		Name: strings.ReplaceAll(name, "_", "-"), Type: workload.Text,
		Default: value.text, Help: l.rest(),
	}, variable: p.variable(name), at: here}
	if slices.Contains(databases[:], o.Name) ||
		slices.ContainsFunc(p.s.options, func(x option) bool { return x.Name == o.Name }) {
		return here.errorf("take another name", "option %s is there already", o.Name)
	}
	if n, err := parseValue(value.text).Int(); err == nil && n >= 0 && value.kind != stringToken {
		o.Type, o.Default = workload.Number, strconv.FormatInt(n, 10)
	}
	p.s.options = append(p.s.options, o)
	return nil
}

// list: \list NAME VALUE VALUE …; a second one of the same name goes on.
func parseList(p *parser, l *lexer, here place) error {
	t, err := l.next()
	if err != nil {
		return err
	}
	if t.kind != nameToken {
		return p.at(t.offset).errorf("write \\list colours red green 'light blue', for example", "the list has no name")
	}
	if _, ok := p.known[t.text]; ok {
		return p.at(t.offset).errorf("take another name", "%s is a variable", t.text)
	}
	n := 0
	for {
		v, err := l.word()
		if err != nil {
			return err
		}
		if v.kind == endToken {
			break
		}
		d := workload.String(v.text)
		if v.kind != stringToken {
			d = parseValue(v.text)
		}
		p.lists[t.text] = append(p.lists[t.text], &literal{d, p.at(v.offset)})
		n++
	}
	if n == 0 {
		return here.errorf("write \\list colours red green 'light blue', for example", "list %s has no values", t.text)
	}
	return nil
}

// transaction: \transaction NAME [WEIGHT]
func parseTransaction(p *parser, l *lexer, here place) error {
	name, err := l.word()
	if err != nil {
		return err
	}
	if name.kind == endToken || !isOperation(name.text) {
		return p.at(name.offset).errorf("write \\transaction transfer 45, for example",
			"a transaction needs a name of letters, digits, _, - and .")
	}
	weight := 1
	w, err := l.word()
	if err != nil {
		return err
	}
	if w.kind != endToken {
		if weight, err = strconv.Atoi(w.text); err != nil || weight < 1 || weight > largestWeight {
			return p.at(w.offset).errorf("45 and 5 make 90 and 10 percent", "weight %s: takes 1 to %d", w.text,
				largestWeight)
		}
	}
	switch {
	case p.named:
		if err := p.close(); err != nil {
			return err
		}
	case p.t != nil: // the head
		if len(p.t.calls) > 0 {
			return here.errorf("write \\transaction before it", "there is a statement before the first \\transaction")
		}
		if len(p.open) > 0 {
			return p.close()
		}
		if p.t.think != nil {
			return p.t.think.place().errorf("write it after \\transaction", "\\think belongs to one transaction")
		}
		p.head, p.loops, p.t = p.t.code, p.t.loops, nil
	}
	if p.heads == nil {
		p.heads = p.known
	}
	for _, t := range p.s.transactions {
		if t.name == name.text {
			return here.errorf("take another name", "transaction %s is there already, at line %d", t.name, t.at.line)
		}
	}
	p.named, p.after, p.plain = true, true, false
	p.known = map[string]int{}
	for k, v := range p.heads {
		p.known[k] = v
	}
	p.t = &transaction{name: name.text, weight: weight, at: here, code: slices.Clone(p.head), loops: p.loops}
	return nil
}

// isOperation reports whether s may be the name of a transaction.
func isOperation(s string) bool {
	for _, r := range s {
		if r != '-' && r != '.' && (r > 127 || !isNameByte(byte(r))) {
			return false
		}
	}
	return s != ""
}

// think: \think EXPRESSION [us|ms|s]
func parseThink(p *parser, l *lexer, here place) error {
	if p.t != nil && (p.t.think != nil || len(p.t.code) > len(p.head)) {
		return here.errorf("a wait inside of an operation would count as time of the server",
			"\\think comes once, first in its transaction")
	}
	before := l.fixed
	l.fixed = true
	x, err := p.expression(l)
	l.fixed = before
	if err != nil {
		return err
	}
	unit, err := l.word()
	if err != nil {
		return err
	}
	per := map[string]float64{"": 1e9, "s": 1e9, "ms": 1e6, "us": 1e3}[unit.text]
	if per == 0 {
		return p.at(unit.offset).errorf("the units are s, ms and us", "unknown unit %s", unit.text)
	}
	p.begin(here)
	p.t.think, p.t.unit = x, per
	return nil
}

// into: \into NAME[, NAME…] after a statement
func parseInto(p *parser, l *lexer, here place) error {
	if p.t == nil || len(p.t.code) == 0 || p.t.code[len(p.t.code)-1].do != send {
		return here.errorf("write it right after the ; of a statement that answers with rows",
			"\\into follows no statement")
	}
	st := &p.t.calls[len(p.t.calls)-1]
	if !st.Rows {
		return here.errorf("", "\\into follows a statement that answers without rows")
	}
	in := instruction{do: assign, at: here}
	for {
		name, err := p.newName(l)
		if err != nil {
			return err
		}
		in.into = append(in.into, p.variable(name))
		if l.peek(',') {
			continue
		}
		if l.atEnd() {
			break
		}
	}
	st.rows = true
	addTo(p.t, in)
	return nil
}

// text: \text on|off
func (p *parser) text(l *lexer) error {
	w, err := l.word()
	if err != nil {
		return err
	}
	switch strings.ToLower(w.text) {
	case "", "on":
		p.plain = true
	case "off":
		p.plain = false
	default:
		return p.at(w.offset).errorf("", "\\text takes on or off, not %s", w.text)
	}
	p.after = true
	return nil
}

// branch: \if EXPRESSION, \elif EXPRESSION, \else, \endif
func parseBranch(p *parser, word string, l *lexer, here place) error {
	if word == "if" {
		x, err := p.expression(l)
		if err != nil {
			return err
		}
		p.begin(here)
		if err := deeper(p.open, here); err != nil {
			return err
		}
		test := addTo(p.t, instruction{do: unless, value: x, at: here})
		p.open = append(p.open, block{word: word, from: here, test: test})
		return nil
	}
	if n := len(p.open); n == 0 || p.open[n-1].word == "repeat" || word != "endif" && p.open[n-1].word == "else" {
		return here.errorf("write \\if first", "\\%s without its \\if", word)
	}
	b := &p.open[len(p.open)-1]
	if word != "endif" {
		b.ends = append(b.ends, addTo(p.t, instruction{do: jump, at: here}))
	}
	if b.test >= 0 {
		p.t.code[b.test].to = len(p.t.code)
		b.test = -1
	}
	switch word {
	case "elif":
		x, err := p.expression(l)
		if err != nil {
			return err
		}
		b.test = addTo(p.t, instruction{do: unless, value: x, at: here})
	case "else":
		b.word = "else"
	case "endif":
		for _, j := range b.ends {
			p.t.code[j].to = len(p.t.code)
		}
		fence(p.t)
		p.open = p.open[:len(p.open)-1]
	}
	return nil
}

// fence keeps what comes next from being taken for the end of a block: \into after \endif.
func fence(t *transaction) { addTo(t, instruction{do: jump, to: len(t.code) + 1}) }

// repeat: \repeat EXPRESSION, \endrepeat
func parseRepeat(p *parser, word string, l *lexer, here place) error {
	if word == "repeat" {
		x, err := p.expression(l)
		if err != nil {
			return err
		}
		p.begin(here)
		if err := deeper(p.open, here); err != nil {
			return err
		}
		depth := 0
		for _, b := range p.open {
			if b.word == "repeat" {
				depth++
			}
		}
		p.t.loops = max(p.t.loops, depth+1)
		p.open = append(p.open, block{
			word: word, from: here, loop: depth,
			test: addTo(p.t, instruction{do: repeat, value: x, loop: depth, at: here}),
		})
		return nil
	}
	if n := len(p.open); n == 0 || p.open[n-1].word != "repeat" {
		return here.errorf("write \\repeat first", "\\endrepeat without its \\repeat")
	}
	b := p.open[len(p.open)-1]
	addTo(p.t, instruction{do: again, to: b.test + 1, loop: b.loop, at: here})
	p.t.code[b.test].to = len(p.t.code)
	p.open = p.open[:len(p.open)-1]
	return nil
}

// deepest is how deep \if and \repeat may be inside of each other.
const deepest = 50

func deeper(open []block, here place) error {
	if len(open) >= deepest {
		return here.errorf("", "more than %d blocks inside of each other", deepest)
	}
	return nil
}

// use returns the variable of a name that must have a value.
func (p *parser) use(name string, offset int, fixed bool) (int, error) {
	n, ok := p.known[name]
	if ok && fixed && n >= sessionVariables+len(p.s.options) {
		return 0, p.at(offset).errorf("it may use options and random numbers", "\\think comes before %s has a value",
			name)
	}
	if ok {
		return n, nil
	}
	if p.lists[name] != nil {
		return 0, p.at(offset).errorf(fmt.Sprintf("write \\set x pick(%s)", name), "%s is a list", name)
	}
	hint := fmt.Sprintf("write \\set %s … before it, or \\option %s 1000 at the top", name, name)
	names := make([]string, 0, len(p.known))
	for k := range p.known {
		names = append(names, k)
	}
	slices.Sort(names)
	if s := suggest.Name(name, names, len(name)/2+1); s != "" {
		hint = "did you mean :" + s + "?"
	}
	return 0, p.at(offset).errorf(hint, "variable %s has no value here", name)
}
