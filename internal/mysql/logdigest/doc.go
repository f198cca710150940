// Package logdigest summarizes the statements of logs by class: it takes their entries and returns a
// Report of package digest. Aggregates of parts of a log merge into the aggregate of the whole, so
// the Report does not depend on how a log was split or on the order of its parts. The package reads
// no files.
//
// Internal representation:
//
//   - Figures are whole numbers: times in nanoseconds, everything else as it is. Their sums and
//     sums of squares have 128 bits, so they are exact and do not depend on the order of addition.
//     A figure that is no such number (a fraction of a row, negative, 2^48 or more) is kept
//     separately in floating point.
//   - A class begins as a list of its entries, about 30 bytes each. When the list reaches maxRows
//     entries, they are added to the class's summary: sums and sketches. In a log with very many
//     classes, most stay lists, and their quantiles are exact.
//   - An attribute that is zero takes no space: entries share a layout, the list of attributes in
//     their header. The number of zeros is the layout's count minus the number of values above
//     zero.
//   - Users, hosts and databases are numbered together as origins.
package logdigest
