package plan

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const manual = "../../docs/plan.md"

// TestWords are those of the family that the manual is written for, as dyno has them.
var TestWords = Words{
	Setting: Example{"innodb_buffer_pool_size", "1G"}, Set: Example{"max_connections", "200"}, Vary: "sync_binlog",
	Engine: "InnoDB", PageSize: "innodb_page_size", IgnoreErrors: "mysql_ignore_errors",
}

// TestManualNamesEveryKey holds docs/plan.md to the tables that plans are read by.
func TestManualNamesEveryKey(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	quoted := map[string]bool{}
	code := regexp.MustCompile("`[^`\n]+`")
	for _, q := range code.FindAllString(string(text), -1) {
		for _, w := range regexp.MustCompile(`[a-z_]+`).FindAllString(q, -1) {
			quoted[w] = true
		}
	}
	var all []string
	for _, k := range TestWords.topKeys() {
		all = append(all, k.name)
	}
	for _, k := range trialsKeys() {
		all = append(all, k.name)
	}
	for _, k := range limitKeys() {
		all = append(all, k.name)
	}
	for _, k := range dataKeys() {
		all = append(all, k.name)
	}
	for _, k := range probeKeys() {
		all = append(all, k.name)
	}
	for _, k := range priceKeys() {
		all = append(all, k.name)
	}
	for _, k := range publishedKeys() {
		all = append(all, k.name)
	}
	for _, s := range TestWords.sugars() {
		all = append(all, s.key)
	}
	for _, name := range all {
		if !quoted[name] {
			t.Errorf("%s does not tell of the key %s", manual, name)
		}
	}
	for _, name := range measured() {
		if !strings.Contains(string(text), name) {
			t.Errorf("%s does not tell of the value %s", manual, name)
		}
	}
}

// TestManualsExamples parses what the manual shows.
func TestManualsExamples(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d examples", len(blocks))
	}
	want, err := os.ReadFile("testdata/cpu-quota.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if blocks[0][1] != string(want) {
		t.Error("the manual's plan is not testdata/cpu-quota.yaml")
	}
	head := "dyno_plan: 1\nname: x\nserver: mysql\nworkload: oltp_read_write\n"
	for i, more := range []string{"", head, head + "axes: [{threads: [1, 2]}]\n"} {
		if _, err := Parse([]byte(more+blocks[i][1]), Options{
			File: manual, Words: TestWords,
			Scale: []string{"", "", "small"}[i],
		}); err != nil {
			t.Error(err)
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `- (\\w+): ([^`]+)`(?: with `values: ([^`]+)`)?").
		FindAllStringSubmatch(string(text), -1)
	if len(rows) != len(TestWords.sugars())-1 { // charset is told with collation
		t.Errorf("%d axes", len(rows))
	}
	for _, r := range rows {
		axis := "axes:\n  - " + r[1] + ": " + r[2] + "\n"
		if r[3] != "" {
			axis += "    values: " + r[3] + "\n"
		}
		if _, err := Parse([]byte(head+axis), Options{File: axis, Words: TestWords}); err != nil {
			t.Error(err)
		}
	}
}
