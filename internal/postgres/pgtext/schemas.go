package pgtext

// Schemas are those that every server has of its own (manual, 5.10. Schemas; 68.2. TOAST).
var Schemas = []string{"information_schema", "pg_catalog", "pg_toast"}
