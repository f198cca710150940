package host

import (
	"testing"

	"github.com/dyno-perf/dyno/test/machine"
)

func TestEncryptionAtRest(t *testing.T) {
	m := machine.New().Set("innodb_redo_log_encrypt", "OFF").Set("binlog_encryption", "ON").Set("log_bin", "ON").
		Set("default_table_encryption", "OFF").Table("orders", 1)
	m.Last().Options = "row_format=DYNAMIC ENCRYPTION='Y'"
	f := found(t, encryptionAtRest, m, "fact: not encrypted on disk: the redo log, new tables")
	if n := f[0].Evidence[2].Value.Or(0); n != 1 {
		t.Errorf("%v tables with the option", n)
	}
	// MariaDB's words; a binary log that is not written need not be encrypted.
	found(t, encryptionAtRest, machine.New().Set("innodb_encrypt_log", "ON").Set("innodb_encrypt_tables", "OFF").
		Set("encrypt_binlog", "OFF").Set("log_bin", "OFF"),
		"fact: not encrypted on disk: new tables")
}

func TestEncryptionAtRestSilent(t *testing.T) {
	found(t, encryptionAtRest, machine.New().Set("innodb_encrypt_log", "ON").Set("innodb_encrypt_tables", "FORCE"))
	found(t, encryptionAtRest, machine.New())
}
