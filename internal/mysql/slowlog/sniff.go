package slowlog

import (
	"bytes"
	"strings"
)

// Kind is what a file's beginning looks like.
type Kind uint8

const (
	Unknown Kind = iota
	Empty
	SlowLog
	GeneralLog
	BinaryLog  // also a relay log
	ErrorLog   // of mysqld or mariadbd
	PostgreSQL // a server log of PostgreSQL
	SQLDump    // of mysqldump, mariadb-dump, mydumper
	Compressed // gzip, zstd, bzip2 or xz
)

var kinds = [...]string{
	Unknown: "a file of unknown format", Empty: "an empty file", SlowLog: "a slow query log",
	GeneralLog: "a general query log",
	BinaryLog:  "a binary log", ErrorLog: "a server's error log", PostgreSQL: "a PostgreSQL log",
	SQLDump:    "an SQL dump",
	Compressed: "a compressed file",
}

// String names the kind with its article, for messages.
func (k Kind) String() string {
	if int(k) >= len(kinds) {
		return kinds[Unknown]
	}
	return kinds[k]
}

// Sniff tells what a file is from its beginning; some 64 KiB are enough, but for a log that was cut within a longer
// statement: that is Unknown. A log that holds only what a server writes when it opens one is a SlowLog without
// entries.
func Sniff(head []byte) Kind {
	for _, m := range []struct {
		magic string
		kind  Kind
	}{
		{"\xfebin", BinaryLog},
		{"\xfdbin", BinaryLog}, // the second is encrypted
		{"\x1f\x8b", Compressed},
		{"\x28\xb5\x2f\xfd", Compressed},
		{"BZh", Compressed},
		{"\xfd7zXZ\x00", Compressed},
		{"-- MySQL dump", SQLDump},
		{"-- MariaDB dump", SQLDump},
		{"/*M!999999", SQLDump},
		{"-- MyDumper", SQLDump},
		{"/*!40101 SET NAMES", SQLDump},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.kind
		}
	}
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if len(bytes.Trim(head, " \t\r\n\x00")) == 0 {
		return Empty
	}
	opened := false
	var errors, postgres int
	for i := 0; i < len(head); {
		next := lineEnd(head, i)
		line := head[i:next]
		switch {
		case begins(head, i):
			return SlowLog
		case banner(line):
			opened = true
		case generalLine(line):
			return GeneralLog
		case errorLine(line):
			errors++
		case postgresLine(line):
			postgres++
		}
		i = next
	}
	switch {
	case errors > 0 && errors >= postgres:
		return ErrorLog
	case postgres > 0:
		return PostgreSQL
	case opened:
		return SlowLog
	}
	return Unknown
}

// errorLine knows "2026-11-21T07:33:34.123456Z 0 [System] …", "2026-11-21 7:33:34 0 [Note] …" and "261121 7:33:34
// [Note] …".
func errorLine(line []byte) bool {
	if len(line) < 16 || !digit(line[0]) {
		return strings.Contains(string(line[:min(len(line), 64)]), "mysqld_safe ")
	}
	head := line[:min(len(line), 80)]
	for _, s := range []string{" [Note] ", " [Warning] ", " [ERROR] ", " [System] ", "mysqld_safe "} {
		if bytes.Contains(head, []byte(s)) {
			return true
		}
	}
	return false
}

// postgresLine knows the severities that PostgreSQL's log_line_prefix is followed by.
func postgresLine(line []byte) bool {
	head := line[:min(len(line), 200)]
	for _, s := range []string{"LOG:  ", "ERROR:  ", "STATEMENT:  ", "FATAL:  ", "DETAIL:  ", "HINT:  "} {
		if bytes.Contains(head, []byte(s)) {
			return true
		}
	}
	return false
}
