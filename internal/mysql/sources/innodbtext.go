package sources

import (
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
)

// innodbText is what SHOW ENGINE INNODB STATUS says, as far as it is understood. A line that the server does not print
// gives no figure. See "SHOW ENGINE INNODB STATUS" and "InnoDB Standard Monitor" in the manuals.
type innodbText struct {
	figures  []figure
	deadlock trouble // LATEST DETECTED DEADLOCK
	foreign  trouble // LATEST FOREIGN KEY ERROR
}

// trouble is something that happened once, and is shown until the next one happens.
type trouble struct {
	seen bool
	when string        // as the server wrote it
	age  time.Duration // before the text was made; both times are the server's, so its time zone does not matter
	text string
}

// figure is one number of the text.
type figure struct {
	name  string
	kind  metric.Kind
	extra string // "label=value"
	value float64
}

// line is how a line of the text looks: # stands for a number, a blank for any number of them, and what follows at the
// end may be anything. Each # has a metric; one without a name is not kept.
type line struct {
	pattern string
	metrics []figure
}

func gauge(name, extra string) figure { return figure{name: name, extra: extra} }
func counter(name, extra string) figure {
	return figure{name: name, kind: metric.Counter, extra: extra}
}

// innodbLines are the lines of each section that are read.
func innodbLines(section string) []line {
	const p = "dyno_innodb_"
	locks := func(label string) []figure {
		return []figure{
			counter(p+"spin_waits_total", "lock="+label), counter(p+"spin_rounds_total", "lock="+label),
			counter(p+"os_waits_total", "lock="+label),
		}
	}
	rows := func(of string) []figure {
		return []figure{
			counter(p+of, "operation=insert"), counter(p+of, "operation=update"),
			counter(p+of, "operation=delete"), counter(p+of, "operation=read"),
		}
	}
	switch section {
	case "SEMAPHORES":
		return []line{
			{"OS WAIT ARRAY INFO: reservation count #", []figure{counter(p+"wait_array_reservations_total", "")}},
			{"OS WAIT ARRAY INFO: signal count #", []figure{counter(p+"wait_array_signals_total", "")}},
			{"Mutex spin waits #, rounds #, OS waits #", locks("mutex")},
			{"RW-shared spins #, rounds #, OS waits #", locks("rw_shared")},
			{"RW-excl spins #, rounds #, OS waits #", locks("rw_excl")},
			{"RW-sx spins #, rounds #, OS waits #", locks("rw_sx")},
		}
	case "TRANSACTIONS":
		return []line{
			{"Trx id counter #", []figure{counter(p+"transaction_ids_total", "")}},
			{"History list length #", []figure{gauge(p+"history_length", "")}},
		}
	case "FILE I/O":
		return []line{
			{"Pending flushes (fsync) log: #; buffer pool: #", []figure{
				gauge(p+"pending_fsyncs", "file=log"),
				gauge(p+"pending_fsyncs", "file=data"),
			}},
			{"Pending flushes (fsync): #", []figure{gauge(p+"pending_fsyncs", "file=all")}},
			{"# OS file reads, # OS file writes, # OS fsyncs", []figure{
				counter(p+"os_file_reads_total", ""),
				counter(p+"os_file_writes_total", ""), counter(p+"os_file_fsyncs_total", ""),
			}},
		}
	case "INSERT BUFFER AND ADAPTIVE HASH INDEX":
		return []line{
			{"Ibuf: size #, free list len #, seg size #, # merges", []figure{
				gauge(p+"change_buffer_pages", "state=used"), gauge(p+"change_buffer_pages", "state=free"),
				gauge(p+"change_buffer_pages", "state=segment"), counter(p+"change_buffer_merges_total", ""),
			}},
		}
	case "LOG":
		return []line{
			{"Log capacity #", []figure{gauge(p+"log_capacity_bytes", "")}},
			{"Log sequence number #", []figure{counter(lsnMetric, "")}},
			{"Log flushed up to #", []figure{gauge(flushedMetric, "")}},
			{"Pages flushed up to #", []figure{gauge(pagesMetric, "")}},
			{"Last checkpoint at #", []figure{gauge(checkpointMetric, "")}},
			{"# pending log writes, # pending chkp writes", []figure{
				gauge(p+"pending_log_writes", ""),
				gauge(p+"pending_checkpoint_writes", ""),
			}},
			{"# pending log flushes, # pending chkp writes", []figure{
				gauge(p+"pending_log_writes", ""),
				gauge(p+"pending_checkpoint_writes", ""),
			}},
			{"# log i/o's done", []figure{counter(p+"log_ios_total", "")}},
		}
	case "BUFFER POOL AND MEMORY":
		return []line{
			{"Total large memory allocated #", []figure{gauge(p+"memory_bytes", "of=total")}},
			{"Total memory allocated #", []figure{gauge(p+"memory_bytes", "of=total")}},
			{"Dictionary memory allocated #", []figure{gauge(p+"memory_bytes", "of=dictionary")}},
			{"Buffer pool size #", []figure{gauge(p+"pool_pages", "state=total")}},
			{"Free buffers #", []figure{gauge(p+"pool_pages", "state=free")}},
			{"Database pages #", []figure{gauge(p+"pool_pages", "state=data")}},
			{"Old database pages #", []figure{gauge(p+"pool_pages", "state=old")}},
			{"Modified db pages #", []figure{gauge(p+"pool_pages", "state=dirty")}},
			{"Pending reads #", []figure{gauge(p+"pool_pending", "operation=read")}},
			{"Pending writes: LRU #, flush list #", []figure{
				gauge(p+"pool_pending", "operation=write_lru"),
				gauge(p+"pool_pending", "operation=write_flush_list"),
			}},
			{"Pages made young #, not young #", []figure{
				counter(p+"pool_made_young_total", ""),
				counter(p+"pool_not_young_total", ""),
			}},
			{"Pages read #, created #, written #", []figure{
				counter(p+"pool_pages_read_total", ""),
				counter(p+"pool_pages_created_total", ""), counter(p+"pool_pages_written_total", ""),
			}},
		}
	case "ROW OPERATIONS":
		return []line{
			{"# queries inside InnoDB, # queries in queue", []figure{gauge("mysql_engine_innodb_queries_inside_innodb",
				""), gauge("mysql_engine_innodb_queries_in_queue", "")}},
			{
				"# read views open inside InnoDB",
				[]figure{gauge("mysql_engine_innodb_read_views_open_inside_innodb", "")},
			},
			{"Number of rows inserted #, updated #, deleted #, read #", rows("rows_total")},
			{"Number of system rows inserted #, updated #, deleted #, read #", rows("system_rows_total")},
		}
	}
	return nil
}

const (
	lsnMetric        = "dyno_innodb_lsn_bytes_total"
	flushedMetric    = "dyno_innodb_log_flushed_lsn_bytes"
	pagesMetric      = "dyno_innodb_pages_flushed_lsn_bytes"
	checkpointMetric = "dyno_innodb_checkpoint_lsn_bytes"
)

// innodbTitles are the sections in the order in which servers print them.
var innodbTitles = []string{
	"BACKGROUND THREAD", "SEMAPHORES", "LATEST FOREIGN KEY ERROR", "LATEST DETECTED DEADLOCK",
	"TRANSACTIONS", "FILE I/O",
	"INSERT BUFFER AND ADAPTIVE HASH INDEX", "LOG", "BUFFER POOL AND MEMORY", "INDIVIDUAL BUFFER POOL INFO", "ROW " +
		"OPERATIONS",
}

// parseInnodb reads the text. Statements of clients stand in it as they are and may look like anything; so of two
// sections with the same title the first counts where statements come later, and the last where they come before.
func parseInnodb(text string) (x innodbText) {
	lines := strings.Split(text, "\n")
	at := sections(lines)
	body := func(title string) []string {
		s, ok := at[title]
		if !ok {
			return nil
		}
		return lines[s.from:s.to]
	}
	for _, title := range innodbTitles {
		known := innodbLines(title)
		b := body(title)
		if title == "TRANSACTIONS" {
			b = b[:min(len(b), 5)] // the rest is statements
		}
		for _, l := range b {
			for _, k := range known {
				if values, ok := matchLine(strings.TrimSpace(l), k.pattern); ok {
					for i, f := range k.metrics {
						f.value = values[i]
						x.figures = append(x.figures, f)
					}
					break
				}
			}
		}
	}
	x.semaphores(body("SEMAPHORES"))
	x.transactions(body("TRANSACTIONS"))
	x.pending(body("FILE I/O"))
	x.ages()
	made, _ := innodbTime(headline(lines))
	x.deadlock = readTrouble(body("LATEST DETECTED DEADLOCK"), made)
	x.foreign = readTrouble(body("LATEST FOREIGN KEY ERROR"), made)
	return x
}

// span is where the lines of a section stand.
type span struct{ from, to int }

// sections finds the sections: a title between two lines of dashes.
func sections(lines []string) map[string]span {
	dashes := func(s string) bool { return len(s) >= 3 && strings.Trim(s, "-") == "" }
	type head struct {
		title string
		line  int
	}
	var heads []head
	for i := 1; i+1 < len(lines); i++ {
		t := lines[i]
		if dashes(lines[i-1]) && dashes(lines[i+1]) {
			for _, k := range innodbTitles {
				if t == k {
					heads = append(heads, head{t, i})
				}
			}
		}
		if strings.HasPrefix(t, "END OF INNODB MONITOR OUTPUT") {
			heads = append(heads, head{"", i})
		}
	}
	// Statements stand in the two sections of troubles and in TRANSACTIONS. Only the server prints this line after that
	// title.
	real := func(h head) bool {
		return h.title != "TRANSACTIONS" || h.line+2 < len(lines) &&
			strings.HasPrefix(lines[h.line+2], "Trx id counter ")
	}
	chosen := map[string]int{}
	for _, h := range heads {
		_, had := chosen[h.title]
		switch h.title {
		case "BACKGROUND THREAD", "SEMAPHORES", "LATEST FOREIGN KEY ERROR", "LATEST DETECTED DEADLOCK", "TRANSACTIONS":
			if !had && real(h) {
				chosen[h.title] = h.line
			}
		default:
			chosen[h.title] = h.line
		}
	}
	out := map[string]span{}
	for t, l := range chosen {
		if t == "" {
			continue
		}
		end := len(lines)
		for _, o := range chosen {
			if o > l && o-1 < end {
				end = o - 1
			}
		}
		out[t] = span{min(l+2, end), end}
	}
	return out
}

// matchLine compares a line with a pattern and returns its numbers.
func matchLine(s, pattern string) (values []float64, ok bool) {
	for pattern != "" {
		switch pattern[0] {
		case '#':
			n := 0
			for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == '.' && n > 0) {
				n++
			}
			v, ok := parseNumber([]byte(strings.TrimRight(s[:n], ".")))
			if !ok {
				return nil, false
			}
			values, s = append(values, v), s[n:]
		case ' ':
			t := strings.TrimLeft(s, " \t")
			if len(t) == len(s) {
				return nil, false
			}
			s = t
		default:
			if s == "" || s[0] != pattern[0] {
				return nil, false
			}
			s = s[1:]
		}
		pattern = pattern[1:]
	}
	return values, true
}

func (x *innodbText) add(f figure, v float64) {
	f.value = v
	x.figures = append(x.figures, f)
}

func (x *innodbText) find(name string) (v float64, ok bool) {
	for _, f := range x.figures {
		if f.name == name {
			return f.value, true
		}
	}
	return 0, false
}

// semaphores counts the threads that wait for a latch. Servers that print no wait array (MariaDB from 10.6 on) do not
// print such threads either: that is not zero.
func (x *innodbText) semaphores(lines []string) {
	if _, ok := x.find("dyno_innodb_wait_array_reservations_total"); !ok {
		return
	}
	n, longest := 0.0, 0.0
	for _, l := range lines {
		if !strings.HasPrefix(l, "--Thread ") || !strings.Contains(l, " has waited at ") {
			continue
		}
		n++
		if _, rest, ok := cutLast(l, " for "); ok {
			if v, ok := matchLine(rest, "# seconds"); ok {
				longest = max(longest, v[0])
			}
		}
	}
	x.add(gauge("dyno_innodb_latch_waiters", ""), n)
	x.add(gauge("dyno_innodb_latch_wait_longest_seconds", ""), longest)
}

// transactions counts the transactions that are listed. A list that was cut is not counted.
func (x *innodbText) transactions(lines []string) {
	if len(lines) == 0 {
		return
	}
	if next, ok := x.find("dyno_innodb_transaction_ids_total"); ok {
		for _, l := range lines[:min(len(lines), 4)] {
			if v, ok := matchLine(l, "Purge done for trx's n:o < #"); ok && next >= v[0] {
				x.add(gauge("dyno_innodb_purge_behind_transactions", ""), next-v[0])
			}
		}
	}
	var active, waiting, prepared, locks, undo, longest, longestWait float64
	state := ""
	for _, l := range lines {
		switch {
		case strings.Contains(l, "truncated..."):
			return
		case strings.HasPrefix(l, "---TRANSACTION "):
			_, state, _ = strings.Cut(l, ", ")
			after, is := strings.CutPrefix(state, "ACTIVE ")
			if strings.HasPrefix(state, "ACTIVE (PREPARED)") {
				prepared++
				after = strings.TrimPrefix(state, "ACTIVE (PREPARED) ")
			}
			if is {
				active++
				if v, ok := matchLine(after, "# sec"); ok {
					longest = max(longest, v[0])
				}
			}
		case strings.Contains(l, " lock struct(s), heap size "):
			rest, waits := strings.CutPrefix(l, "LOCK WAIT ")
			if waits {
				waiting++
			}
			if _, after, ok := strings.Cut(rest, ", heap size "); ok {
				if v, ok := matchLine(after, "#, # row lock(s), undo log entries #"); ok {
					locks, undo = locks+v[1], undo+v[2]
				} else if v, ok := matchLine(after, "#, # row lock(s)"); ok {
					locks += v[1]
				}
			}
		case strings.HasPrefix(l, "------- TRX HAS BEEN WAITING "):
			rest := strings.TrimPrefix(l, "------- TRX HAS BEEN WAITING ")
			if v, ok := matchLine(rest, "# SEC FOR"); ok {
				longestWait = max(longestWait, v[0])
			} else if v, ok := matchLine(rest, "# us FOR"); ok { // MariaDB
				longestWait = max(longestWait, v[0]/1e6)
			} else if v, ok := matchLine(rest, "# ns FOR"); ok {
				longestWait = max(longestWait, v[0]/1e9)
			}
		}
	}
	x.add(gauge("dyno_innodb_transactions", "state=active"), active)
	x.add(gauge("dyno_innodb_transactions", "state=lock_wait"), waiting)
	x.add(gauge("dyno_innodb_transactions", "state=prepared"), prepared)
	x.add(gauge("dyno_innodb_transaction_longest_seconds", ""), longest)
	x.add(gauge("dyno_innodb_lock_wait_longest_seconds", ""), longestWait)
	x.add(gauge("dyno_innodb_row_locks", ""), locks)
	x.add(gauge("dyno_innodb_undo_entries", ""), undo)
}

// pending adds up the requests of each thread: "Pending normal aio reads: 0 [0, 0] , aio writes: [0, 0] ,".
func (x *innodbText) pending(lines []string) {
	for _, l := range lines {
		_, rest, ok := strings.Cut(l, "Pending normal aio reads:")
		if !ok {
			continue
		}
		reads, writes, ok := strings.Cut(rest, "aio writes:")
		if !ok {
			continue
		}
		for i, part := range []string{reads, writes} {
			if v, ok := sumBrackets(part); ok {
				x.add(gauge("dyno_innodb_pending_aio", "operation="+[]string{"read", "write"}[i]), v)
			}
		}
	}
}

// sumBrackets reads "3 [1, 2]" and "[1, 2]" as 3, "3" too.
func sumBrackets(s string) (sum float64, ok bool) {
	list := s
	if _, in, has := strings.Cut(s, "["); has {
		list, _, _ = strings.Cut(in, "]")
	}
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		v, good := parseNumber([]byte(part))
		if !good {
			return 0, false
		}
		sum, ok = sum+v, true
	}
	return sum, ok
}

// ages turns positions of the log into distances, and drops the positions: they say no more than the log's own.
func (x *innodbText) ages() {
	lsn, ok := x.find(lsnMetric)
	kept := x.figures[:0:0]
	for _, f := range x.figures {
		switch f.name {
		case flushedMetric:
			f.name = "dyno_innodb_log_unflushed_bytes"
		case pagesMetric:
			f.name = "dyno_innodb_pages_age_bytes"
		case checkpointMetric:
			f.name = "dyno_innodb_checkpoint_age_bytes"
		default:
			kept = append(kept, f)
			continue
		}
		if ok {
			f.value = max(0, lsn-f.value) // they are not read at the same moment
			kept = append(kept, f)
		}
	}
	x.figures = kept
}

// headline finds the line that says when the text was made.
func headline(lines []string) string {
	for _, l := range lines[:min(len(lines), 10)] {
		if strings.Contains(l, "INNODB MONITOR OUTPUT") {
			return l
		}
	}
	return ""
}

// innodbTime reads the time at the beginning of a line: "2026-11-21 19:57:06", before 5.6 "261121 19:57:06".
func innodbTime(l string) (t time.Time, ok bool) {
	for _, layout := range []string{"2006-01-02 15:04:05", "060102 15:04:05", "060102  3:04:05"} {
		if len(l) < len(layout) {
			continue
		}
		if t, err := time.Parse(layout, l[:len(layout)]); err == nil {
			return t, true
		}
	}
	return t, false
}

func readTrouble(lines []string, made time.Time) (x trouble) {
	if len(lines) == 0 {
		return x
	}
	t, ok := innodbTime(lines[0])
	if !ok || made.IsZero() {
		return x
	}
	when, _, _ := strings.Cut(lines[0], " 0x")
	return trouble{seen: true, when: when, age: max(0, made.Sub(t)), text: strings.Join(lines, "\n")}
}
