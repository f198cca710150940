// Package sources reads the metrics of servers of the MySQL family, with one file per source. A scraper of package
// scrape decides when each is read.
package sources
