// Package alter carries out schema changes on a live table without stopping its users.
package alter
