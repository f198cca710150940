// Package remotewrite sends the stored series to other stores, with Prometheus' remote write 1.0
// (https://prometheus.io/docs/specs/prw/remote_write_spec/). Prometheus, VictoriaMetrics, Mimir,
// Thanos and others accept it. It has no queue of its own.
//
// The store of series is the queue. A small file, the cursor, records the time up to which the
// receiver has acknowledged everything. After an outage of the receiver, the network or Dyno
// itself, sending continues from there. A sample is sent again only if it is unknown whether the
// receiver has it: a request was in flight when one side ended. Prometheus drops such a repetition,
// as do VictoriaMetrics with -dedup.minScrapeInterval=1ms and Mimir; these samples count as
// repeated.
package remotewrite
