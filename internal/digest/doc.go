// Package digest sums up statements by class: it takes the entries of logs and gives a Report, the value behind every form of output.
// Aggregates of parts of a log merge into that of the whole: the Report does not depend on how a log was cut and in which order the parts came.
//
// How it keeps what it counts:
//
//   - Figures are whole numbers inside: times in nanoseconds, everything else as it is. Their sums and sums of squares have 128 bits, so that they
//     are exact and no order of adding changes them. A figure that is no such number (a fraction of a row, less than zero, 2^48 and above) is
//     kept apart in floating point.
//   - A class begins as a list of its entries, some 30 bytes each. Whenever there are maxRows of them the list is counted in the class's
//     summary: sums and sketches. Most classes of a log with very many of them stay lists, and their quantiles are exact.
//   - An attribute that is zero costs nothing: entries share a layout, the list of attributes that their header has, and what is not counted as
//     more than zero is the layout's count less those that were.
//   - Users, hosts and databases are numbered together as origins.
package digest
