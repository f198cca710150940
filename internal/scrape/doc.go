// Package scrape reads the metrics of a target each second, with one file per source. It passes
// each Reading to its sink and stores nothing.
//
// A source that is missing, denied, slow or failing is reported with the reason and the fix. Its
// series then have a gap, because a zero would read as healthy. All SQL sources share one
// connection, so the scraper never uses more than one connection and one statement of a target at a
// time.
package scrape
