// Package attribute describes the figures that servers report of statements, by the names that logs, reports and
// filters have for them.
package attribute

import "strings"

// Unit tells what an attribute's numbers mean.
type Unit uint8

const (
	Count   Unit = iota // a number of things
	Seconds             // wall-clock or other time
	Bytes
	Flag // Yes or No: 1 or 0
)

// Info describes an attribute.
type Info struct {
	Name  string // as servers and pt-query-digest write it: Query_time
	Key   string // in Dyno's JSON: query_time
	Label string // in the report, at most 12 letters: Exec time
	Unit  Unit
	Title string // where there is room for more than Label; "" = the Label
	// Group is the heading of the attributes that belong to one part of a server; "" for those of statements as such.
	Group string
}

// New describes an attribute by the servers' name for it, in words where there is room.
func New(name, label string, u Unit) Info {
	return Info{
		Name: name, Key: strings.ToLower(name), Label: label, Unit: u, Title: strings.ReplaceAll(name, "_", " "),
	}
}

// The attributes that servers of every family may report.
var (
	QueryTime     = Info{Name: "Query_time", Key: "query_time", Label: "Exec time", Unit: Seconds}
	LockTime      = New("Lock_time", "Lock time", Seconds)
	CPUTime       = New("CPU_time", "CPU time", Seconds)
	RowsSent      = New("Rows_sent", "Rows sent", Count)
	RowsExamined  = New("Rows_examined", "Rows examine", Count)
	RowsAffected  = New("Rows_affected", "Rows affecte", Count)
	PagesAccessed = New("Pages_accessed", "Pages access", Count)
	PagesRead     = New("Pages_read", "Pages read", Count)
	Errors        = New("Errors", "Errors", Count)
)

var common = []Info{
	QueryTime, LockTime, CPUTime, RowsSent, RowsExamined, RowsAffected, PagesAccessed, PagesRead, Errors,
}

// Of returns what is known of an attribute by its key. Of one that is not known it guesses the unit and the label, and
// the group by those of the known ones.
func Of(key string, known []Info) Info {
	for _, list := range [][]Info{known, common} {
		for _, i := range list {
			if i.Key == key {
				return i
			}
		}
	}
	i := Info{Key: key}
	if strings.HasSuffix(key, "time") || strings.HasSuffix(key, "wait") {
		i.Unit = Seconds
	}
	for _, k := range known {
		if rest, ok := strings.CutPrefix(key, strings.ToLower(k.Group)+"_"); ok && k.Group != "" {
			key, i.Group = rest, k.Group
			break
		}
	}
	label := []rune(strings.ReplaceAll(key, "_", " "))
	i.Label = string(label[:min(len(label), 12)])
	if i.Label != "" {
		i.Label = strings.ToUpper(i.Label[:1]) + i.Label[1:]
	}
	return i
}
