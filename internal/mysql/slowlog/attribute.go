package slowlog

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/attribute"
)

// Attribute is one figure that a server writes for a statement. The first knownAttributes are the same in every log; a
// Parser numbers others from there on as it meets them, see Parser.Info.
type Attribute uint16

// The attributes by which statements are judged most. The manuals' names stand in Info.Name.
const (
	QueryTime Attribute = iota
	LockTime
	RowsSent
	RowsExamined
	RowsAffected
	BytesSent
	QueryLength // of the statement's text, bytes; not written by the server but counted by the parser
	RowsRead
	TmpTables
	TmpDiskTables
	TmpTableSizes
	MergePasses
	FullScan
	FullJoin
	TmpTable
	TmpTableOnDisk
	Filesort
	FilesortOnDisk
	QCHit
	PriorityQueue
	InnoDBIOReadOps
	InnoDBIOReadBytes
	InnoDBIOReadWait
	InnoDBRecLockWait
	InnoDBQueueWait
	InnoDBPagesDistinct
	PagesAccessed
	PagesRead
	PagesUpdated
	PagesPrefetched
	PagesOldRowsRead
	PagesReadTime
	EngineTime
	BytesReceived
	ReadFirst
	ReadLast
	ReadKey
	ReadNext
	ReadPrev
	ReadRnd
	ReadRndNext
	SortMergePasses
	SortRangeCount
	SortRows
	SortScanCount
	CPUTime // performance_schema only: SUM_CPU_TIME
	Errors
	Warnings

	knownAttributes // how many there are
)

// infos is indexed by Attribute. Names are of Percona Server's "Slow Query Log" page, MySQL's log_slow_extra and
// MariaDB's log_slow_verbosity; labels of well-known ones are pt-query-digest's.
var infos = [knownAttributes]attribute.Info{
	QueryTime:           attribute.QueryTime,
	LockTime:            attribute.LockTime,
	RowsSent:            attribute.RowsSent,
	RowsExamined:        attribute.RowsExamined,
	RowsAffected:        attribute.RowsAffected,
	BytesSent:           attribute.New("Bytes_sent", "Bytes sent", attribute.Bytes),
	QueryLength:         {Name: "Query_length", Key: "query_length", Label: "Query size", Unit: attribute.Bytes},
	RowsRead:            attribute.New("Rows_read", "Rows read", attribute.Count),
	TmpTables:           attribute.New("Tmp_tables", "Tmp tables", attribute.Count),
	TmpDiskTables:       attribute.New("Tmp_disk_tables", "Tmp disk tbl", attribute.Count),
	TmpTableSizes:       attribute.New("Tmp_table_sizes", "Tmp tbl size", attribute.Bytes),
	MergePasses:         attribute.New("Merge_passes", "Merge passes", attribute.Count),
	FullScan:            attribute.New("Full_scan", "Full scan", attribute.Flag),
	FullJoin:            attribute.New("Full_join", "Full join", attribute.Flag),
	TmpTable:            attribute.New("Tmp_table", "Tmp table", attribute.Flag),
	TmpTableOnDisk:      attribute.New("Tmp_table_on_disk", "Tmp table on", attribute.Flag),
	Filesort:            attribute.New("Filesort", "Filesort", attribute.Flag),
	FilesortOnDisk:      attribute.New("Filesort_on_disk", "Filesort on", attribute.Flag),
	QCHit:               attribute.New("QC_Hit", "QC hit", attribute.Flag),
	PriorityQueue:       attribute.New("Priority_queue", "Priority que", attribute.Flag),
	InnoDBIOReadOps:     ofEngine("InnoDB_IO_r_ops", "IO r ops", attribute.Count),
	InnoDBIOReadBytes:   ofEngine("InnoDB_IO_r_bytes", "IO r bytes", attribute.Bytes),
	InnoDBIOReadWait:    ofEngine("InnoDB_IO_r_wait", "IO r wait", attribute.Seconds),
	InnoDBRecLockWait:   ofEngine("InnoDB_rec_lock_wait", "rec lock wai", attribute.Seconds),
	InnoDBQueueWait:     ofEngine("InnoDB_queue_wait", "queue wait", attribute.Seconds),
	InnoDBPagesDistinct: ofEngine("InnoDB_pages_distinct", "pages distin", attribute.Count),
	PagesAccessed:       attribute.PagesAccessed,
	PagesRead:           attribute.PagesRead,
	PagesUpdated:        attribute.New("Pages_updated", "Pages update", attribute.Count),
	PagesPrefetched:     attribute.New("Pages_prefetched", "Pages prefet", attribute.Count),
	PagesOldRowsRead:    attribute.New("Old_rows_read", "Old rows rea", attribute.Count),
	PagesReadTime:       attribute.New("Pages_read_time", "Pages read t", attribute.Seconds),
	EngineTime:          attribute.New("Engine_time", "Engine time", attribute.Seconds),
	BytesReceived:       attribute.New("Bytes_received", "Bytes receiv", attribute.Bytes),
	ReadFirst:           attribute.New("Read_first", "Read first", attribute.Count),
	ReadLast:            attribute.New("Read_last", "Read last", attribute.Count),
	ReadKey:             attribute.New("Read_key", "Read key", attribute.Count),
	ReadNext:            attribute.New("Read_next", "Read next", attribute.Count),
	ReadPrev:            attribute.New("Read_prev", "Read prev", attribute.Count),
	ReadRnd:             attribute.New("Read_rnd", "Read rnd", attribute.Count),
	ReadRndNext:         attribute.New("Read_rnd_next", "Read rnd nex", attribute.Count),
	SortMergePasses:     attribute.New("Sort_merge_passes", "Sort merge p", attribute.Count),
	SortRangeCount:      attribute.New("Sort_range_count", "Sort range c", attribute.Count),
	SortRows:            attribute.New("Sort_rows", "Sort rows", attribute.Count),
	SortScanCount:       attribute.New("Sort_scan_count", "Sort scan co", attribute.Count),
	CPUTime:             attribute.CPUTime,
	Errors:              attribute.Errors,
	Warnings:            attribute.New("Warnings", "Warnings", attribute.Count),
}

// Known returns what is known of an attribute that is the same in every log, and whether a is one.
func Known(a Attribute) (attribute.Info, bool) {
	if int(a) >= len(infos) {
		return attribute.Info{}, false
	}
	return infos[a], true
}

// Attributes lists the attributes that are the same in every log, by Attribute. The slice is the caller's.
func Attributes() []attribute.Info { return append([]attribute.Info(nil), infos[:]...) }

// engine is the group of the attributes that Percona Server has of its storage engine, and begins their names.
const engine = "InnoDB"

func ofEngine(name, label string, u attribute.Unit) attribute.Info {
	i := attribute.New(name, label, u)
	i.Group = engine
	return i
}

// Described completes what a log or a state tells of an attribute: its name, key, label and unit.
func Described(i attribute.Info) attribute.Info {
	for _, k := range infos {
		if k.Key == i.Key && k.Unit == i.Unit {
			return k
		}
	}
	if strings.HasPrefix(i.Key, "innodb_") {
		i.Group = engine
	}
	return i
}
