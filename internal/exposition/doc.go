// Package exposition writes samples in the text formats that Prometheus scrapes, under the names that mysqld_exporter gives the
// same things, so that dashboards and alerts made for it work.
//
// The formats: https://prometheus.io/docs/instrumenting/exposition_formats/ (0.0.4) and
// https://prometheus.io/docs/specs/om/open_metrics_spec/ (1.0.0). Samples are written without their times, as exporters do it:
// a scraper takes them as of the scrape, and knows by their absence that a series has ended.
package exposition
