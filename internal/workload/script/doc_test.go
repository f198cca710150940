package script

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReference parses the examples of the reference, and looks for what it leaves out.
func TestReference(t *testing.T) {
	b, err := os.ReadFile("../../../docs/load-script.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(text, -1)
	for _, block := range blocks {
		s, err := Parse("load-script.md", []byte(block[1]))
		if err != nil {
			t.Errorf("%v in\n%s", err, block[1])
			continue
		}
		p, err := Workload{Scripts: []*Script{s}}.Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		g := p.Generator(1, 0)
		for range 20 {
			if len(sent(t, p, g)) == 0 {
				t.Errorf("nothing is sent by\n%s", block[1])
			}
		}
	}
	if len(blocks) < 3 {
		t.Errorf("%d examples", len(blocks))
	}
	for _, f := range functionNames() {
		if !strings.Contains(text, "`"+f+"(") {
			t.Errorf("function %s is not described", f)
		}
	}
	for _, c := range commands {
		if !strings.Contains(text, `\`+c) {
			t.Errorf("command \\%s is not described", c)
		}
	}
	for _, m := range regexp.MustCompile("`([a-z_]+)\\(").FindAllStringSubmatch(text, -1) {
		if find(m[1]) == nil {
			t.Errorf("function %s is described, but does not exist", m[1])
		}
	}
}
