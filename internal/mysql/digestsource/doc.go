// Package digestsource reads statements for digests: from logs, in files and pipes, either at once
// (Files) or as they grow (Follow), and from live servers (Live, Reader). It returns classes and
// reports. Packages slowlog and digest do the parsing and the summing.
//
// A live server is read as deltas over a window, from up to three places:
//
//   - performance_schema.events_statements_summary_by_digest counts every completed statement;
//   - the slow log holds statements above long_query_time. It is read if it is a file on this
//     machine, and only the part written within the window;
//   - the processlist, sampled ten times a second, shows what was running at those moments.
//
// The best of them provides the figures: digests, or else a slow log that holds everything
// (long_query_time=0), or else the samples. The others add examples with literals, users and hosts,
// and the classes that the first cannot see: statements that were still running when the window
// ended, and on MariaDB prepared statements, which its digests exclude. End returns what a
// diagnosis needs. Report, of a reader that was opened with Detail, returns everything known about
// the window.
//
// Cost: a digest table is read once when a window begins and once when it ends, and between them
// only the changed rows, by LAST_SEEN. The server builds the text of every row that it visits,
// whether the text is requested or not. That is most of the cost; BenchmarkPass shows how much.
//
// Statements that Dyno itself sends are excluded everywhere.
package digestsource
