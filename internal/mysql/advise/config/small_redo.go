package config

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Thresholds of small-redo.
const (
	// of the age that the server allows: about there it writes pages to make room, whatever else it has to do
	fullLog = 0.6
	// seconds of writes; a page that is changed again and again is then written every few minutes at least
	shortLog      = 300
	veryShortLog  = 60   // seconds
	leastPages    = 20   // pages written a second; fewer do not matter to any disk
	hour          = 3600 // seconds
	usableOfRedo  = 0.75 // of the log's bytes that a checkpoint may lag behind, where the server does not say
	mostOfFree    = 0.25 // of the free space on the disk that a log may take
	leastRedoGrow = 4
	mostRedo      = 128 << 30 // bytes, the most that MySQL took before 8.0.34
)

// redoLog is the log in the window.
type redoLog struct {
	capacity uint64  // bytes
	files    uint64  // that the setting is for one of
	name     string  // of the setting
	live     bool    // it can be changed while the server runs
	age      float64 // bytes from the last checkpoint to the end, the most in the window: it goes up and down
	limit    float64 // that the age may reach before writers wait
	rate     float64 // bytes a second
	source   source.Name
}

func readRedo(v *advise.View) (r redoLog, ok bool) {
	r.files = 1
	if n, has := number(v, "innodb_redo_log_capacity"); has && n > 0 {
		r.capacity, r.name, r.live = n, "innodb_redo_log_capacity", true
		// What it really is: the older settings can stand behind it (8.0.30 on), and a change takes its time.
		if now, has := v.Gauge("Innodb_redo_log_capacity_resized").Get(); has && now > 0 {
			r.capacity = uint64(now)
		}
	} else if n, has := number(v, "innodb_log_file_size"); has && n > 0 {
		r.name = "innodb_log_file_size"
		if f, has := number(v, "innodb_log_files_in_group"); has && f > 0 {
			r.files = f
		}
		r.capacity, r.live = n*r.files, v.MariaDB() && v.AtLeast(10, 9)
	} else {
		return r, false
	}
	r.source = source.GlobalStatus
	var seen bool
	if r.age, seen = peak(v, "mysql_global_status_innodb_checkpoint_age").Get(); !seen {
		if r.age, seen = apart(v, "mysql_global_status_innodb_redo_log_current_lsn",
			"mysql_global_status_innodb_redo_log_checkpoint_lsn").Get(); !seen {
			r.age, seen = peak(v, "dyno_innodb_checkpoint_age_bytes").Get()
			r.source = figures.InnodbStatus
		}
	}
	if !seen {
		return r, false
	}
	r.limit = usableOfRedo * float64(r.capacity)
	if x, has := v.Gauge("Innodb_checkpoint_max_age").Get(); has && x > 0 {
		r.limit = x
	}
	for _, x := range []known.Value[float64]{
		v.Status("Innodb_redo_log_current_lsn"), v.Status("Innodb_lsn_current"),
		v.Status("Innodb_os_log_written"), v.Rate("dyno_innodb_lsn_bytes_total"),
	} {
		if n, has := x.Get(); has {
			r.rate = n
			return r, true
		}
	}
	return r, false
}

// apart returns how far one figure was ahead of another, the most at any reading of both.
func apart(v *advise.View, ahead, behind string) known.Value[float64] {
	a, ok1 := v.Find(ahead)
	b, ok2 := v.Find(behind)
	if !ok1 || !ok2 || len(b.Points) == 0 {
		return known.None[float64]()
	}
	most, at := known.None[float64](), 0
	for _, p := range a.Points {
		// a series that stood still has its first and last point only: what it was before holds
		for at+1 < len(b.Points) && b.Points[at+1].At <= p.At {
			at++
		}
		if d := p.Value - b.Points[at].Value; d > most.Or(-1) {
			most = known.Of(max(0, d))
		}
	}
	return most
}

// smallRedo finds a redo log that is full after seconds or minutes of writes, so that pages must be written to make
// room in it.
func smallRedo(v *advise.View) []finding.Finding {
	r, ok := readRedo(v)
	if !ok || r.rate <= 0 || r.age < fullLog*r.limit {
		return nil
	}
	holds := r.limit / r.rate
	pages, ok := v.Status("Innodb_pages_written").Get()
	if !ok || holds > shortLog || pages < leastPages {
		return nil
	}
	share, classes := writes(v)
	f := finding.Finding{
		ID: finding.MakeID("small-redo", r.name), Rule: "small-redo", Confidence: finding.Certain,
		Severity: finding.Warning,
		Subject:  finding.Subject{Variables: []string{r.name}, Classes: classes},
		Share:    share,
		Explains: []string{advise.EffectCheckpoint, advise.EffectDiskWrites}, Rests: []string{advise.EffectCheckpoint},
		Title: fmt.Sprintf("the redo log of %s holds %s of writes: %s pages a second are written to make room in it",
			bytes(r.capacity), unit.Seconds(holds), unit.Count(pages)),
		Cause: "The log may be overwritten only where the changed pages are already in the data files. It is so " +
			"small that pages have to be written soon after " +
			"they were changed, are changed again, and are written again; when that does not keep up, every session " +
			"that changes something waits.",
		Falsify: "Disproved if pages written per second and the time of writing statements stay as they are with " +
			"the larger log.",
		Reference: "MySQL Reference Manual, Optimizing InnoDB Redo Logging and Redo Log; MariaDB Knowledge Base, " +
			"InnoDB Redo Log.",
		File: "my.cnf", Restart: !r.live,
	}
	if holds > veryShortLog {
		f.Severity = finding.Notice
		f.Share *= 0.5
	}
	f.Evidence = []finding.Evidence{
		fact("checkpoint age", r.age, "B", fmt.Sprintf("< %.0f", fullLog*r.limit), r.source,
			"The checkpoint age is %s; the log allows %s.", unit.Bytes(r.age), unit.Bytes(r.limit)),
		fact("redo written per second", r.rate, "B/s", "", source.GlobalStatus,
			"%s/s of changes are logged, so that the "+
				"log holds %s.", unit.Bytes(r.rate), unit.Seconds(holds)),
		fact("pages written per second", pages, "1/s", "", source.GlobalStatus, "%s pages a second are written to the "+
			"data files.", unit.Count(pages)),
	}
	if dirty, ok := v.Last(figures.PoolDirtyPages).Get(); ok && pages > 0 {
		f.Evidence = append(f.Evidence, fact("changed pages in the pool", dirty, "pages", "", source.GlobalStatus,
			"%s changed pages wait in the pool: at this rate each is written every %s.", unit.Count(dirty),
			unit.Seconds(dirty/pages)))
	}
	want, why := r.wanted(v)
	f.Why = []finding.Reason{
		{
			Ask: "Is the log full?", Answer: fmt.Sprintf("%s of what it allows", unit.Percent(r.age/r.limit)),
			Source: r.source,
		},
		{Ask: "How long does it last?", Answer: fmt.Sprintf("%s ÷ %s/s = %s", unit.Bytes(r.limit), unit.Bytes(r.rate),
			unit.Seconds(holds)), Source: source.GlobalStatus},
		{Ask: "How long should it last?", Answer: why, Source: source.Arithmetic},
	}
	if want == 0 {
		f.Suggestion = fmt.Sprintf("Make room on the disk first, then enlarge the redo log: %s.", why)
		f.Cost, f.Restart, f.File = "Disk.", false, ""
		f.Against = []string{"What else grows on that disk is unknown: how much of it a log may take is for its " +
			"owner to decide."}
		return []finding.Finding{f}
	}
	value := want / r.files
	f.Setting = []string{r.name + " = " + size(value)}
	f.Suggestion = fmt.Sprintf("Make the redo log %s: %s.", bytes(want), why)
	f.Valid = "MySQL from 8.0.30 on (innodb_redo_log_capacity) and MariaDB from 10.9 on (innodb_log_file_size) " +
		"change it while they run; older ones need a restart."
	if r.live {
		f.Action = v.SetVariable(r.name, fmt.Sprint(value))
		f.Suggestion += " It can be done while the server runs; keep it in my.cnf."
	} else {
		f.Suggestion += " It needs a clean restart."
	}
	f.Cost = fmt.Sprintf("%s of disk. Recovery after a crash reads up to as much log.", bytes(want))
	f.Against = []string{"How long recovery after a crash takes grows with the log; the gain is in what writes wait " +
		"for, not in reads."}
	if c, ok := v.Status("Innodb_buffer_pool_wait_free").Get(); ok && c > 1 {
		f.Against = append(f.Against, fmt.Sprintf("Pages are also written to make room in the pool (%s waits a "+
			"second): the pool may be the tighter bound.", unit.Count(c)))
	}
	f.Gain = &finding.Gain{
		What: "pages written for the same changes", Lo: 1, Hi: max(1, min(100, float64(want)*usableOfRedo/r.limit)),
		Text: fmt.Sprintf("A page that is changed all the time is written every %s instead of every %s.",
			unit.Seconds(float64(want)*usableOfRedo/r.rate), unit.Seconds(holds)),
	}
	return []finding.Finding{f}
}

// wanted returns a size for the log and the reason in words: an hour of these writes, but not more than the pool, for
// more changed pages than fit in there cannot wait, nor than a quarter of the free disk. It is 0 where that leaves
// nothing worth a change.
func (r redoLog) wanted(v *advise.View) (uint64, string) {
	anHour := uint64(r.rate * hour / usableOfRedo)
	want := max(anHour, leastRedoGrow*r.capacity)
	why := fmt.Sprintf("an hour of these writes is %s", bytes(anHour))
	if p, ok := number(v, "innodb_buffer_pool_size"); ok && want > max(p, leastRedoGrow*r.capacity) {
		want = max(p, leastRedoGrow*r.capacity)
		why += fmt.Sprintf("; more than the pool of %s holds cannot wait in any log, so %s", bytes(p), bytes(want))
	}
	if most := max(mostRedo, 2*r.capacity); want > most {
		want = most
		why += fmt.Sprintf("; a log takes at most %s", bytes(most))
	}
	if free, ok := diskFree(v); ok && float64(want-min(want, r.capacity)) > mostOfFree*free {
		want = r.capacity + uint64(mostOfFree*free)
		why += fmt.Sprintf("; a quarter of the free disk is %s", unit.Bytes(mostOfFree*free))
		if want < r.capacity+r.capacity/4 {
			return 0, why
		}
		return max(want/r.files/mib, 1) * mib * r.files, why
	}
	return max(round(want), 2*r.capacity), why
}

// diskFree returns the free bytes of the fullest filesystem that was seen; the data directory's own is not told apart.
func diskFree(v *advise.View) (free float64, ok bool) {
	for _, s := range v.All("node_filesystem_avail_bytes") {
		if n := len(s.Points); n > 0 && (!ok || s.Points[n-1].Value < free) {
			free, ok = s.Points[n-1].Value, true
		}
	}
	return free, ok
}
