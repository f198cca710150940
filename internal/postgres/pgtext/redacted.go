package pgtext

import "strings"

// Redacted returns a statement as it may be kept of a server whose statements are redacted: its fingerprint, and what
// cannot be read for sure is left out. Where a quote follows a backslash, standard_conforming_strings decides whether a
// string ends there: the rest is left out. Of a text that begins with no word that statements begin with, nothing is
// left. Redacting twice is redacting once.
func Redacted(sql string) string {
	if sql == "" {
		return ""
	}
	sql, _, unsure := strings.Cut(sql, `\'`)
	if unsure {
		sql += "'" // it ends in a string
	}
	ps := pieces(sql)
	first := 0
	for first < len(ps) && ps[first].is("(") {
		first++
	}
	if first == len(ps) || ps[first].kind != word || !beginnings[ps[first].text] {
		return mark
	}
	text := join(folded(ps))
	if unsure {
		text += "…"
	}
	return text
}

// beginnings are the words that statements begin with, and what the server's own processes write in their place.
var beginnings = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(`abort alter analyse analyze autovacuum base_backup begin call checkpoint close cluster
		comment commit copy create create_replication_slot deallocate declare delete discard do drop
		drop_replication_slot end execute explain fetch grant identify_system import insert listen load lock merge move
		notify prepare reassign refresh reindex release reset revoke rollback savepoint security select set show start
		start_replication table timeline_history truncate unlisten update vacuum values with`) {
		all[w] = true
	}
	return all
}()
