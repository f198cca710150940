// Package conn reaches a PostgreSQL server (15 and later): it logs in, learns what the server is and what the account
// may see, and opens sessions with bounds. It is what package target is for the MySQL family.
package conn
