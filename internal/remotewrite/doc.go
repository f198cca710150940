// Package remotewrite sends what the store of series holds to other stores, by Prometheus' remote write 1.0
// (https://prometheus.io/docs/specs/prw/remote_write_spec/): Prometheus, VictoriaMetrics, Mimir, Thanos and others take it.
//
// The store is the queue. A small file, the cursor, says up to when the receiver has acknowledged everything; whatever stands
// still, the receiver, the network or Dyno itself, is caught up from there. A sample is sent again only when nobody can know
// whether the receiver has it: a request was on its way when one side ended. Prometheus drops such a repetition, as do
// VictoriaMetrics with -dedup.minScrapeInterval=1ms and Mimir; they count as repeated.
package remotewrite
