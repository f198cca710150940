// Package diagnose turns a snapshot into symptoms: measured facts out of order, before anybody knows why.
package diagnose
