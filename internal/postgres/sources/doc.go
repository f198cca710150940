// Package sources reads the metrics and the state of a PostgreSQL server, 15 and later: each source one file, as
// package scrape reads them. Names and labels of series are postgres_exporter's where it has the same figure
// (pg_stat_database_xact_commit, pg_settings_max_connections), with its units: times of pg_stat_database are in
// milliseconds. What Dyno adds begins with dyno_, in base units.
package sources
