// Package unit writes quantities for people and reads the sizes that people type.
package unit
