package config

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// replicaStopped finds channels of which a thread does not run: what the source writes does not arrive, whatever the
// lag says.
func replicaStopped(v *advise.View) (out []finding.Finding) {
	for _, x := range v.All("dyno_replica_running", metric.Label{Name: "thread", Value: "sql"}) {
		if f, ok := stopped(v, x.Labels.Get("channel")); ok {
			out = append(out, f)
		}
	}
	return out
}

func stopped(v *advise.View, name string) (f finding.Finding, ok bool) {
	var down, why []string
	failed := known.None[float64]() // the number of the error
	for _, thread := range []string{"sql", "io"} {
		labels := []metric.Label{{Name: "channel", Value: name}, {Name: "thread", Value: thread}}
		x, ok := v.Find("dyno_replica_running", labels...)
		if !ok || len(x.Points) == 0 {
			return f, false
		}
		running := false
		for _, p := range x.Points {
			running = running || p.Value != 0
		}
		if running { // also one that only started, or stopped, in the window
			continue
		}
		down = append(down, thread)
		text := fmt.Sprintf("The %s thread did not run", strings.ToUpper(thread))
		if n, ok := v.Last("dyno_replica_error", labels...).Get(); ok && n != 0 {
			text += fmt.Sprintf("; its last error is %.0f", n)
			if !failed.OK() {
				failed = known.Of(n)
			}
		}
		why = append(why, text+".")
	}
	if len(down) == 0 {
		return f, false
	}
	who, show := "replication", "SHOW REPLICA STATUS"
	if v.MariaDB() || !v.AtLeast(8, 0, 22) {
		show = "SHOW SLAVE STATUS"
	}
	if name != "" {
		who = "replication of the channel " + name
	}
	f = finding.Finding{
		Rule: "replica-stopped", ID: finding.MakeID("replica-stopped", name), Severity: finding.Warning,
		Confidence: finding.Certain,
		Title:      fmt.Sprintf("%s is stopped: the %s thread does not run", who, strings.ToUpper(down[0])),
		Cause: "A thread of the replica does not run. Until it does, the replica does not follow its source, " +
			"and reads from it return old data.",
		Falsify: "Disproved if " + show + " shows both threads running.",
		Suggestion: "Start it (START REPLICA, before MySQL 8.0.22 and on MariaDB START SLAVE), or remove the channel " +
			"if the server is no longer a replica (RESET REPLICA ALL).",
		Cost:     "It catches up with all that was written since it stopped, which takes time and I/O.",
		Explains: []string{advise.EffectReplicaStop, advise.EffectReplicaLag},
		Why: []finding.Reason{{
			Ask: "Do both threads of the replica run?", Answer: strings.Join(why, " "),
			Source: source.Replication,
		}},
	}
	for i, text := range why {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What:  strings.ToUpper(down[i]) + " thread running",
			Value: known.Of(0.0), Expected: "1", Source: source.Replication, Text: text,
		})
	}
	n, is := failed.Get()
	switch {
	case is:
		f.Severity = finding.Critical
		f.Title = fmt.Sprintf("%s is stopped by error %.0f of the %s thread", who, n, strings.ToUpper(down[0]))
		f.Suggestion = fmt.Sprintf("Read the error in %s (Last_SQL_Error, Last_IO_Error) and fix its cause, then "+
			"start the thread.", show)
		switch n {
		case 1062, 1032:
			f.Suggestion += " The rows of the replica differ from its source's: another client wrote to it. Compare " +
				"the tables, and repair or rebuild the replica; skipping the transaction keeps the difference."
		case 1236, 13114:
			f.Suggestion += " If the source no longer has the binary log that the replica needs, rebuild the replica " +
				"from a backup."
		case 1045, 2002, 2003, 2005, 2026:
			f.Suggestion += " It cannot connect to its source, or is refused: check host, port, account and network."
		}
	case len(down) == 2:
		f.Severity = finding.Notice // as after STOP REPLICA, or on a server that was a replica once
		f.Title = who + " is stopped, without an error"
	}
	return f, true
}
