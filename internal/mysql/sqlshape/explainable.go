package sqlshape

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// Explainable reports whether EXPLAIN of sql can do no harm: nil for one SELECT, UPDATE or DELETE, a UNION of SELECTs
// included, that writes to no file and to no variable and calls nothing but functions of servers' own that have no side
// effects. EXPLAIN may evaluate constant parts of a statement while it plans, stored functions among them; it never
// executes the statement itself. Three things cannot be seen here and are the caller's: whether the server at hand has
// all of these functions (see Calls), what the views hold that it names (see Opened), and how long planning takes.
func Explainable(sql string) error {
	if err := explainable(sql); err != nil {
		return fmt.Errorf("explain statement: %w", err)
	}
	return nil
}

func explainable(sql string) error {
	// Code within such comments is executed by one flavor and skipped by the other, so that no parser sees what runs.
	if strings.Contains(sql, "/*!") || strings.Contains(sql, "/*M!") {
		return errCode
	}
	n, err := parseOne(sql)
	if err != nil {
		return err
	}
	switch n.(type) {
	case *ast.SelectStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.SetOprStmt:
	default:
		return errors.New("it is not a SELECT, UPDATE or DELETE")
	}
	v := &harm{}
	n.Accept(v)
	if v.err != nil {
		return v.err
	}
	_, err = calls(sql)
	return err
}

var errCode = errors.New("it holds an executable comment")

type harm struct{ err error }

func (h *harm) Enter(n ast.Node) (ast.Node, bool) {
	if h.err != nil {
		return n, true
	}
	switch n := n.(type) {
	case *ast.SelectStmt:
		if n.SelectIntoOpt != nil {
			h.err = errors.New("it writes its result with INTO")
		}
	case *ast.SelectIntoOption:
		h.err = errors.New("it writes its result with INTO")
	case *ast.VariableExpr:
		if n.Value != nil {
			h.err = errors.New("it assigns a variable")
		}
	case *ast.FuncCallExpr:
		name := strings.TrimSuffix(n.FnName.L, "_func") // the parser's own names for INSERT() and CHAR()
		if n.Schema.L != "" || !harmless[name] {
			h.err = sideEffects(n.FnName.O)
		}
	}
	return n, false
}

func (h *harm) Leave(n ast.Node) (ast.Node, bool) { return n, h.err == nil }

func sideEffects(name string) error {
	return fmt.Errorf("it calls %s, which may have side effects", name)
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// Functions returns the names of the functions that Explainable lets through, in lower case and in order.
func Functions() []string { return slices.Sorted(maps.Keys(harmless)) }

// harmless holds the functions of servers that neither write, wait nor read files. Aggregates, window functions and
// CAST are no function calls to the parser. No server has them all.
var harmless = set(`
	abs acos adddate addtime aes_decrypt aes_encrypt ascii asin atan atan2 bin bit_count bit_length cast ceil ceiling char
	char_length character_length charset coalesce coercibility collation concat concat_ws connection_id conv convert
	convert_tz cos cot crc32
	curdate curtime current_date current_time current_timestamp current_user database date date_add date_format date_sub
	datediff day dayname dayofmonth dayofweek dayofyear degrees elt exp export_set extract extractvalue field find_in_set
	floor format found_rows from_base64 from_days from_unixtime geometrytype get_format greatest hex hour if ifnull
	inet6_aton inet6_ntoa inet_aton inet_ntoa insert instr interval is_ipv4 is_ipv6 is_uuid isnull json_array
	json_array_append json_array_insert json_contains
	json_contains_path json_depth json_extract json_insert json_keys json_length json_merge json_merge_patch
	json_merge_preserve json_object json_overlaps json_quote json_remove json_replace json_search json_set json_type
	json_unquote json_valid json_value
	last_day lcase least left length like ln localtime localtimestamp locate log log10 log2 lower lpad ltrim make_set
	makedate maketime md5 microsecond mid minute mod month monthname now nullif oct octet_length ord period_add period_diff
	pi point position pow power quarter quote radians rand regexp_instr regexp_like regexp_replace regexp_substr repeat
	replace reverse right round rpad rtrim schema sec_to_time second sha sha1 sha2 sign sin space sqrt st_area st_asgeojson
	st_astext st_contains st_distance st_distance_sphere st_geomfromtext st_intersects st_within st_x st_y str_to_date strcmp
	subdate substr substring substring_index subtime sysdate tan time time_format time_to_sec timediff timestamp timestampadd
	timestampdiff to_base64 to_days to_seconds trim truncate ucase unhex unix_timestamp upper user utc_date utc_time
	utc_timestamp values version week weekday weekofyear year yearweek`)
