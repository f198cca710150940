// Package exposition writes samples in the text formats that Prometheus scrapes, and reads them, under the names
// that they have. Packages app, cli and httpapi pass it the samples; it reads no server.
//
// The formats: https://prometheus.io/docs/instrumenting/exposition_formats/ (0.0.4) and
// https://prometheus.io/docs/specs/om/open_metrics_spec/ (1.0.0). Samples are written without time
// stamps, as exporters do: a scraper uses the time of the scrape, and notices the end of a series
// by its absence.
package exposition
