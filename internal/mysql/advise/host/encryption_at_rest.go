package host

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise/host"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
)

// encryptionAtRest tells which of tables, redo log and binary log lie on the disk as they are.
func encryptionAtRest(v *advise.View) []finding.Finding {
	var plain, on []string
	var ev []finding.Evidence
	note := func(what, variable string, encrypted bool) {
		if encrypted {
			on = append(on, what)
			return
		}
		plain = append(plain, what)
		ev = append(ev, finding.Evidence{
			What: variable, Expected: "ON", Source: source.Variables,
			Text: fmt.Sprintf("%s is %s.", variable, v.Variables[variable]),
		})
	}
	for _, x := range []struct{ what, variable string }{
		{"the redo log", "innodb_redo_log_encrypt"},
		{"the redo log", "innodb_encrypt_log"},
		{"undo logs", "innodb_undo_log_encrypt"},
		{"binary logs", "binlog_encryption"},
		{"binary logs", "encrypt_binlog"},
		{"temporary files", "encrypt_tmp_files"},
	} {
		if _, has := v.Variable(x.variable); has && (!strings.Contains(x.what, "binary") || v.On("log_bin")) {
			note(x.what, x.variable, v.On(x.variable))
		}
	}
	for _, n := range []string{"innodb_encrypt_tables", "default_table_encryption"} {
		if _, has := v.Variable(n); has {
			note("new tables", n, v.On(n))
		}
	}
	tables, encrypted := 0, 0
	bare := strings.NewReplacer("`", "", "'", "", `"`, "")
	for _, t := range v.Tables {
		if t.View {
			continue
		}
		tables++
		if t.Options == "" {
			continue
		}
		o := strings.ToUpper(bare.Replace(t.Options))
		if strings.Contains(o, "ENCRYPTION=Y") || strings.Contains(o, "ENCRYPTED=YES") {
			encrypted++
		}
	}
	if len(plain) == 0 {
		return nil
	}
	f := host.About("encryption-at-rest", "encryption")
	f.Subject.Variables, f.Valid, f.Confidence = nil, "", finding.Certain
	f.Title = "not encrypted on disk: " + strings.Join(plain, ", ")
	f.Evidence = ev
	if tables > 0 {
		f.Evidence = append(f.Evidence, host.Measured("tables with the encryption option", float64(encrypted), "tables",
			"", source.Tables, "%d of %d tables have the option.", encrypted, tables))
	}
	if len(on) > 0 {
		f.Against = []string{"Encrypted: " + strings.Join(on, ", ") + "."}
	}
	f.Unobserved = []string{"Unknown: whether the filesystem or the disk below is encrypted."}
	f.Suggestion = "Where disks or backups may get into other hands, encrypt tables and logs, or the volume below " +
		"them. Set up a keyring first: data are lost with their key."
	f.Cost = "Some percent of CPU time for reading and writing, and a key to manage."
	f.Reference = "https://dev.mysql.com/doc/refman/en/innodb-data-encryption.html"
	return []finding.Finding{f}
}
