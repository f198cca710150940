package load

import (
	"strings"

	"dyno/internal/workload"
)

// replayed is what a statement of a log means to a replay.
type replayed struct {
	kind workload.Kind
	skip replaySkip // why it is not sent
	// What it does to its session.
	begins, ends bool   // a transaction
	pins         bool   // something that ends with the connection
	use          string // USE: the database
}

// replaySkip says why a statement of a log is not sent again.
type replaySkip uint8

const (
	sent replaySkip = iota
	// notRead: it is not proven to read alone.
	notRead
	// ofServer: it changes the server itself, accounts or other sessions, or needs files of the server that was logged.
	ofServer
	// ofAdmin: an administrator's command, of which there is nothing to send. Quit closes the session.
	ofAdmin
	// ofDyno: Dyno's own.
	ofDyno
	// twice: the log has its execution once more, with the values filled in.
	twice
	skips
)

// skipTexts finish the sentence "N statements were not sent: …".
var skipTexts = [skips]string{
	notRead:  "not proven to be reads; --writes sends them",
	ofServer: "they would change the server itself, accounts or other sessions, or need files of the logged server",
	ofAdmin:  "administrator's commands",
	ofDyno:   "Dyno's own",
	twice:    "the log has them once more with their values",
}

// inspect says what a statement means. Without writes only what is proven to read alone, and what steers a session, is sent: the words of
// the statement are looked at, outside of strings and comments, and what is not known to be harmless is not. general says that the log has
// both the text of an EXECUTE and the statement that it executed.
func inspect(sql []byte, writes, general bool) (r replayed) {
	most := mostWords
	if writes {
		most = steeringWords
	}
	w := scanWords(sql, most)
	first, second := w.word(0), w.word(1)
	switch first {
	case "use":
		r.kind, r.use = workload.Other, w.name
		if r.use == "" || w.rest {
			r.skip = notRead
		}
		return r
	case "begin":
		r.kind, r.begins = workload.Other, true
		if w.has("not") { // BEGIN NOT ATOMIC: statements of all kinds
			r.kind, r.begins = workload.Write, false
		}
	case "start":
		if second != "transaction" {
			r.skip = ofServer
			return r
		}
		r.kind, r.begins = workload.Other, true
	case "commit", "rollback":
		r.kind, r.ends = workload.Other, !w.has("to") && !w.has("chain")
	case "savepoint", "release":
		r.kind = workload.Other
	case "set":
		r.kind, r.pins = workload.Other, second != "names" && second != "character" && second != "charset"
		if w.ofServer() {
			r.skip = ofServer
			return r
		}
	case "select", "with", "values", "table", "show", "desc", "describe", "explain", "help", "(":
		r.kind = workload.Read
	case "insert", "update", "delete", "replace", "call", "do":
		r.kind = workload.Write
	case "prepare", "execute", "deallocate":
		r.kind, r.pins = workload.Other, true
		if general && first == "execute" {
			r.skip = twice
			return r
		}
	default:
		r.kind = workload.Other
		r.pins = first == "lock" || first == "create" && w.has("temporary")
	}
	switch first {
	case "shutdown", "restart", "kill", "change", "stop", "reset", "purge", "install", "uninstall", "clone", "grant", "revoke", "binlog", "flush",
		"import", "load", "xa":
		r.skip = ofServer
		return r
	case "create", "alter", "drop", "rename":
		switch second {
		case "user", "role", "server", "instance", "resource", "undo", "logfile", "tablespace":
			r.skip = ofServer
			return r
		}
	}
	if !writes && !w.reads(first) {
		r.skip = notRead
	}
	return r
}

// words are the words of a statement, in lower case.
type words struct {
	list []string
	name string // the second word as it is written, or the quoted name in its place
	rest bool   // there is more after name
	odd  bool   // something that no reading of words can vouch for
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
		for _, x := range w.list {
			switch x {
			case "write", "read_only", "tx_read_only", "transaction_read_only", "(", "select":
				return false
			}
		}
		return true
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
			if i > 0 && !callable[w.list[i-1]] {
				return false
			}
		}
	}
	return true
}

// callable holds every word that may stand before an opening parenthesis in a statement that reads: the functions of both servers that
// neither write nor wait for others nor hold locks, types, and words of the language. Names of stored functions and of functions from
// libraries are not known to be harmless.
var callable = func() map[string]bool {
	m := map[string]bool{}
	for _, f := range strings.Fields(`
		( , = < > ! + - * / % & | ^ ~ all and any as against between binary by case char character collate columns date datetime decimal
		distinct distinctrow div double else except exists float from having if in index integer intersect interval is join json key lateral
		left like match mod nchar not of on or over partition real regexp replace insert right rlike row select signed some straight_join
		then time timestamp trim union unsigned using value values varchar varbinary when where xor year
		abs acos adddate addtime aes_decrypt aes_encrypt any_value ascii asin atan atan2 avg bin bin_to_uuid bit_and bit_count bit_length bit_or
		bit_xor benchmark cast ceil ceiling char_length character_length charset coalesce coercibility collation column_get compress concat concat_ws
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

// quotedName stands in words.list for a quoted name or text.
const quotedName = "`"

const (
	// steeringWords are enough to tell what a statement is, where it is sent in any case.
	steeringWords = 16
	// mostWords bounds what is looked at to prove that a statement reads.
	mostWords = 200_000
)

// scanWords takes a statement apart. Strings end as the server ends them with its usual settings; comments are left out, but for those that
// a server executes, which are odd unless they hold plain words alone.
// Numbers are left out. When there are more words than most, the rest is not looked at, and they are odd.
func scanWords(sql []byte, most int) (w words) {
	s := string(sql)
	ended := false
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
	for i := 0; i < len(s); {
		if len(w.list) >= most {
			w.odd = true
			return w
		}
		c := s[i]
		switch {
		case c <= ' ':
			i++
		case c == '#' || c == '-' && strings.HasPrefix(s[i:], "--") && (i+2 == len(s) || s[i+2] <= ' '):
			n := strings.IndexByte(s[i:], '\n')
			if n < 0 {
				return w
			}
			i += n
		case c == '/' && strings.HasPrefix(s[i:], "/*"):
			n := strings.Index(s[i+2:], "*/")
			if n < 0 {
				w.odd = true
				return w
			}
			text := s[i+2 : i+2+n]
			i += n + 4
			if text == "" || text[0] != '!' && !strings.HasPrefix(text, "M!") {
				continue
			}
			text = strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(text, "M"), "!"), "0123456789")
			if strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz_ \t\r\n") != "" {
				w.odd = true
				continue
			}
			for _, word := range strings.Fields(strings.ToLower(text)) {
				add(word)
			}
		case c == '\'' || c == '"' || c == '`':
			j := i + 1
			for j < len(s) && s[j] != c {
				if s[j] == '\\' && c != '`' {
					j++
				}
				j++
			}
			if j >= len(s) {
				w.odd = true
				return w
			}
			if len(w.list) == 1 {
				w.name = s[i+1 : j]
			}
			add(quotedName)
			i = j + 1
		case isWordByte(c):
			j := i + 1
			for j < len(s) && isWordByte(s[j]) {
				j++
			}
			if len(w.list) == 1 {
				w.name = s[i:j]
			}
			if c >= '0' && c <= '9' {
				i = j
				continue
			}
			if n := len(w.list); n > 0 && w.list[n-1] == "." && j < len(s) && strings.HasPrefix(strings.TrimLeft(s[j:], " \t\r\n"), "(") {
				w.odd = true // db.f(): a stored function, whatever its name
			}
			add(strings.ToLower(s[i:j]))
			i = j
		case c == ';':
			ended = true
			i++
		default:
			add(s[i : i+1])
			i++
		}
	}
	return w
}

func isWordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}
