// Package scrape reads the metrics of a target each second, one source a file.
//
// A source that is missing, denied, slow or failing is reported with the reason and what would mend it; its series then have a
// gap, for a gap is the truth and a zero would read as healthy. All SQL sources share one connection of their own, so a target
// never carries more than one connection and one statement of the scraper at a time.
package scrape
