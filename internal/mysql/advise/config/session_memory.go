package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Thresholds of session-memory.
const (
	hugeSession = 16 * mib // of buffers one session may take; the defaults add up to 1 to 3 MiB
	oversized   = 8        // times the default, from which a buffer is one of the culprits
)

// perSession are the buffers that each session may take, with their defaults.
var perSession = []struct {
	name           string
	mysql, mariadb uint64
	many           bool // one statement may take several of them
}{
	{"sort_buffer_size", 256 << 10, 2 << 20, false},
	{"join_buffer_size", 256 << 10, 256 << 10, true},
	{"read_buffer_size", 128 << 10, 128 << 10, true},
	{"read_rnd_buffer_size", 256 << 10, 256 << 10, false},
	{"binlog_cache_size", 32 << 10, 32 << 10, false},
	{"thread_stack", 1 << 20, 292 << 10, false},
}

// shared are those that the server takes once.
var shared = []string{
	"innodb_buffer_pool_size", "innodb_log_buffer_size", "key_buffer_size", "temptable_max_ram",
	"aria_pagecache_buffer_size",
}

// sessionMemory finds buffers of sessions which, if all sessions that may connect took one of each, need more memory
// than there is. It is a risk: nothing has to be slow yet.
func sessionMemory(v *advise.View) []finding.Finding {
	all, group, ok := memory(v)
	if !ok {
		return nil
	}
	most, ok := v.Number("max_connections").Get()
	if !ok {
		return nil
	}
	type buffer struct {
		name      string
		now, deft uint64
	}
	var each uint64
	var big []buffer
	for _, b := range perSession {
		n, ok := number(v, b.name)
		if !ok {
			continue
		}
		each += n
		deft := b.mysql
		if v.MariaDB() {
			deft = b.mariadb
		}
		if n >= oversized*deft && n >= mib {
			big = append(big, buffer{b.name, n, deft})
		}
	}
	var once uint64
	for _, name := range shared {
		n, _ := number(v, name)
		once += n
	}
	if q, ok := number(v, "query_cache_size"); ok && v.On("query_cache_type") {
		once += q
	}
	worst := float64(once) + most*float64(each)
	// A pool that is too large by itself is another matter, and so are many connections with ordinary buffers.
	if worst <= float64(all) || each < hugeSession || len(big) == 0 || float64(once) > float64(all) {
		return nil
	}
	slices.SortStableFunc(big, func(a, b buffer) int { return cmp.Compare(b.now, a.now) })
	f := finding.Finding{
		Rule: "session-memory", Confidence: finding.Certain, Severity: finding.Notice, File: "my.cnf",
		Title: fmt.Sprintf("sessions may take %s of buffers each: %.0f of them need %s, and there are %s", bytes(each),
			most, unit.Bytes(worst), bytes(all)),
		Cause: "Each session takes buffers of this kind, some of them once for each table of a join. When many " +
			"sessions sort and join at a time, memory " +
			"runs out and the kernel ends the server.",
		Falsify:   "Disproved if a limit keeps the sessions below max_connections, such as a pool of the application.",
		Reference: "MySQL Reference Manual, How MySQL Uses Memory; MariaDB Knowledge Base, MariaDB Memory Allocation.",
		Cost:      "A session that needs a large buffer for one report can set its own: SET SESSION.",
		Explains:  []string{advise.EffectMemory},
	}
	names := make([]string, len(big))
	left := each
	for i, b := range big {
		names[i] = b.name
		left -= b.now - b.deft
		f.Setting = append(f.Setting, b.name+" = "+size(b.deft))
		f.Evidence = append(f.Evidence, fact(b.name, float64(b.now), "B", fmt.Sprintf("%d by default", b.deft),
			source.Variables, "%s is %s, %s times its default.", b.name, bytes(b.now),
			unit.Count(float64(b.now)/float64(b.deft))))
	}
	f.ID = finding.MakeID(f.Rule, names...)
	f.Subject.Variables = names
	for _, b := range big {
		if b.name == "thread_stack" { // no server takes another one while it runs
			f.Restart = true
		} else if f.Action == nil {
			f.Action = v.SetVariable(b.name, fmt.Sprint(b.deft))
		}
	}
	whose := "the machine has"
	if group {
		whose = "the control group allows"
	}
	f.Evidence = append([]finding.Evidence{fact("memory, worst case", worst, "B", fmt.Sprintf("≤ %d", all),
		source.Variables,
		"%s for all + %.0f sessions × %s = %s; %s %s.", bytes(once), most, bytes(each), unit.Bytes(worst), whose,
		bytes(all))}, f.Evidence...)
	f.Suggestion = fmt.Sprintf("Reset %s to the default: then a session takes %s and all of them %s. Or lower "+
		"max_connections: %s ÷ %s = %.0f sessions fit.",
		strings.Join(names, ", "), bytes(left), unit.Bytes(float64(once)+most*float64(left)), bytes(all-once),
		bytes(each), float64(all-once)/float64(each))
	if used, ok := v.Gauge("Max_used_connections").Get(); ok {
		peak := float64(once) + used*float64(each)
		f.Evidence = append(f.Evidence, fact("peak number of sessions so far", used, "", "", source.GlobalStatus,
			"At most %.0f sessions were connected at a time: %s with all of their buffers.", used, unit.Bytes(peak)))
		if peak > float64(all) {
			f.Severity = finding.Warning
		} else {
			f.Against = append(f.Against, fmt.Sprintf("So far at most %.0f sessions were connected at a time, and "+
				"those fit.", used))
		}
	} else {
		f.Unobserved = append(f.Unobserved, "The peak number of sessions is unknown.")
	}
	if rss, ok := v.Host.Process["vmrss"]; ok {
		f.Against = append(f.Against, fmt.Sprintf("The server's process holds %s now: buffers are taken when a "+
			"statement needs them.", bytes(rss)))
	}
	f.Why = []finding.Reason{
		{
			Ask: "How much may a session take?", Answer: fmt.Sprintf("%s, most of it %s", bytes(each), names[0]),
			Source: source.Variables,
		},
		{Ask: "How much may all take?", Answer: fmt.Sprintf("%s + %.0f × %s = %s", bytes(once), most, bytes(each),
			unit.Bytes(worst)), Source: source.Arithmetic},
		{Ask: "Is there that much memory?", Answer: fmt.Sprintf("%s %s", whose, bytes(all)), Source: source.Host},
	}
	return []finding.Finding{f}
}
