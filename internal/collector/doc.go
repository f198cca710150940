// Package collector runs the scrapes of targets and hands them on to stores and viewers.
package collector
