// Package digestsource reads query classes of a live server as deltas over a window, from up to three places:
//
//   - performance_schema.events_statements_summary_by_digest counts every statement that completed;
//   - the slow log holds statements above long_query_time, read when it is a file on this machine, only what was written within
//     the window;
//   - the processlist, looked at ten times a second, tells what was running at those moments.
//
// The best one gives the figures: digests, else a slow log that holds everything (long_query_time=0), else the samples. The
// others add examples with literals, users and hosts, and the classes that the first cannot see: statements that were still
// running when the window ended, and on MariaDB prepared statements, which its digests leave out.
//
// Statements that Dyno itself sends are left out everywhere.
package digestsource
