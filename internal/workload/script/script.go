package script

import (
	"fmt"
	"hash/crc32"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/workload"
)

// Script is a parsed file. Weight may be changed before it becomes part of a Workload; the rest belongs to Parse.
type Script struct {
	Name string // as it was given to Parse
	// Weight multiplies the weights of the script's transactions, for scripts that run beside others; 0 means 1.
	Weight int

	sum          uint32 // of the text
	mysql        error  // the first place that only MySQL reads as this package does, nil for none
	options      []option
	transactions []*transaction
	vars         int // number of variables
	buffers      int // texts that expressions make
	sequences    int
	draws        int
}

// option is a setting that a script declares.
type option struct {
	workload.Option
	variable int
	at       place
}

// transaction is what one operation runs.
type transaction struct {
	name   string
	weight int
	code   []instruction
	calls  []statement
	think  expression // nil for none
	unit   float64    // nanoseconds of one of think
	at     place
	loops  int // how deep \repeat goes
}

// Transactions returns the names of the script's transactions, in order.
func (s *Script) Transactions() []string {
	list := make([]string, len(s.transactions))
	for i, t := range s.transactions {
		list[i] = t.name
	}
	return list
}

// WorkloadName is what lists and results call every workload made of scripts.
const WorkloadName = "script"

// largestWeight keeps sums of weights far from overflow.
const largestWeight = 1_000_000

// Workload is a load made of scripts, each operation one of their transactions.
type Workload struct {
	Scripts []*Script
	Dialect workload.Dialect // in which their statements are sent as they are; see In
}

// Name returns script.
func (Workload) Name() string { return WorkloadName }

// Title says what it does.
func (Workload) Title() string { return "SQL files with parameters, weights and transactions" }

// databases are the options that name the database, by dialect; "" leaves the target's own.
var databases = [...]string{workload.MySQL: "mysql-db", workload.PostgreSQL: "pgsql-db"}

// In returns the scripts for a server of a dialect. The error names what would be read in another way there.
func (w Workload) In(d workload.Dialect) (workload.Workload, error) {
	for _, s := range w.Scripts {
		if d != workload.MySQL && s.mysql != nil {
			return nil, s.mysql
		}
	}
	w.Dialect = d
	return w, nil
}

// Options returns the database and what the scripts declare.
func (w Workload) Options() []workload.Option {
	list := []workload.Option{{Name: databases[w.Dialect], Type: workload.Text, Help: "database that the statements " +
		"find their tables in; without one it is the target's"}}
	for _, s := range w.Scripts {
		for _, o := range s.options {
			if !slices.ContainsFunc(list, func(x workload.Option) bool { return x.Name == o.Name }) {
				list = append(list, o.Option)
			}
		}
	}
	return list
}

// Build settles the options. Two scripts may declare the same option when its default is the same in both.
func (w Workload) Build(given map[string]string) (*workload.Plan, error) {
	if len(w.Scripts) == 0 {
		return nil, fmt.Errorf("script: no file given; name one or more SQL files")
	}
	if x, ok := given[databases[workload.MySQL]]; ok && w.Dialect != workload.MySQL {
		given = maps.Clone(given)
		delete(given, databases[workload.MySQL])
		given[databases[w.Dialect]] = x
	}
	v, err := workload.Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	p := &workload.Plan{Workload: WorkloadName, Schema: v.Text(databases[w.Dialect]), Options: map[string]string(v)}
	pr := &program{dialect: w.Dialect}
	seen, declared := map[string]*transaction{}, map[string]option{}
	var files []string
	for i, s := range w.Scripts {
		weight := s.Weight
		if weight == 0 {
			weight = 1
		}
		if weight < 0 || weight > largestWeight {
			return nil, fmt.Errorf("script %s: weight %d: takes 1 to %d", s.Name, weight, largestWeight)
		}
		files = append(files, fmt.Sprintf("%s (crc32 %08x)", path.Base(s.Name), s.sum))
		f := frame{script: s, constants: []constant{}}
		for _, o := range s.options {
			if d, ok := declared[o.Name]; ok && d.Default != o.Default {
				return nil, o.at.errorf("an option of all scripts has one default",
					"option %s has the default %s here and %s at %s:%d", o.Name, o.Default, d.Default,
					d.at.script, d.at.line)
			}
			declared[o.Name] = o
			f.constants = append(f.constants, constant{o.variable, parseValue(v.Text(o.Name))})
		}
		pr.frames = append(pr.frames, f)
		for _, t := range s.transactions {
			if d := seen[t.name]; d != nil {
				return nil, t.at.errorf("give it another name with \\transaction NAME",
					"transaction %s is there already, at %s:%d", t.name, d.at.script, d.at.line)
			}
			seen[t.name] = t
			pr.add(i, t, weight, len(p.Statements))
			p.Operations = append(p.Operations, t.name)
			for _, c := range t.calls {
				p.Statements = append(p.Statements, c.Statement)
			}
		}
	}
	p.Options["script"] = strings.Join(files, ", ")
	p.Generator = func(seed uint64, session int) workload.Generator { return newGenerator(pr, seed, session) }
	return p, nil
}

// parseValue reads the value of an option as the scripts see it: a whole number, with a suffix K, M, G or T for powers
// of 1000, a number with a fraction, or a text.
func parseValue(s string) workload.Datum {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return workload.Int(n)
	}
	if n, ok := count(s); ok {
		return workload.Int(n)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && strings.ContainsAny(s[:1], "+-.0123456789") &&
		!strings.ContainsAny(s, "xXpP_iInN") {
		return workload.Float(f)
	}
	return workload.String(s)
}

// count reads digits with a suffix.
func count(s string) (int64, bool) {
	n := len(s) - 1
	if n < 1 || strings.IndexByte("kmgt", s[n]|0x20) < 0 {
		return 0, false
	}
	x, err := strconv.ParseUint(s[:n], 10, 63)
	mult := [...]uint64{1e3, 1e6, 1e9, 1e12}[strings.IndexByte("kmgt", s[n]|0x20)]
	if err != nil || x > (1<<63-1)/mult {
		return 0, false
	}
	return int64(x * mult), true
}

func checksum(text []byte) uint32 { return crc32.ChecksumIEEE(text) }
