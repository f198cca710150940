package plan_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/dyno-perf/dyno/internal/plan"
)

var update = flag.Bool("update", false, "write docs/plan.schema.json")

const published = "../../docs/plan.schema.json"

// TestPublishedSchema fails when docs/plan.schema.json is not what the program says.
func TestPublishedSchema(t *testing.T) {
	want := plan.Schema(plan.TestWords)
	if *update {
		if err := os.WriteFile(published, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/plan.schema.json is of another program: go test ./internal/plan -run TestPublishedSchema -update")
	}
}

func TestSchemaAcceptsThePlansThatParse(t *testing.T) {
	s := decoded(t, plan.Schema(plan.TestWords))
	for _, file := range examples(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(text, plan.Options{File: file}); err != nil {
			t.Error(err)
		}
		for _, bad := range conforms(s, s, fromYAML(t, text), "") {
			t.Errorf("%s: %s", file, bad)
		}
	}
	text := everything
	if _, err := parse([]byte(text), plan.Options{}); err != nil {
		t.Error(err)
	}
	for _, bad := range conforms(s, s, fromYAML(t, []byte(text)), "") {
		t.Errorf("the plan of every key: %s", bad)
	}
}

// TestSchemaKnowsEveryKey walks the schema: the plan of every key has each of them, so that none is in the schema that
// Parse does not take. That Parse takes none that the schema lacks follows from TestSchemaAcceptsThePlansThatParse and
// from unknown keys being refused by both.
func TestSchemaKnowsEveryKey(t *testing.T) {
	s := decoded(t, plan.Schema(plan.TestWords))
	used := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				used[k] = true
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(fromYAML(t, []byte(everything)))
	for _, file := range examples(t) {
		text, _ := os.ReadFile(file)
		walk(fromYAML(t, text))
	}
	var keys func(v any, path string)
	keys = func(v any, path string) {
		switch v := v.(type) {
		case map[string]any:
			if props, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
				for k, e := range props {
					if !used[k] {
						t.Errorf("%s.%s is in the schema, and in no plan of the tests", path, k)
					}
					if p, ok := e.(map[string]any); ok && p["$ref"] == nil && p["description"] == nil {
						t.Errorf("%s.%s has no description", path, k)
					}
				}
			}
			for k, e := range v {
				keys(e, path+"."+k)
			}
		case []any:
			for _, e := range v {
				keys(e, path)
			}
		}
	}
	keys(s, "")
}

// TestSchemaRefuses shows that the schema, and the small check of it here, see mistakes.
func TestSchemaRefuses(t *testing.T) {
	s := decoded(t, plan.Schema(plan.TestWords))
	f := func(text, say string) {
		t.Helper()
		bad := strings.Join(conforms(s, s, fromYAML(t, []byte("dyno_plan: 1\nname: x\n"+text)), ""), "; ")
		if !strings.Contains(bad, say) || bad == "" {
			t.Errorf("%s: %q does not say %q", text, bad, say)
		}
	}
	f("sever: mysql", "sever")
	f("trials: {tme: 5s}", "trials.tme")
	f("trials: {time: soon}", "trials.time")
	f("axes: [{threads: [a]}]", "axes[0]")
	f("axes: [{threads: [1], collation: [latin1]}]", "axes[0]")
	f("axes: [{name: x, levels: [{name: a, sever: mysql}]}]", "axes[0]")
	f("limits: {cpus: 1}", "limits.cpus")
	f("placement: spilt", "placement")
	f("scale: {tiny: {}}", "scale.tiny")
	f("scale: {small: {nmae: x}}", "scale.small.nmae")
	f("before: [{}]", "before")
	f("threads: 0", "threads")
}

func examples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d example plans, %v", len(files), err)
	}
	return files
}

func fromYAML(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, b)
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// conforms checks a value by the few words of JSON schema that the plan's one uses, and refuses any other word.
func conforms(root, s, v any, path string) (bad []string) {
	say := func(format string, args ...any) { bad = append(bad, path+": "+fmt.Sprintf(format, args...)) }
	words, ok := s.(map[string]any)
	if !ok {
		say("the schema is %T", s)
		return bad
	}
	if ref, ok := words["$ref"].(string); ok {
		at := root
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			at = at.(map[string]any)[part]
		}
		return conforms(root, at, v, path)
	}
	is := func(name any) bool {
		switch v := v.(type) {
		case nil:
			return name == "null"
		case string:
			return name == "string"
		case bool:
			return name == "boolean"
		case float64:
			return name == "number" || name == "integer" && v == float64(int64(v))
		case []any:
			return name == "array"
		case map[string]any:
			return name == "object"
		}
		return false
	}
	fits := func(list any) (n int) {
		for _, one := range list.([]any) {
			if len(conforms(root, one, v, path)) == 0 {
				n++
			}
		}
		return n
	}
	for word, arg := range words {
		switch word {
		case "$schema", "$defs", "title", "description", "examples":
		case "type":
			if one, ok := arg.(string); ok && !is(one) {
				say("%v is no %s", v, one)
			} else if many, ok := arg.([]any); ok && !slices.ContainsFunc(many, is) {
				say("%v is none of %v", v, many)
			}
		case "const":
			if v != arg {
				say("%v is not %v", v, arg)
			}
		case "enum":
			if !slices.Contains(arg.([]any), v) {
				say("%v is not one of %v", v, arg)
			}
		case "pattern":
			if text, ok := v.(string); ok && !regexp.MustCompile(arg.(string)).MatchString(text) {
				say("%q does not match %s", text, arg)
			}
		case "minimum":
			if n, ok := v.(float64); ok && n < arg.(float64) {
				say("%v is below %v", n, arg)
			}
		case "maximum":
			if n, ok := v.(float64); ok && n > arg.(float64) {
				say("%v is above %v", n, arg)
			}
		case "anyOf":
			if fits(arg) == 0 {
				say("%v fits none of %d", v, len(arg.([]any)))
			}
		case "oneOf":
			if n := fits(arg); n != 1 {
				say("%v fits %d of %d", v, n, len(arg.([]any)))
			}
		case "items":
			if list, ok := v.([]any); ok {
				for i, e := range list {
					bad = append(bad, conforms(root, arg, e, fmt.Sprintf("%s[%d]", path, i))...)
				}
			}
		case "minItems":
			if list, ok := v.([]any); ok && float64(len(list)) < arg.(float64) {
				say("too few")
			}
		case "minProperties", "maxProperties":
			if m, ok := v.(map[string]any); ok && (word == "minProperties") == (float64(len(m)) < arg.(float64)) &&
				float64(len(m)) != arg.(float64) {
				say("%d keys", len(m))
			}
		case "required":
			if m, ok := v.(map[string]any); ok {
				for _, k := range arg.([]any) {
					if _, ok := m[k.(string)]; !ok {
						say("%v is missing", k)
					}
				}
			}
		case "properties":
			if m, ok := v.(map[string]any); ok {
				for k, e := range m {
					if p, ok := arg.(map[string]any)[k]; ok {
						bad = append(bad, conforms(root, p, e, strings.TrimPrefix(path+"."+k, "."))...)
					}
				}
			}
		case "additionalProperties":
			m, ok := v.(map[string]any)
			if !ok {
				continue
			}
			props, _ := words["properties"].(map[string]any)
			for k, e := range m {
				if _, ok := props[k]; ok {
					continue
				}
				if arg == false {
					bad = append(bad, strings.TrimPrefix(path+"."+k, ".")+": unknown key")
				} else {
					bad = append(bad, conforms(root, arg, e, path+"."+k)...)
				}
			}
		default:
			say("the check does not know %q", word)
		}
	}
	return bad
}

// everything is a plan that has every key.
const everything = `
dyno_plan: 1
name: everything
title: A title
about: Words.
topic: What was published
database: lab
server: mysql
settings: {innodb_buffer_pool_size: 1G, skip_log_bin: }
set: {max_connections: 200}
filesystem: ext4
limits: {cpu: 97%, memory: 2G, read_iops: 500, write_iops: 500, read_bps: 8M, write_bps: 8000000}
cpus: 0-1
workload: oltp_read_only
options: {table-size: 1000, rand_type: uniform}
threads: 2
db_ps_mode: disable
mysql_ignore_errors: [1213, 1205]
ignore_errors: ["23505", 1062]
table_options: ROW_FORMAT=DYNAMIC
data: {workload: oltp_read_write, options: {tables: 2}, threads: 2, sql: [ANALYZE TABLE sbtest1]}
before:
  - {sql: SELECT 1}
  - wait: SELECT 1
  - shell: |
      sync
      true
after: {sql: SELECT 2}
read: {pool: "SELECT @@innodb_buffer_pool_size"}
predict: {pool: buffer_pool_size}
servers: [mysql@9.7, {value: mariadb, name: maria, settings: {log_bin: x}}]
axes:
  - threads: [1, {value: 2}]
  - {setting: sync_binlog, values: [0, 1]}
  - {set: long_query_time, values: 1}
  - charset: [latin1, utf8mb4]
  - collation: utf8mb4_bin
  - engine: [InnoDB]
  - page_size: [16k]
  - {limit: cpu, values: [none, 50%]}
  - {option: range-size, values: [10]}
  - workload: oltp_read_only
  - filesystem: [xfs]
  - cpus: ["0", {name: both, value: "0,1"}]
  - {name: place, levels: [{name: here}]}
skip: [{threads: 2, sync_binlog: 0}]
baseline: {threads: 1}
rows: [threads]
show: [pool, tps]
unit: bytes
trials: {time: 5s, warmup: 1s..2s, rounds: 3..4, margin: 2.5%, confidence: 0.99, fresh: server, turns: 0, settle: true, raw: true, drop_caches: false, control: true, seed: 7}
placement: {server: "0", client: "1"}
budget: 1h30m
prices: {for: {threads: 1}, month: 10.5, currency: EUR}
published: [{for: {threads: 1}, text: some, lo: 0.9, hi: 1.1, absent: not here}]
scale:
  small: {axes: {threads: [1]}}
  medium: {trials: {time: 3s}}
  full: {columns: [server, sync_binlog, long_query_time, charset, collation, engine, page_size, cpu, range-size, workload, filesystem, cpus, place]}
`
