package mytext

import "strings"

// Redacted returns a statement as it may be kept of a server whose statements are redacted: as Redact, and what cannot
// be read for sure is left out, see Certain. Of a text that begins with no word that statements begin with, nothing is
// left. Redacting twice is redacting once.
func Redacted(sql string) string {
	if sql == "" {
		return ""
	}
	body := strings.TrimLeft(Body(sql), "( \t\r\n")
	letter := func(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' || r == '_' }
	verb := body[:len(body)-len(strings.TrimLeftFunc(body, letter))]
	if !verbs[strings.ToLower(verb)] {
		return "?"
	}
	sure, rest := Certain(sql), ""
	if len(sure) < len(sql) {
		rest = "…"
	}
	return string(Redact(nil, []byte(sure))) + rest
}

// Certain returns the beginning of a statement that reads the same in every sql_mode: it ends within the first string
// in which a quote follows a backslash, because NO_BACKSLASH_ESCAPES decides whether the string ends there.
func Certain[T string | []byte](sql T) T {
	for i := 0; i+1 < len(sql); i++ {
		if sql[i] == '\\' && (sql[i+1] == '\'' || sql[i+1] == '"') {
			return sql[:i]
		}
	}
	return sql
}

// verbs are the words that statements and the statements of stored programs begin with.
var verbs = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(`alter analyze backup begin binlog cache call case change check checksum clone close
		commit create deallocate declare delete desc describe do drop end execute explain fetch flush for get grant
		handler help if import insert install iterate kill leave load lock loop open optimize prepare purge release
		rename repair repeat replace reset resignal restart return revoke rollback savepoint select set show shutdown
		signal start stop table truncate uninstall unlock update use values while with xa`) {
		all[w] = true
	}
	return all
}()
