package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fits holds a value that came as JSON to a schema of the document. Members that the schema does not name do not fit:
// they are not documented.
func fits(doc, schema map[string]any, v any, at string) error {
	if ref, ok := schema["$ref"].(string); ok {
		x, ok := doc["components"].(map[string]any)["schemas"].(map[string]any)[strings.TrimPrefix(ref,
			"#/components/schemas/")].(map[string]any)
		if !ok {
			return fmt.Errorf("%s: there is no %s", at, ref)
		}
		return fits(doc, x, v, at)
	}
	for _, k := range []string{"allOf", "oneOf"} {
		list, ok := schema[k].([]any)
		if !ok {
			continue
		}
		var first error
		fit := 0
		for _, x := range list {
			if err := fits(doc, x.(map[string]any), v, at); err == nil {
				fit++
			} else if first == nil {
				first = err
			}
		}
		if fit == 0 || k == "allOf" && fit < len(list) {
			return first
		}
		return nil
	}
	types := []string{}
	switch x := schema["type"].(type) {
	case string:
		types = append(types, x)
	case []any:
		for _, y := range x {
			types = append(types, y.(string))
		}
	default:
		return nil
	}
	is := ""
	switch x := v.(type) {
	case nil:
		is = "null"
	case bool:
		is = "boolean"
	case string:
		is = "string"
		if all, ok := schema["enum"].([]any); ok && !slices.Contains(all, any(x)) {
			return fmt.Errorf("%s: %q is none of %v", at, x, all)
		}
		if schema["format"] == "date-time" {
			if _, err := time.Parse(time.RFC3339Nano, x); err != nil {
				return fmt.Errorf("%s: %q is no time", at, x)
			}
		}
	case json.Number:
		is = "number"
		if _, err := x.Int64(); err == nil {
			is = "integer"
		} else if _, err := strconv.ParseUint(x.String(), 10, 64); err == nil {
			is = "integer"
		}
	case []any:
		is = "array"
		if items, ok := schema["items"].(map[string]any); ok {
			for i, e := range x {
				if err := fits(doc, items, e, at+"["+strconv.Itoa(i)+"]"); err != nil {
					return err
				}
			}
		}
	case map[string]any:
		is = "object"
		props, _ := schema["properties"].(map[string]any)
		rest, open := schema["additionalProperties"].(map[string]any)
		for k, e := range x {
			p, ok := props[k].(map[string]any)
			switch {
			case ok:
			case open:
				p = rest
			case props == nil:
				continue
			default:
				return fmt.Errorf("%s.%s is not documented", at, k)
			}
			if err := fits(doc, p, e, at+"."+k); err != nil {
				return err
			}
		}
		if need, ok := schema["required"].([]any); ok {
			for _, k := range need {
				if _, ok := x[k.(string)]; !ok {
					return fmt.Errorf("%s.%s is missing", at, k)
				}
			}
		}
	}
	if slices.Contains(types, is) || is == "integer" && slices.Contains(types, "number") {
		return nil
	}
	return fmt.Errorf("%s: a %s, documented is %v", at, is, types)
}
