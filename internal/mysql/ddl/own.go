package ddl

import "github.com/dyno-perf/dyno/internal/schema"

// Schemas are those that every server has of its own.
var Schemas = []string{"information_schema", "performance_schema", "sys", "mysql"}

// System reports whether a schema is the server's own, see schema.Own.
func System(name string) bool { return schema.Own(name, Schemas) }
