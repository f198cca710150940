package slowlog

// Figure is one attribute of an entry with its value: seconds, a count, bytes, or 1 and 0 for Yes and No.
type Figure struct {
	Attribute Attribute
	Value     float64
}

// Entry is one statement of a log. Its slices belong to the parser's input and are valid until the next entry; nothing
// in it is copied.
type Entry struct {
	Offset int64 // of its first byte, in bytes from the beginning of the (decompressed) log
	Length int64 // bytes up to the next entry

	// At is the time that its log has for it: microseconds since 1970 in UTC, 0 = the log has not said yet. "# Time:"
	// counts when it tells its zone (MySQL from 5.7 on), else SET timestamp, else the local time of "# Time:" taken as
	// UTC. It is when the statement ended, or with AtBegin when it began: see Began.
	At      int64
	AtBegin bool // MariaDB's slow log and general logs tell when a statement began
	Thread  uint64
	User    []byte
	Host    []byte // name, or the address where the log has no name
	DB      []byte // its default database; of an earlier entry where this one names none (see Inherited)
	// the statement without the ; and the line break at its end, perhaps empty; of an administrator command its name:
	// Quit
	SQL   []byte
	Admin bool // "# administrator command: …"
	HasID bool // Thread is known
	// one an attribute at most, in the order of the log, then QueryLength, which counts "administrator command: " in
	Figures []Figure
	// Inherited tells that DB or At came from an earlier entry.
	InheritedDB, InheritedAt bool
	// Rate is how many statements the entry stands for, ≥ 1: Percona Server logs one of Rate with log_slow_rate_limit,
	// chosen by query or by session. Counts and sums are multiplied by it.
	Rate   uint32
	Errno  uint32 // Last_errno of Percona Server, Errno of MySQL's log_slow_extra; 0 = none or not logged
	Killed uint32 // Killed: the error by which it was killed; 0 = was not, or not logged
	Plan   []byte // MariaDB's "# explain:" lines, as they are; nil = none
}

// Began returns when the statement began, microseconds since 1970 in UTC; 0 = the log has not said yet. Where the log
// tells whole seconds it is as coarse.
func (e *Entry) Began() int64 {
	if e.AtBegin || e.At == 0 {
		return e.At
	}
	for i := range e.Figures {
		if e.Figures[i].Attribute == QueryTime {
			return e.At - int64(e.Figures[i].Value*1e6)
		}
	}
	return e.At
}

// Skip is a part of a log that could not be read.
type Skip struct {
	File   string `json:"file,omitzero"`
	Offset int64  `json:"offset"` // bytes from the beginning of the (decompressed) log
	Length int64  `json:"length"`
	Reason string `json:"reason"`
}
