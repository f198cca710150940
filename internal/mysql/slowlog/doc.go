// Package slowlog parses the text logs of MySQL, Percona Server and MariaDB: the slow query log in
// all its dialects, and the general log. It works on bytes and does no I/O: the caller passes it
// pieces of a log that begin and end between entries (Cut), in order or, with the State before each
// piece (State.After), in any order.
//
// Every byte of a piece is part of one Entry, of one Skip, or of a line that may appear between
// entries: an empty line, or one of the three that a server writes when it opens the log. Nothing
// else is ignored.
//
// Differences from pt-query-digest 3.2, which reads the same logs:
//   - an entry ends at a comment only if the comment begins an entry, so routines with comments
//     behind a ; stay one statement, and a torn-off header costs only its own entry;
//   - text between entries, torn entries and impossible times (a clock that went back:
//     18446744073709.55 s) are skipped and reported, not counted;
//   - "mariadbd" writes banners too, and they do not split an entry from the next;
//   - lines may end in CR LF;
//   - an empty statement, or one that is itself "use db" or "SET timestamp=…", is an entry;
//   - Log_slow_rate_limit is reported, so that counts and sums can be multiplied by it;
//   - MySQL's Created_tmp_tables and Created_tmp_disk_tables are Tmp_tables and Tmp_disk_tables;
//   - the general log's Execute is the executed statement.
package slowlog
