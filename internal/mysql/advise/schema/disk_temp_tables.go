package schema

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	diskPerCall = 0.5       // temporary tables on disk for each execution
	diskPerSec  = 1.0       // of the server, where the class was only looked at
	tmpDefault  = 16 << 20  // what servers ship with
	tmpMost     = 256 << 20 // more than that is for one statement to need less, not for all to get
	tmpMemory   = 0.10      // of the memory, for the tables of all statements that run at a time
	tmpRow      = 24        // bytes of a row beside its columns: the entry of its index and the link to it
	aggregate   = 16        // bytes of a sum or a count
)

// diskTempTables finds classes of statements whose temporary tables go to disk, and says whether a limit or a column
// sends them there.
func diskTempTables(v *advise.View) (out []finding.Finding) {
	var all []*spill
	of := map[string]*spill{} // by class
	for _, u := range uses(v, func(c class.Class, s shape.Shape) bool { return mayspill(v, c, s) }) {
		if y := of[u.c.ID]; y != nil { // another table of the class
			if !slices.ContainsFunc(y.all, func(o use) bool { return o.t.Ref == u.t.Ref }) {
				y.tables = append(y.tables, u.t.Ref)
			}
			continue
		}
		x, ok := spills(v, u)
		if !ok {
			continue
		}
		// One limit is one cause, a column is one per table.
		i := slices.IndexFunc(all, func(y *spill) bool {
			return x.column == y.column && (x.column == "" || x.use.t.Ref == y.use.t.Ref)
		})
		if i < 0 {
			of[u.c.ID] = &x
			all = append(all, &x)
			continue
		}
		of[u.c.ID] = all[i]
		all[i].need = max(all[i].need, x.need)
		all[i].all = append(all[i].all, x.use)
	}
	for _, x := range all {
		sec := 0.0
		for _, u := range x.all {
			sec += u.c.TimeSec
		}
		if worth(v, sec) {
			out = append(out, x.report(v, sec))
		}
	}
	return out
}

// spill is a class whose temporary tables go to disk.
type spill struct {
	use    use
	all    []use        // it and others with the same cause
	tables []schema.Ref // further ones that it reads
	sure   finding.Confidence
	limit  float64 // bytes of a temporary table in memory
	limits []string
	need   float64 // bytes of its temporary table, at most; 0 when nothing bounds it
	rows   float64
	row    float64
	column string // that cannot be held in memory, "" for none
	engine string // of temporary tables in memory
}

// mayspill leaves out classes that make no temporary tables on disk.
func mayspill(v *advise.View, c class.Class, s shape.Shape) bool {
	if n, ok := c.TmpDisk.Get(); ok && exact(c) {
		return n > 0 && float64(n) >= diskPerCall*float64(c.Count)
	}
	_, planned := v.Plan(c)
	return planned && (s.Kind == shape.Select || s.Kind == shape.Insert)
}

// spills decides whether a class's temporary tables go to disk.
func spills(v *advise.View, u use) (x spill, ok bool) {
	x.use, x.all = u, []use{u}
	counted := u.c.TmpDisk.OK() && exact(u.c)
	plan, planned := v.Plan(u.c)
	temporary := false
	for _, s := range plan.Steps {
		temporary = temporary || slices.ContainsFunc(s.Extra, func(e string) bool {
			return strings.Contains(strings.ToLower(e), "using temporary")
		})
		x.rows = max(x.rows, s.Rows)
	}
	if per, ok := u.c.PerCall(u.c.Examined).Get(); ok && exact(u.c) {
		// What was read counts more than what was estimated. Reading the groups is in it too.
		x.rows = per
	}
	x.sure = finding.Certain
	if !counted {
		if rate, ok := uncounted(v); !ok || rate < diskPerSec || !planned || !temporary {
			return x, false
		}
		x.sure = finding.Possible
	}
	x.bounds(v)
	x.measure(v)
	if !counted && x.column == "" && (x.need == 0 || x.limit == 0 || x.need < x.limit) {
		// reading the dictionary makes tables on disk too: without counts only arithmetic tells whose they are
		return x, false
	}
	return x, true
}

// uncounted returns the temporary tables on disk per second that no class has counted. Dyno's own are not among them.
func uncounted(v *advise.View) (rate float64, ok bool) {
	rate, ok = v.Status("Created_tmp_disk_tables").Get()
	ok = ok && v.Rest.Classes == 0
	for _, c := range v.Classes {
		if n, counts := c.TmpDisk.Get(); counts && exact(c) && v.Window > 0 {
			rate -= float64(n) / v.Window
		}
	}
	return rate, ok
}

// bounds reads how large a temporary table in memory may be, and which settings say so.
func (x *spill) bounds(v *advise.View) {
	add := func(name string) {
		n, ok := v.Number(name).Get()
		if !ok || n <= 0 {
			return
		}
		if x.limit == 0 || n < x.limit {
			x.limit = n
		}
		x.limits = append(x.limits, name)
	}
	x.engine = "MEMORY"
	if e, ok := v.Variable("internal_tmp_mem_storage_engine"); ok {
		x.engine = e
	}
	if strings.EqualFold(x.engine, "TempTable") && !v.MariaDB() && !v.AtLeast(8, 0, 28) {
		add("temptable_max_ram") // of all together: no limit for each was there yet
		return
	}
	add("tmp_table_size")
	if x.engine == "MEMORY" {
		add("max_heap_table_size")
	}
}

// measure adds up what a row of the temporary table takes: the columns that the statement groups by, sorts by and
// returns.
func (x *spill) measure(v *advise.View) {
	width, bounded := 0.0, true
	seen := map[string]bool{}
	for _, c := range slices.Concat(x.use.shape.GroupBy, x.use.shape.OrderBy, x.use.shape.Output) {
		t := x.use.t
		if c.Table >= 0 && c.Table < len(x.use.shape.Tables) {
			if other, ok := v.Resolve(x.use.c, x.use.shape.Tables[c.Table]); ok {
				t = other
			}
		}
		col, ok := t.Column(c.Column)
		if !ok || seen[t.String()+"."+strings.ToLower(col.Name)] {
			continue
		}
		seen[t.String()+"."+strings.ToLower(col.Name)] = true
		_, most := widths(t, []string{col.Name})
		if most == 0 {
			bounded = false
			// MEMORY holds no BLOB and no TEXT; TempTable does since MySQL 8.0.13.
			if x.engine == "MEMORY" && x.column == "" {
				x.column = col.Name
				x.use.t = t
			}
		}
		width += float64(most)
	}
	if x.use.shape.Star || len(seen) == 0 {
		bounded = false
	}
	if x.row = width + tmpRow + 2*aggregate; bounded && x.rows > 0 {
		x.need = x.rows * x.row
	}
}

// room returns the limit that lets the temporary table through: the next power of two above what it needs with a
// quarter to spare, at least what servers ship with; 0 when that is more than one may give.
func (x *spill) room(v *advise.View, running float64) float64 {
	need := max(x.need*1.25, 2*x.limit, tmpDefault)
	size := math.Pow(2, math.Ceil(math.Log2(need)))
	most := float64(tmpMost)
	if mem, ok := v.Host.MemBytes.Get(); ok {
		if limit, ok := v.Host.MemLimit.Get(); ok {
			mem = min(mem, limit)
		}
		most = min(most, max(tmpDefault, tmpMemory*float64(mem)/running))
	}
	if size > most {
		return 0
	}
	return size
}

func (x *spill) report(v *advise.View, sec float64) finding.Finding {
	share := min(1, sec/v.Total)
	ref := x.use.t.Ref
	running := max(1, math.Ceil(sec/v.Window))
	f := finding.Finding{
		Rule: "disk-temp-tables", Severity: finding.Warning, Confidence: x.sure,
		Subject:  finding.Subject{Tables: append([]schema.Ref{ref}, x.tables...)},
		Explains: []string{advise.EffectTmpDisk},
	}
	for _, u := range x.all {
		f.Subject.Classes = append(f.Subject.Classes, u.c.ID)
		f.Explains = append(f.Explains, advise.ClassTime(u.c.ID))
		if !slices.Contains(f.Subject.Tables, u.t.Ref) {
			f.Subject.Tables = append(f.Subject.Tables, u.t.Ref)
		}
	}
	per := ""
	if n, ok := x.use.c.PerCall(x.use.c.TmpDisk).Get(); ok && exact(x.use.c) {
		per = fmt.Sprintf(", %s for each execution", unit.Count(n))
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "temporary tables on disk per execution", Value: known.Of(n), Expected: "0", Source: x.use.c.Source(),
			Text: fmt.Sprintf("%s in %s made %s temporary tables on disk: %s", unit.Plural(int(x.use.c.Count),
				"execution", "executions"), unit.Seconds(v.Window),
				unit.Count(float64(x.use.c.TmpDisk.Or(0))), clip(x.use.c.Fingerprint)),
		})
	} else {
		f.Unobserved = append(f.Unobserved, strings.TrimSpace("Whether this class creates them: its temporary tables "+
			"on disk were not counted. "+v.Blind(source.Digests)))
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "plan", Source: source.Plan,
			Text: "The plan of the class with the most time makes a temporary table: " + clip(x.use.c.Fingerprint),
		})
	}
	if r, ok := uncounted(v); ok && x.sure == finding.Possible {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "temporary tables on disk per second", Value: known.Of(r), Unit: "1/s", Source: source.GlobalStatus,
			Text: fmt.Sprintf("Clients create %s that no class accounts for.",
				unit.Rate(r, "temporary tables on disk")),
		})
	}
	f.Title = fmt.Sprintf("%s of the statement time goes to statements whose temporary tables do not stay in memory%s",
		unit.Percent(share), per)
	size := x.room(v, running)
	switch {
	case x.column != "":
		f.Subject.Columns = []string{x.column}
		f.ID = finding.MakeID(f.Rule, ref.String(), x.column)
		f.Cause = fmt.Sprintf("The temporary table holds %s, whose type in-memory temporary tables do not support, "+
			"so it is created on disk. No limit changes that.", x.column)
		f.Suggestion = fmt.Sprintf("Leave %s out of the statement, or select only its beginning: LEFT(%s, 200). "+
			"Where the column never holds much, VARCHAR of that length is the permanent fix.", x.column, x.column)
		f.Cost = "None, where the rest of the column is not needed; changing the type rebuilds the table."
		f.Falsify = "Disproved if the same statement without the column creates its temporary tables on disk as well."
	case slices.Equal(x.limits, []string{"temptable_max_ram"}):
		f.ID = finding.MakeID(f.Rule, "limit")
		f.Subject.Variables = x.limits
		if f.Confidence == finding.Certain {
			f.Confidence = finding.Likely // that it was full was not seen
		}
		f.Cause = fmt.Sprintf("Before MySQL 8.0.28 temporary tables have no limit of their own: all of them together "+
			"share %s (temptable_max_ram), and what does not fit goes to disk.", unit.Bytes(x.limit))
		f.Suggestion = "Have the statement make fewer or narrower groups, or see what else fills temptable_max_ram " +
			"(memory/temptable in performance_schema's summary of memory). Raise it only as far as there is memory."
		f.Cost = "A change of the statement, or memory, once for all sessions."
		f.Falsify = "Disproved if the statement creates temporary tables on disk also while it runs alone."
	case x.limit == 0:
		f.ID = finding.MakeID(f.Rule, "limit")
		f.Cause = "Its groups outgrow the memory limit of a temporary table; the server did not report the limit."
		f.Suggestion = "Check tmp_table_size, or have the statement make fewer or narrower groups."
		f.Cost = "Memory for each statement that runs, or a change of the statement."
		f.Falsify = "Disproved if the statement creates no temporary table on disk while it runs alone."
	default:
		f.ID = finding.MakeID(f.Rule, "limit")
		f.Subject.Variables = x.limits
		f.Cause = fmt.Sprintf("Its temporary table may take %s of memory (%s). It outgrows that, is copied to disk "+
			"and continues there.", unit.Bytes(x.limit), strings.Join(x.limits, ", "))
		if x.need > 0 {
			f.Evidence = append(f.Evidence, finding.Evidence{
				What: "maximum size of the temporary table", Value: known.Of(x.need), Unit: "B", Expected: "≤ " +
					unit.Bytes(x.limit), Source: source.Tables,
				Text: fmt.Sprintf("At most %s rows × %s bytes = %s, against %s that are allowed.", unit.Count(x.rows),
					unit.Count(x.row), unit.Bytes(x.need), unit.Bytes(x.limit)),
			})
		} else {
			f.Unobserved = append(f.Unobserved,
				"How large its temporary table is: rows or columns have no known bound.")
		}
		if x.need > 0 && x.need < x.limit {
			f.Confidence = finding.Possible
			f.Against = append(f.Against, "By that arithmetic it fits: something else may send it to disk, such as a "+
				"long expression.")
		}
		if size == 0 {
			f.Suggestion = fmt.Sprintf("It needs more than one statement should get while %s run at a time. Have it "+
				"make fewer or narrower groups: group by a number instead of a text, or cover a shorter time.",
				unit.Count(running))
			f.Cost = "A change of the statement."
			f.Falsify = "Disproved if half of the time that the statement covers takes as long for each row."
			break
		}
		text := strconv.FormatFloat(size, 'f', 0, 64)
		for _, name := range x.limits {
			if have, ok := v.Number(name).Get(); ok && have < size {
				f.Setting = append(f.Setting, name+" = "+text)
			}
		}
		f.File = "my.cnf"
		f.Suggestion = fmt.Sprintf("Let temporary tables take %s: SET GLOBAL for new sessions, and my.cnf to keep it.",
			unit.Bytes(size))
		if len(f.Setting) == 1 {
			name := x.limits[0]
			for _, n := range x.limits {
				if have, ok := v.Number(n).Get(); ok && have < size {
					name = n
				}
			}
			f.Action = v.SetVariable(name, text)
		} else {
			f.Suggestion += " Both settings apply; the smaller one is the limit."
		}
		f.Cost = fmt.Sprintf("Each running statement may take that much: %s at a time now make %s", unit.Count(running),
			unit.Bytes(size*running))
		if m, ok := v.Gauge("Max_used_connections").Get(); ok && m > running {
			f.Cost += fmt.Sprintf(", and %s if all sessions of the connection peak ran one", unit.Bytes(size*m))
		}
		f.Cost += ". Connected sessions keep the old limit until they reconnect."
		f.Falsify = "Disproved if a session that sets the limit for itself still creates tables on disk (SHOW " +
			"SESSION STATUS LIKE 'Created_tmp_disk_tables')."
	}
	if len(x.use.shape.GroupBy) > 0 {
		f.Against = append(f.Against, "An index in the order of the groups would need no temporary table at all, "+
			"where the statement's conditions let it be used.")
	}
	lo, hi := 1.1, 4.0
	f.Gain = &finding.Gain{What: "time per execution", Lo: lo, Hi: hi, Text: "the copy to disk and every later " +
		"access to a group there are saved; finding the rows takes as long as before"}
	f.Share = givesBack(share, lo, hi)
	f.Reference = "Reference manual, \"Internal Temporary Table Use in MySQL\"; MariaDB: tmp_memory_table_size"
	for _, e := range f.Evidence {
		f.Why = append(f.Why, asking(cmp.Or(map[string]string{"plan": "Does it create a temporary table?"}[e.What],
			"Where are its temporary tables?"), e.Source, "%s", e.Text))
	}
	f.Why = append(f.Why, asking("Is it a limit or a column?", source.Tables, "%s", f.Cause))
	return f
}
