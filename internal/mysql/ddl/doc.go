// Package ddl words what MySQL and MariaDB take as names and definitions of tables, columns and
// indexes, and holds texts that come from elsewhere to the rules of quoting before they stand there.
package ddl
