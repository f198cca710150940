// Package scrape reads the metrics of a target each second, whatever family of servers it is of: that gives the sources
// and the connections, see Parts, and those of the machine are here, with one file per source. It passes each Reading
// to its sink and stores nothing.
//
// A source that is missing, denied, slow or failing is reported with the reason and the fix. Its series then have a
// gap, because a zero would read as healthy. Light sources share one connection and heavy ones another, so a scraper
// never has more than two connections, and one statement on each.
package scrape
