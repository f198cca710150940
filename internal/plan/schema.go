package plan

import "encoding/json"

// schema is a part of a JSON schema.
type schema map[string]any

// schemaOf writes the schema of a mapping from the table of its keys.
func schemaOf[T any](keys []key[T]) schema {
	props := schema{}
	for _, k := range keys {
		p := schema{}
		for name, v := range k.schema {
			p[name] = v
		}
		about := k.about
		if k.normal != "" {
			about += " Default: " + k.normal + "."
		}
		p["description"] = about
		if k.example != nil {
			p["examples"] = k.example
		}
		props[k.name] = p
	}
	return schema{"type": "object", "properties": props, "additionalProperties": false}
}

// Schema returns the JSON schema (draft 2020-12) of a plan, for editors that help with writing one. It knows exactly
// the keys that Parse knows; what depends on other parts of the plan only Parse finds.
func Schema(w Words) []byte {
	s := schemaOf(w.topKeys())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Dyno plan"
	s["description"] = "An experiment with database servers: what is compared, under what load, how often, and the " +
		"table of the result."
	s["required"] = []string{"dyno_plan", "name"}
	s["$defs"] = schema{"level": schemaOf(w.levelKeys()), "patch": schemaOf(w.patchKeys())}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("BUG: write schema: " + err.Error())
	}
	return append(text, '\n')
}
