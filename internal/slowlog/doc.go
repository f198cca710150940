// Package slowlog reads the text logs of MySQL, Percona Server and MariaDB: the slow query log in all its dialects, and the general log.
// It works on bytes and does no I/O: the caller hands it pieces of a log that begin and end between entries (Cut), in order or, with the State
// before each (State.After), in any order.
//
// Every byte of a piece is part of one Entry, of one Skip, or of a line that stands between entries by right: an empty one, or one of the three
// that a server writes when it opens the log. Nothing else is passed over.
//
// Against pt-query-digest 3.2, which reads the same logs:
//   - an entry ends before a comment only when that begins an entry, so routines with comments behind a ; stay one statement, and a header that
//     was torn off costs that entry alone;
//   - text between entries, torn entries and impossible times (a clock that went back: 18446744073709.55 s) are skipped and told, not counted;
//   - "mariadbd" writes banners too, and they split no entry from the next;
//   - lines may end in CR LF;
//   - an empty statement, or one that is itself "use db" or "SET timestamp=…", is an entry;
//   - Log_slow_rate_limit is told, so that counts and sums can be multiplied by it;
//   - MySQL's Created_tmp_tables and Created_tmp_disk_tables are Tmp_tables and Tmp_disk_tables;
//   - the general log's Execute is the statement that was executed.
package slowlog
