// Package digestsource does all reading of statements for digests: of logs, in files and pipes, at once (Files) or as they grow (Follow), and
// of live servers (Live, Reader). Parsing and summing up is done by packages slowlog and digest.
//
// A live server is read as deltas over a window, from up to three places:
//
//   - performance_schema.events_statements_summary_by_digest counts every statement that completed;
//   - the slow log holds statements above long_query_time, read when it is a file on this machine, only what was written within
//     the window;
//   - the processlist, looked at ten times a second, tells what was running at those moments.
//
// The best one gives the figures: digests, else a slow log that holds everything (long_query_time=0), else the samples. The
// others add examples with literals, users and hosts, and the classes that the first cannot see: statements that were still
// running when the window ended, and on MariaDB prepared statements, which its digests leave out. End gives what judgement needs;
// Report, of a reader that was opened with Detail, all that can be known of the window.
//
// What it costs. A digest table is read once when a window begins and once when it ends, then only the rows with news, by LAST_SEEN. The server
// makes the text of every row that it walks over whether that is asked for or not: that walk is most of the cost, BenchmarkPass tells how much.
//
// Statements that Dyno itself sends are left out everywhere.
package digestsource
