// Package series keeps time series in an embedded Prometheus TSDB.
package series
