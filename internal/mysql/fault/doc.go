// Package fault holds the faults of MySQL, Percona Server and MariaDB, see the package of the same name for all
// families.
package fault
