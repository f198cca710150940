package loader

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/workload"
)

// replayed is what a statement of a log means to a replay.
type replayed struct {
	load.Meaning
	// calls are the words before a parenthesis, with commas between: they are to be the server's own functions. One
	// that is apart from its parenthesis ends in a space.
	calls string
}

// inspect says what a statement means. Without writes only what is proven to read alone, and what steers a session, is
// sent: the words of the statement are looked at, outside of strings and comments, and what is not known to be harmless
// is not. general says that the log has both the text of an EXECUTE and the statement that it executed.
func inspect(sql []byte, writes, general bool) (r replayed) {
	most := mostWords
	if writes {
		most = steeringWords
	}
	w := scanWords(sql, most)
	if writes && w.word(0) == "set" { // of which each assignment counts
		w = scanWords(sql, mostWords)
	}
	first, second := w.word(0), w.word(1)
	if writes && first == "" && w.odd { // something that no reading of words finds the beginning of
		return replayed{Meaning: load.Meaning{Kind: workload.Other, Skip: load.SkipServer}}
	}
	if writes && w.hidden { // what is executed depends on the server's version: no word says what that is
		return replayed{Meaning: load.Meaning{Kind: workload.Other, Skip: load.SkipServer}}
	}
	switch first {
	case "use":
		r.Kind, r.Use = workload.Other, w.name
		if r.Use == "" || w.rest {
			r.Skip = load.SkipNotRead
		}
		return r
	case "begin":
		r.Kind, r.Begins = workload.Other, true
		if w.has("not") { // BEGIN NOT ATOMIC: statements of all kinds
			r.Kind, r.Begins = workload.Write, false
		}
	case "start":
		if second != "transaction" {
			r.Skip = load.SkipServer
			return r
		}
		r.Kind, r.Begins = workload.Other, true
	case "commit", "rollback":
		r.Kind, r.Ends = workload.Other, !w.has("to") && !w.has("chain")
	case "savepoint", "release":
		r.Kind = workload.Other
	case "set":
		r.Kind, r.Pins = workload.Other, second != "names" && second != "character" && second != "charset"
		switch {
		case w.ofServer() || writes && w.odd: // which may hide the rest
			r.Skip = load.SkipServer
		case w.otherEncoding():
			r.Skip = load.SkipEncoding
		case writes && strings.Contains(w.text, `\`): // where it is no escape, the text ends elsewhere
			r.Skip = load.SkipServer
		}
		if r.Skip != load.NoSkip {
			return r
		}
	case "select", "with", "values", "table", "show", "desc", "describe", "explain", "help", "(":
		r.Kind = workload.Read
	case "insert", "update", "delete", "replace", "call", "do":
		r.Kind = workload.Write
	case "prepare", "execute", "deallocate":
		r.Kind, r.Pins = workload.Other, true
		if general && first == "execute" {
			r.Skip = load.SkipTwice
			return r
		}
	default:
		r.Kind = workload.Other
		r.Pins = first == "lock" || first == "create" && w.has("temporary")
	}
	switch first {
	case "shutdown", "restart", "kill", "change", "stop", "reset", "purge", "install", "uninstall", "clone", "grant",
		"revoke", "binlog", "flush",
		"import", "load", "xa", "backup":
		r.Skip = load.SkipServer
		return r
	case "lock", "unlock":
		if second == "instance" {
			r.Skip = load.SkipServer
			return r
		}
	case "create", "alter", "drop", "rename":
		if second == "or" { // REPLACE
			second = w.word(3)
		}
		switch second {
		case "user", "role", "server", "instance", "resource", "undo", "logfile", "tablespace":
			r.Skip = load.SkipServer
			return r
		case "function", "aggregate", "spatial":
			if w.has("soname") || second == "spatial" && w.has("reference") { // of a library; SPATIAL REFERENCE SYSTEM
				r.Skip = load.SkipServer
				return r
			}
		}
	}
	if !writes {
		if !w.reads(first) {
			r.Skip = load.SkipNotRead
			return r
		}
		r.calls = strings.Join(slices.Sorted(maps.Keys(w.calls)), ",")
	}
	return r
}

// words are the words of a statement, in lower case.
type words struct {
	list []string
	name string // the second word as it is written, or the quoted name in its place
	rest bool   // there is more after name
	odd  bool   // something that no reading of words can vouch for
	// hidden: there is something that only some servers execute where it decides what the statement is.
	hidden bool
	ticks  bool                // a name in backticks
	text   string              // all of it, in lower case, of a SET
	calls  map[string]struct{} // words before a parenthesis, see replayed
}

func (w *words) word(i int) string {
	if i < len(w.list) {
		return w.list[i]
	}
	return ""
}

func (w *words) has(word string) bool {
	for _, x := range w.list {
		if x == word {
			return true
		}
	}
	return false
}

// undecided reports whether what comes next says whether a statement changes the server itself.
func (w *words) undecided() bool {
	switch w.word(0) {
	case "", "set":
		return true
	case "lock", "unlock":
		return len(w.list) < 2
	case "create", "alter", "drop", "rename":
		return len(w.list) < 2 || w.list[1] == "or" && len(w.list) < 4 || w.has("function") || w.has("aggregate") ||
			w.list[len(w.list)-1] == "spatial"
	}
	return false
}

// ofServer reports whether a SET goes beyond its session, or carries another statement.
func (w *words) ofServer() bool {
	for _, x := range w.list[1:] {
		switch x {
		case "global", "persist", "persist_only", "password", "role", "statement", "resource":
			return true
		}
	}
	return false
}

// encodings are those in which servers tell words, blanks and quotes apart as scanWords does.
var encodings = []string{"utf8", "utf8mb3", "utf8mb4", "ascii", "binary"}

// otherEncoding reports whether a SET may have the server read the statements after it in an encoding that is none of
// encodings.
func (w *words) otherEncoding() bool {
	for part := range split(w.list[1:], ",") {
		value := part[1:]
		if n := slices.Index(part, "="); n > 0 {
			value = part[n+1:]
			if n > 1 && part[n-1] == ":" {
				n--
			}
			own := part[0] == "@" && part[1] != "@" // a variable of the user's
			if own || strings.TrimPrefix(part[n-1], quotedName) != "character_set_client" {
				continue
			}
		} else {
			switch part[0] {
			case "character", "char": // SET
				value = part[min(2, len(part)):]
			case "names", "charset":
			default:
				continue
			}
		}
		if len(value) != 1 && !(len(value) == 3 && value[1] == "collate") ||
			!slices.Contains(encodings, strings.TrimPrefix(value[0], quotedName)) {
			return true
		}
	}
	return false
}

// reads reports whether nothing but reading, or steering of the own session, can come of the statement.
func (w *words) reads(first string) bool {
	if w.odd {
		return false
	}
	switch first {
	case "begin", "commit", "rollback", "start", "savepoint", "release":
		// READ WRITE would undo the safeguard, RELEASE ends the connection.
		return !w.has("write") && !w.has("not") && !(first != "release" && w.has("release")) && !w.has("(")
	case "set":
		return w.steers()
	case "select", "with", "values", "table", "show", "desc", "describe", "explain", "help", "(":
	default:
		return false
	}
	for i, x := range w.list {
		next := w.word(i + 1)
		switch x {
		case "into", "insert", "update", "delete", "replace":
			if x == "into" || next != "(" {
				return false
			}
		case "for":
			if next == "update" || next == "share" {
				return false
			}
		case "lock", "procedure":
			if first != "show" && first != "help" {
				return false
			}
		case "value": // NEXT VALUE FOR a sequence
			if next == "for" {
				return false
			}
		case "(":
			if i > 0 && !callable[w.list[i-1]] || i > 1 && w.list[i-2] == "." {
				// db.f(): a stored function, whatever its name
				return false
			}
		}
	}
	return true
}

// steers reports whether a SET changes nothing but what is known to concern its session alone, and not how the server
// reads the statements after it: what is proven here would be about other words then.
func (w *words) steers() bool {
	if len(w.list) < 2 || w.ticks || w.has("(") || w.has("next") || w.has("select") { // NEXT VALUE FOR a sequence
		return false
	}
	reading := false // how statements are read
	for part := range split(w.list[1:], ",") {
		switch {
		case len(part) > 2 && part[0] == "@" && part[1] == "@":
			part = part[2:]
			if len(part) > 1 && part[1] == "." {
				if part[0] != "session" && part[0] != "local" {
					return false
				}
				part = part[2:]
			}
		case part[0] == "@": // a variable of the user's own
			continue
		case part[0] == "session" || part[0] == "local":
			part = part[1:]
		}
		if len(part) == 0 {
			return false
		}
		values := part[1:]
		name := part[0]
		switch {
		case name == "transaction" || name == "isolation" || name == "read": // READ ONLY
			if slices.Contains(values, "write") || slices.Contains(values, "serializable") {
				// in which what reads locks
				return false
			}
			continue
		case name == "transaction_isolation" || name == "tx_isolation":
			if level := part[len(part)-1]; !slices.Contains(readingLevels, strings.TrimPrefix(level, quotedName)) {
				return false
			}
			continue
		case name == "names" || name == "charset":
			reading = true
		case name == "character" && len(values) > 1 && values[0] == "set":
			reading, values = true, values[1:]
		case name == "sql_mode" || name == "character_set_client":
			reading = true
			if len(values) > 0 && values[0] == ":" {
				values = values[1:]
			}
			if len(values) != 2 || values[0] != "=" {
				return false
			}
			values = values[1:]
		case settable[name]:
			continue
		default:
			return false
		}
		if len(values) != 1 && !(len(values) == 3 && values[1] == "collate") || !textOrName(values[0]) {
			return false
		}
	}
	if reading {
		// Where texts are UTF-16, signs beyond ASCII are the bytes of other words.
		if strings.ContainsFunc(w.text, func(r rune) bool { return r > unicode.MaxASCII }) {
			return false
		}
		for _, x := range unlikeOthers {
			if strings.Contains(w.text, x) {
				return false
			}
		}
	}
	return true
}

// textOrName reports whether a word is one of these.
func textOrName(word string) bool {
	return strings.HasPrefix(word, quotedName) || mytext.WordByte(word[0]) && !isDigit(word[0])
}

// split gives the parts of a list between separators, those that are empty left out.
func split(list []string, by string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for len(list) > 0 {
			n := slices.Index(list, by)
			part := list
			if list = nil; n >= 0 {
				part, list = part[:n], part[n+1:]
			}
			if len(part) > 0 && !yield(part) {
				return
			}
		}
	}
}

// unlikeOthers are words in a SET of how statements are read after which strings and names may end elsewhere: modes,
// also those that stand for others, and the sign that would hide such a word.
var unlikeOthers = []string{"ansi", "no_backslash", "oracle", "db2", "maxdb", "mssql", "postgresql", `\`}

// readingLevels are those in which what reads takes no locks.
var readingLevels = []string{"read-uncommitted", "read-committed", "repeatable-read"}

// settable holds the variables that may be set without a proof: of the session, and of no more.
var settable = func() map[string]bool {
	m := map[string]bool{}
	for _, v := range strings.Fields(`
		autocommit big_tables character_set_connection character_set_results collation_connection default_week_format
		div_precision_increment eq_range_index_dive_limit explicit_defaults_for_timestamp foreign_key_checks
		group_concat_max_len identity innodb_lock_wait_timeout insert_id interactive_timeout join_buffer_size
		join_cache_level last_insert_id lc_time_names lock_wait_timeout long_query_time max_execution_time
		max_heap_table_size max_join_size max_length_for_sort_data max_seeks_for_key max_sort_length max_statement_time
		net_read_timeout net_write_timeout optimizer_prune_level optimizer_search_depth optimizer_switch profiling
		query_cache_type read_buffer_size read_rnd_buffer_size session_track_gtids session_track_schema
		session_track_state_change session_track_system_variables session_track_transaction_info sort_buffer_size
		sql_auto_is_null sql_big_selects sql_notes sql_quote_show_create sql_safe_updates sql_select_limit sql_warnings
		time_zone timestamp tmp_table_size unique_checks updatable_views_with_limit
		wait_timeout windowing_use_high_precision`) {
		m[v] = true
	}
	return m
}()

// callable holds every word that may stand before an opening parenthesis in a statement that reads: the functions of
// both servers that neither write nor wait for others nor hold locks, types, and words of the language. Names of stored
// functions and of functions from libraries are not known to be harmless.
var callable = func() map[string]bool {
	m := map[string]bool{}
	for _, f := range strings.Fields(`
		( , = < > ! + - * / % & | ^ ~ all and any as against between binary by case char character collate columns date datetime decimal
		distinct distinctrow div double else except exists float from having if in index integer intersect interval is join json key lateral
		left like match mod nchar not of on or over partition real regexp replace insert right rlike row select signed some straight_join
		then time timestamp trim union unsigned using value values varchar varbinary when where xor year
		abs acos adddate addtime aes_decrypt aes_encrypt any_value ascii asin atan atan2 avg bin bin_to_uuid bit_and bit_count bit_length bit_or
		bit_xor cast ceil ceiling char_length character_length charset coalesce coercibility collation column_get compress concat concat_ws
		connection_id conv convert convert_tz cos cot count crc32 crc32c cume_dist curdate current_date current_role current_time current_timestamp
		current_user curtime database date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear decode default degrees
		dense_rank des_decrypt elt encode exp export_set extract extractvalue field find_in_set first_value floor format format_bytes
		format_pico_time found_rows from_base64 from_days from_unixtime get_format greatest group_concat grouping hex hour ifnull inet6_aton
		inet6_ntoa inet_aton inet_ntoa instr is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6 is_uuid isnull json_array json_array_append
		json_array_insert json_arrayagg json_compact json_contains json_contains_path json_depth json_detailed json_equals json_exists
		json_extract json_insert json_keys json_length json_loose json_merge json_merge_patch json_merge_preserve json_normalize json_object
		json_objectagg json_overlaps json_pretty json_query json_quote json_remove json_replace json_search json_set json_storage_size json_table
		json_type json_unquote json_valid json_value lag last_day last_insert_id last_value lcase lead least length ln localtime localtimestamp
		locate log log10 log2 lower lpad ltrim make_set makedate maketime max md5 median microsecond mid min minute month
		monthname name_const natural_sort_key now nth_value ntile nullif nvl nvl2 oct octet_length old_password ord password percent_rank
		percentile_cont percentile_disc period_add period_diff pi point position pow power quarter quote radians rand random_bytes rank
		regexp_instr regexp_like regexp_replace regexp_substr repeat reverse round row_count row_number rpad rtrim schema sec_to_time second
		session_user sformat sha sha1 sha2 sign sin sleep soundex space sqrt st_area st_asbinary st_asgeojson st_astext st_aswkb st_aswkt
		st_buffer st_centroid st_contains st_crosses st_difference st_dimension st_disjoint st_distance st_distance_sphere st_envelope st_equals
		st_geomfromgeojson st_geomfromtext st_geomfromwkb st_intersection st_intersects st_isvalid st_latitude st_length st_longitude
		st_makeenvelope st_numpoints st_overlaps st_pointfromtext st_srid st_touches st_transform st_union st_within st_x st_y std stddev
		stddev_pop stddev_samp str_to_date strcmp subdate substr substring substring_index subtime sum sysdate system_user tan time_format
		time_to_sec timediff timestampadd timestampdiff to_base64 to_char to_days to_seconds truncate ucase uncompress uncompressed_length unhex
		unix_timestamp updatexml upper user utc_date utc_time utc_timestamp uuid uuid_short uuid_to_bin validate_password_strength var_pop var_samp
		variance version week weekday weekofyear weight_string yearweek mbrcontains mbrintersects mbrwithin linestring polygon multipoint geomfromtext
		astext`) {
		m[f] = true
	}
	return m
}()

// quotedName stands in words.list for a quoted name or text, in a SET before what it holds.
const quotedName = "`"

const (
	// steeringWords are enough to tell what a statement is, where it is sent in any case.
	steeringWords = 16
	// mostWords bounds what is looked at to prove that a statement reads.
	mostWords = 200_000
)

// scanWords takes a statement apart. Strings end as the server ends them with its usual settings. Comments are left
// out, those that a server executes too, which are odd unless they hold words alone that never matter; when all of the
// statement is in one, that is taken apart. Numbers are left out, but in a SET, where each is "0". When there are more
// words than most, the rest is not looked at, and they are odd.
func scanWords(sql []byte, most int) (w words) {
	s := string(sql)
	if inner, ok := wholly(s); ok {
		return scanWords([]byte(inner), most) // for a server that skips it there is nothing
	}
	ended := false
	end := 0 // of the word before
	add := func(word string) {
		w.odd = w.odd || ended // a second statement
		if len(w.list) == 2 {
			w.rest = true
		}
		if n := len(w.list); word == "," && n > 0 && w.list[n-1] == "," {
			return // of a list of numbers
		}
		w.list = append(w.list, word)
	}
	defer func() {
		if w.word(0) == "set" {
			w.text = strings.ToLower(s)
		}
	}()
	for i, j := 0, 0; i < len(s); i = j {
		if len(w.list) >= most {
			w.odd = true
			return w
		}
		var kind mytext.Kind
		kind, j = mytext.Next(s, i)
		if strings.HasPrefix(s[i:], "--\x7f") { // servers see a comment there, which decides nothing
			w.odd = true
			if j = strings.IndexByte(s[i:], '\n'); j < 0 {
				return w
			}
			j += i
			continue
		}
		switch c := s[i]; kind {
		case mytext.Space:
			w.odd = w.odd || strings.ContainsAny(s[i:j], "\v\f") // servers differ in what they take for a blank
		case mytext.Comment:
		case mytext.Code:
			from, _ := mytext.Executed(s, i)
			if inner := strings.ToLower(s[from : j-len("*/")]); !neverMatters[strings.Join(strings.Fields(inner),
				" ")] {
				w.odd = true
				w.hidden = w.hidden || w.undecided()
			}
		case mytext.Open:
			w.odd = true
			w.hidden = w.hidden || c == '/' && w.undecided()
		case mytext.String, mytext.Name:
			text := s[i+1 : j-1]
			if len(w.list) == 1 {
				w.name = text
			}
			if w.word(0) == "set" {
				add(quotedName + strings.ToLower(text))
			} else {
				add(quotedName)
			}
			w.ticks = w.ticks || kind == mytext.Name
			end = j
		case mytext.Word, mytext.Number:
			word := s[i:j]
			if len(w.list) == 1 {
				w.name = word
			}
			fraction := i > 0 && s[i-1] == '.'
			if number(word, fraction) {
				// 1.e5 is one number too, and a word may follow at once.
				w.odd = w.odd || j+1 < len(s) && s[j] == '.' && mytext.WordByte(s[j+1]) && !isDigit(s[j+1])
				if w.word(0) == "set" { // _latin1 0x61 is a text
					add("0")
				}
			} else {
				// A number may end within it, and the rest be a word.
				w.odd = w.odd || kind == mytext.Number && !exponent(word, s[j:]) ||
					strings.ContainsFunc(word, isForeign)
				add(strings.ToLower(word))
				end = j
			}
		case mytext.Sign:
			switch n := len(w.list); {
			case c == ';':
				ended = true
				continue
			case c < ' ' || c == 0x7f: // for a blank, or for the end of a comment's sign
				w.odd = true
				continue
			case c == '(' && n > 0 && mytext.WordByte(w.list[n-1][0]):
				call := w.list[n-1]
				if i > end {
					call += " "
				}
				if w.calls == nil {
					w.calls = map[string]struct{}{}
				}
				w.calls[call] = struct{}{}
			}
			add(s[i:j])
		}
	}
	return w
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isForeign reports whether r is beyond ASCII and no part of a word that people write: a blank, or no valid UTF-8.
func isForeign(r rune) bool { return r >= 0x80 && !unicode.In(r, unicode.L, unicode.M, unicode.N) }

const digits = "0123456789"

// number reports whether a word is a number: anything else that begins with a digit is a name, or a number and a name.
// As a fraction it follows a point.
func number(s string, fraction bool) bool {
	if !isDigit(s[0]) {
		return false
	}
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		return !fraction && hex != "" && strings.Trim(hex, digits+"abcdefABCDEF") == ""
	}
	if bits, ok := strings.CutPrefix(s, "0b"); ok {
		return !fraction && bits != "" && strings.Trim(bits, "01") == ""
	}
	rest := strings.TrimLeft(s, digits)
	return rest == "" || len(rest) > 1 && rest[0]|0x20 == 'e' && strings.Trim(rest[1:], digits) == ""
}

// exponent reports whether a word and what is after it are a number with a sign in it, as 5e-3.
func exponent(word, after string) bool {
	return strings.ToLower(strings.TrimLeft(word, digits)) == "e" && len(after) > 1 &&
		(after[0] == '-' || after[0] == '+') && isDigit(after[1])
}

// wholly returns the text of the one comment that a server executes which a statement is, as dumps have them.
func wholly(s string) (inner string, ok bool) {
	s = strings.Trim(s, " \t\r\n;")
	from, code := mytext.Executed(s, 0)
	if !code {
		return "", false
	}
	if kind, end := mytext.Next(s, 0); kind != mytext.Code || end < len(s) || strings.Contains(s[from:], "/*") {
		return "", false
	}
	return s[from : len(s)-len("*/")], true
}

// neverMatters holds what a server may execute or skip without a statement being another.
var neverMatters = map[string]bool{
	"": true, "sql_no_cache": true, "sql_cache": true, "high_priority": true, "sql_calc_found_rows": true,
	"sql_big_result":   true,
	"sql_small_result": true, "sql_buffer_result": true, "with consistent snapshot": true,
}
