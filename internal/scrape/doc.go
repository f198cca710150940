// Package scrape reads the metrics of a target each second, one source a file.
package scrape
