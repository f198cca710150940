// Package sqltext turns statements into fingerprints and class ids, equal to those of pt-query-digest, and knows Dyno's own statements.
package sqltext
