package plan

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of what is read as a plan. Nobody's plan comes near them; a file that does is something else, or meant to do
// harm.
const (
	maxBytes = 1 << 20
	maxDepth = 32
	maxNodes = 10_000 // the parser's time grows with the square of a mapping's keys
)

// node is one value of a plan's text with its place. It is not changed once it is made.
type node struct {
	kind         kind
	text         string // of a scalar
	line, column int    // from 1; 0 when it comes from an option
	option       string // of the command line that it comes from
	items        []*node
	entries      []entry
}

type entry struct {
	name  string
	key   *node // its place
	value *node
}

type kind uint8

const (
	nothing kind = iota // null, or no value at all
	scalar
	list
	mapping
)

// what says in words what a node is.
func (n *node) what() string {
	switch n.kind {
	case scalar:
		return fmt.Sprintf("%q", short(n.text))
	case list:
		return "a list"
	case mapping:
		return "a mapping (key: value)"
	case nothing:
	}
	return "nothing"
}

// short cuts a text for a message.
func short(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return s
}

// get returns the value of a key, nil when it is not there.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		if e.name == name {
			return e.value
		}
	}
	return nil
}

// with returns a copy of a mapping (or of nothing) with one key set.
func (n *node) with(name string, key, value *node) *node {
	c := &node{kind: mapping}
	if n != nil {
		c.line, c.column, c.option = n.line, n.column, n.option
		c.entries = append(c.entries, n.entries...)
	}
	for i, e := range c.entries {
		if e.name == name {
			c.entries[i].value = value
			if value.option != "" {
				c.entries[i].key = value
			}
			return c
		}
	}
	c.entries = append(c.entries, entry{name, key, value})
	return c
}

// without returns a copy of a mapping without one key.
func (n *node) without(name string) *node {
	c := *n
	c.entries = nil
	for _, e := range n.entries {
		if e.name != name {
			c.entries = append(c.entries, e)
		}
	}
	return &c
}

// readYAML reads the text into nodes. Anchors, aliases, tags and merge keys are refused: a plan says what it means
// where it means it, and no short text grows into a long one.
func readYAML(text []byte) (root *node, problem *Problem) {
	if len(text) > maxBytes {
		return nil, &Problem{
			Text: fmt.Sprintf("%d bytes are too many for a plan", len(text)),
			Hint: "at most 1 MiB are read",
		}
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if line, column, ok := notText(text); !ok {
		return nil, &Problem{Line: line, Column: column, Text: "not UTF-8 text", Hint: "save the file as UTF-8"}
	}
	defer func() {
		if r := recover(); r != nil { // the YAML reader's own mistake, which is not to end this program
			root, problem = nil, &Problem{Text: "cannot be read as YAML"}
		}
	}()
	text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	tokens := lexer.Tokenize(string(text))
	if p := refuse(tokens); p != nil {
		return nil, p
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		p := &Problem{Text: "broken YAML: " + err.Error()}
		var at interface {
			error
			GetToken() *token.Token
			GetMessage() string
		}
		if errors.As(err, &at) {
			p.Text = "broken YAML: " + at.GetMessage()
			if tk := at.GetToken(); tk != nil && tk.Position != nil {
				p.Line, p.Column = tk.Position.Line, tk.Position.Column
			}
		}
		p.Text, _, _ = strings.Cut(p.Text, "\n")
		return nil, p
	}
	c := converter{}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			n := c.node(doc.Body, 0)
			return nil, &Problem{
				Line: n.line, Column: n.column, Text: "a second document begins here",
				Hint: "a file holds one plan",
			}
		}
		root = c.node(doc.Body, 0)
	}
	if c.problem != nil {
		return nil, c.problem
	}
	if root == nil || root.kind == nothing {
		return nil, &Problem{Text: "the plan is empty"}
	}
	return root, nil
}

// notText finds the first byte that is no UTF-8, or a control character.
func notText(text []byte) (line, column int, ok bool) {
	line, column = 1, 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f {
			return line, column, false
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
		text = text[size:]
	}
	return 0, 0, true
}

// refuse looks for what a plan may not have before the parser sees it, which recurses as deep as its input.
func refuse(tokens token.Tokens) *Problem {
	no := func(tk *token.Token, text, hint string) *Problem {
		return &Problem{Line: tk.Position.Line, Column: tk.Position.Column, Text: text, Hint: hint}
	}
	if len(tokens) > 3*maxNodes {
		return no(tokens[0], "too many values for a plan", "")
	}
	depth := 0
	for i, tk := range tokens {
		switch tk.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return no(tk, fmt.Sprintf("%q: a plan has no anchors and aliases", short(tk.Value)),
				"write the value where it is meant; quote a text that begins with & or *")
		case token.TagType, token.DirectiveType:
			return no(tk, fmt.Sprintf("%q: a plan has no tags and directives", short(tk.Value)),
				"quote a text that begins with ! or %")
		case token.MappingKeyType:
			return no(tk, "a plan's keys are plain words", "quote a text that begins with ?")
		case token.SequenceStartType, token.MappingStartType:
			if depth++; depth > maxDepth {
				return no(tk, "brackets are nested too deep", "")
			}
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType:
			if tk.Position.Column > 4*maxDepth {
				return no(tk, "indented too deep", "")
			}
		case token.MappingValueType:
			if depth <= 0 && i > 0 && tokens[i-1].Position.Column > 4*maxDepth {
				return no(tk, "indented too deep", "")
			}
		}
	}
	return nil
}

// converter turns the parser's tree into nodes.
type converter struct {
	count   int
	problem *Problem // the first
}

func (c *converter) fail(n *node, text string) *node {
	if c.problem == nil {
		c.problem = &Problem{Line: n.line, Column: n.column, Text: text}
	}
	return n
}

func (c *converter) node(in ast.Node, depth int) *node {
	n := &node{}
	if in == nil {
		return n
	}
	if tk := in.GetToken(); tk != nil && tk.Position != nil {
		n.line, n.column = tk.Position.Line, tk.Position.Column
	}
	if c.count++; c.count > maxNodes {
		return c.fail(n, "too many values for a plan")
	}
	if depth > 4*maxDepth {
		return c.fail(n, "nested too deep")
	}
	switch in := in.(type) {
	case *ast.NullNode:
	case *ast.StringNode:
		n.kind, n.text = scalar, in.Value
	case *ast.LiteralNode:
		n.kind = scalar
		if in.Value != nil {
			n.text = in.Value.Value
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		n.kind, n.text = scalar, in.GetToken().Value
	case *ast.SequenceNode:
		n.kind = list
		for _, v := range in.Values {
			n.items = append(n.items, c.node(v, depth+1))
		}
	case *ast.MappingNode:
		n.kind = mapping
		for _, v := range in.Values {
			c.entry(n, v, depth)
		}
	case *ast.MappingValueNode:
		n.kind = mapping
		c.entry(n, in, depth)
	default:
		return c.fail(n, "a plan has no "+strings.ToLower(in.Type().String()))
	}
	if n.kind == mapping && len(n.entries) > 0 {
		if k := n.entries[0].key; k.line > 0 { // the first key, not its colon
			n.line, n.column = k.line, k.column
		}
	}
	return n
}

func (c *converter) entry(n *node, in *ast.MappingValueNode, depth int) {
	key := &node{}
	if in.Key == nil {
		c.fail(n, "a key is missing")
		return
	}
	k, ok := in.Key.(ast.Node)
	if !ok {
		c.fail(n, "a plan's keys are plain words")
		return
	}
	if key = c.node(k, depth+1); key.kind != scalar && key.kind != nothing {
		c.fail(key, "a plan's keys are plain words")
		return
	}
	name := key.text
	if key.kind == nothing {
		name = "null"
	}
	value := c.node(in.Value, depth+1)
	if value.kind == nothing { // an empty value's own place is somewhere behind it
		value.line, value.column = key.line, key.column
	}
	n.entries = append(n.entries, entry{name, key, value})
}
