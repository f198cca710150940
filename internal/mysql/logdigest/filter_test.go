package logdigest

import (
	"errors"
	"strings"
	"testing"

	queryclass "github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// sampleEntry has something of everything, but for Rows_affected.
func sampleEntry() *slowlog.Entry {
	return &slowlog.Entry{
		User: []byte("batch_7"), Host: []byte("web1.example"), DB: []byte("shop"),
		SQL:    []byte("SELECT * FROM t WHERE a = 'x' AND b=5"),
		Thread: 42, HasID: true, Rate: 1, Errno: 1146,
		Figures: []slowlog.Figure{
			{Attribute: slowlog.QueryTime, Value: 0.75},
			{Attribute: slowlog.RowsExamined, Value: 12000},
			{Attribute: slowlog.FullScan, Value: 1},
			{Attribute: slowlog.Filesort, Value: 0},
			{Attribute: slowlog.BytesSent, Value: 4096},
		},
	}
}

func TestFilter(t *testing.T) {
	e := sampleEntry()
	f := func(text string, want bool) {
		t.Helper()
		x, err := ParseFilter(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		if got := x.Match(nil, e); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	f("Query_time > 0.5", true)
	f("query_time > 0.5", true)
	f("Query_time>0.5", true)
	f("Query_time > 500ms", true)
	f("Query_time >= 750000us", true)
	f("Query_time < 1min", true)
	f("Query_time > 1", false)
	f("Query_time == 0.75", true)
	f("Query_time = 0.75", true)
	f("Query_time != 0.75", false)
	f("Query_time <> 0.75", false)
	f("Query_time > -1", true)
	f("Query_time > 1e-1", true)
	f("Rows_examined >= 1.2e4", true)
	f("Rows_examined >= 12k", true)
	f("Rows_examined > 12k", false)
	f("Rows_examined < 1M", true)
	f("Bytes_sent == 4k", true)
	f("Bytes_sent >= 4KiB", true)
	f("Query_length > 30", true)
	f("bytes > 30", true)
	f(`db == "shop"`, true)
	f(`db == 'shop'`, true)
	f(`db == shop`, true)
	f(`db == "Shop"`, false)
	f(`db != "shop"`, false)
	f(`user != 'root'`, true)
	f(`user =~ /^batch/`, true)
	f(`user =~ /^BATCH/`, false)
	f(`user =~ /^BATCH/i`, true)
	f(`user =~ m/^BATCH/i`, true)
	f(`user !~ /^batch/`, false)
	f(`user =~ "_[0-9]+$"`, true)
	f(`host =~ /\.example$/`, true)
	f(`host =~ /\/x/`, false)
	f(`sql =~ /from\s+t\b/i`, true)
	f(`sql =~ /'x'/`, true)
	f(`fingerprint == "select * from t where a = ? and b=?"`, true)
	f(`fingerprint =~ /^select/ && fingerprint !~ /^insert/`, true)
	f(`id == 00000000000000000000000000000000`, false)
	f(`cmd == Query`, true)
	f(`cmd == "Admin"`, false)
	f(`thread == 42`, true)
	f(`Thread_id == 42`, true)
	f(`errno == 1146`, true)
	f(`killed == 0`, true)
	f(`rate == 1`, true)
	f("Full_scan == Yes", true)
	f("Full_scan == 'No'", false)
	f("full_scan", true)
	f("!Filesort", true)
	f("Filesort != yes", true)
	f("Full_scan && Filesort", false)
	f("Full_scan || Filesort", true)
	f("Full_scan and not Filesort", true)
	f("Filesort && Filesort || Full_scan", true)
	f("Filesort && (Filesort || Full_scan)", false)
	f("!(Filesort && Full_scan)", true)
	f("!!Full_scan", true)
	f(`$event->{Query_time} > 0.5 and $event->{user} ne "root"`, true)
	// The log does not tell Rows_affected.
	f("Rows_affected > 0", false)
	f("Rows_affected <= 0", false)
	f("!(Rows_affected > 0)", false)
	f("Rows_affected > 0 || Full_scan", true)
	f("Full_scan || Rows_affected > 0", true)
	f("!(Rows_affected > 0 && Filesort)", true)
	f("!(Filesort && Rows_affected > 0)", true)
	f("!(Rows_affected > 0 && Full_scan)", false)
	f("Innodb_something_new > 0", false)
	f("\tQuery_time\n> 0.5 ", true)
}

func TestFilterByID(t *testing.T) {
	e := sampleEntry()
	for _, text := range []string{
		`id == "` + idOf(e) + `"`, "id == 0x" + idOf(e), "id == " + idOf(e)[16:],
		"checksum eq '" + strings.ToLower(idOf(e)) + "'",
	} {
		x, err := ParseFilter(text)
		if err != nil {
			t.Fatal(err)
		}
		if !x.Match(nil, e) {
			t.Errorf("%s does not choose its own class", text)
		}
	}
}

func TestFilterOnAdministratorCommands(t *testing.T) {
	x, err := ParseFilter(`cmd == Admin && fingerprint == "administrator command: Quit"`)
	if err != nil {
		t.Fatal(err)
	}
	if !x.Match(nil, &slowlog.Entry{Admin: true, SQL: []byte("Quit")}) {
		t.Error("Quit is not chosen")
	}
}

func TestFilterErrors(t *testing.T) {
	f := func(text string, column int, want string) {
		t.Helper()
		_, err := ParseFilter(text)
		var x *FilterError
		if !errors.As(err, &x) {
			t.Errorf("%q: the error is %v", text, err)
			return
		}
		if x.Column != column || !strings.Contains(x.Error(), want) {
			t.Errorf("%q: column %d: %v; want column %d and %q", text, x.Column, x, column, want)
		}
	}
	f("", 1, "there is no expression")
	f("   ", 4, "there is no expression")
	f("Query_tim > 1", 1, "did you mean Query_time?")
	f("Rows_examind > 1", 1, "did you mean Rows_examined?")
	f("xyzzy > 1", 1, `unknown name "xyzzy"; use an attribute`)
	f("Query_time > 1 && foo > 2", 19, "unknown name")
	f("Query_time", 1, "compared with nothing")
	f("Query_time >", 13, "the expression ends where a value should be")
	f("Query_time 1", 12, "where an operator should be")
	f("Query_time > abc", 14, "is not a number")
	f("Query_time > 1x", 14, `"x" is not a unit here; use us, ms`)
	f("Rows_sent > 1ms", 13, "use k, M and G, or none")
	f("Query_time =~ /1/", 12, "matches no expression")
	f("user > 'a'", 6, "has no order")
	f("Full_scan > 1", 11, "compare it with == or !=")
	f("Full_scan == maybe", 14, "neither Yes nor No")
	f("user == /x/", 9, "after =~ or !~")
	f("user =~ /x", 9, "never closed")
	f("user == 'x", 9, "never closed")
	f("user =~ /(/", 9, "missing closing )")
	f("user =~ /x/q", 12, "not a flag of a pattern")
	f("(Query_time > 1", 1, "never closed")
	f("Query_time > 1)", 15, "should have ended")
	f("Query_time > 1 db == 'x'", 16, "join comparisons with && or ||")
	f("(Query_time > 1 db == 'x')", 17, "where && or || or ) should be")
	f("Query_time > 1 & db == 'x'", 16, "use &&")
	f("Query_time > 1 | db == 'x'", 16, "use ||")
	f("1 < Query_time", 1, "the name comes first")
	f("user == 'ü' && xyzzy > 1", 16, "unknown name")
	f("$event->{Query_time > 1", 1, "never closed")
	f("id == 12", 7, "is not an id")
	f("id =~ /12/", 7, "compared with ==")
	f(strings.Repeat("(", 500), 201, "too deep")
	f(strings.Repeat("!", 500), 201, "too deep")
	f("Query_time > 1 \xff", 16, "has no meaning")
}

func TestFilterUnmet(t *testing.T) {
	x, err := ParseFilter("Query_time > 1 || Rows_affected > 0 || Innodb_unheard_of > 0")
	if err != nil {
		t.Fatal(err)
	}
	x.Match(nil, sampleEntry())
	if got := strings.Join(x.Unmet(), " "); got != "Rows_affected Innodb_unheard_of" {
		t.Errorf("unmet are %q", got)
	}
}

// TestFilterUnheardAttribute asks for an attribute that a parser met for the first time.
func TestFilterUnheardAttribute(t *testing.T) {
	p := slowlog.NewParser()
	p.Reset([]byte("# User@Host: a[a] @ h []\n# Query_time: 1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0  "+
		"Frob_count: 7\nSELECT 1;\n"), 0, slowlog.State{})
	var e slowlog.Entry
	if !p.Next(&e) {
		t.Fatal("no entry")
	}
	for text, want := range map[string]bool{
		"Frob_count == 7": true, "frob_count > 7": false, "Frob_count > 7": false,
		"Frob_counts > 1": false,
	} {
		x, err := ParseFilter(text)
		if text == "frob_count > 7" { // written as no server does
			if err == nil {
				t.Errorf("%s is taken", text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := x.Match(p, &e); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{
		`Query_time > 500ms && (db == "shop" || user =~ /^b/i) && !Full_scan`,
		`$event->{x} eq 'y'`, "((", "a==", "sql=~m/\\//", "Rows_sent>1e+5k",
	} {
		f.Add(s)
	}
	e := sampleEntry()
	f.Fuzz(func(t *testing.T, text string) {
		x, err := ParseFilter(text)
		if err != nil {
			var y *FilterError
			if !errors.As(err, &y) || y.Column < 1 || y.Column > len(text)+1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		x.Match(nil, e)
		if a, err := ParseFilter("!(" + text + ")"); err != nil || a.Match(nil, e) && x.Match(nil, e) {
			t.Fatalf("%q and its opposite both choose the entry, or its opposite is none: %v", text, err)
		}
	})
}

func idOf(e *slowlog.Entry) string { return queryclass.ID(mytext.Fingerprint(string(e.SQL))) }
