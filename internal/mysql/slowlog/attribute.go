package slowlog

// Unit tells what an attribute's numbers mean.
type Unit uint8

const (
	Count   Unit = iota // a number of things
	Seconds             // wall-clock or other time
	Bytes
	Flag // Yes or No: 1 or 0
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

// Info describes an attribute.
type Info struct {
	Name  string // as servers and pt-query-digest write it: Query_time
	Key   string // in Dyno's JSON: query_time
	Label string // in the report, at most 12 letters: Exec time
	Unit  Unit
}

// infos is indexed by Attribute. Names are of Percona Server's "Slow Query Log" page, MySQL's log_slow_extra and
// MariaDB's log_slow_verbosity; labels of well-known ones are pt-query-digest's.
var infos = [knownAttributes]Info{
	QueryTime:           {"Query_time", "query_time", "Exec time", Seconds},
	LockTime:            {"Lock_time", "lock_time", "Lock time", Seconds},
	RowsSent:            {"Rows_sent", "rows_sent", "Rows sent", Count},
	RowsExamined:        {"Rows_examined", "rows_examined", "Rows examine", Count},
	RowsAffected:        {"Rows_affected", "rows_affected", "Rows affecte", Count},
	BytesSent:           {"Bytes_sent", "bytes_sent", "Bytes sent", Bytes},
	QueryLength:         {"Query_length", "query_length", "Query size", Bytes},
	RowsRead:            {"Rows_read", "rows_read", "Rows read", Count},
	TmpTables:           {"Tmp_tables", "tmp_tables", "Tmp tables", Count},
	TmpDiskTables:       {"Tmp_disk_tables", "tmp_disk_tables", "Tmp disk tbl", Count},
	TmpTableSizes:       {"Tmp_table_sizes", "tmp_table_sizes", "Tmp tbl size", Bytes},
	MergePasses:         {"Merge_passes", "merge_passes", "Merge passes", Count},
	FullScan:            {"Full_scan", "full_scan", "Full scan", Flag},
	FullJoin:            {"Full_join", "full_join", "Full join", Flag},
	TmpTable:            {"Tmp_table", "tmp_table", "Tmp table", Flag},
	TmpTableOnDisk:      {"Tmp_table_on_disk", "tmp_table_on_disk", "Tmp table on", Flag},
	Filesort:            {"Filesort", "filesort", "Filesort", Flag},
	FilesortOnDisk:      {"Filesort_on_disk", "filesort_on_disk", "Filesort on", Flag},
	QCHit:               {"QC_Hit", "qc_hit", "QC hit", Flag},
	PriorityQueue:       {"Priority_queue", "priority_queue", "Priority que", Flag},
	InnoDBIOReadOps:     {"InnoDB_IO_r_ops", "innodb_io_r_ops", "IO r ops", Count},
	InnoDBIOReadBytes:   {"InnoDB_IO_r_bytes", "innodb_io_r_bytes", "IO r bytes", Bytes},
	InnoDBIOReadWait:    {"InnoDB_IO_r_wait", "innodb_io_r_wait", "IO r wait", Seconds},
	InnoDBRecLockWait:   {"InnoDB_rec_lock_wait", "innodb_rec_lock_wait", "rec lock wai", Seconds},
	InnoDBQueueWait:     {"InnoDB_queue_wait", "innodb_queue_wait", "queue wait", Seconds},
	InnoDBPagesDistinct: {"InnoDB_pages_distinct", "innodb_pages_distinct", "pages distin", Count},
	PagesAccessed:       {"Pages_accessed", "pages_accessed", "Pages access", Count},
	PagesRead:           {"Pages_read", "pages_read", "Pages read", Count},
	PagesUpdated:        {"Pages_updated", "pages_updated", "Pages update", Count},
	PagesPrefetched:     {"Pages_prefetched", "pages_prefetched", "Pages prefet", Count},
	PagesOldRowsRead:    {"Old_rows_read", "old_rows_read", "Old rows rea", Count},
	PagesReadTime:       {"Pages_read_time", "pages_read_time", "Pages read t", Seconds},
	EngineTime:          {"Engine_time", "engine_time", "Engine time", Seconds},
	BytesReceived:       {"Bytes_received", "bytes_received", "Bytes receiv", Bytes},
	ReadFirst:           {"Read_first", "read_first", "Read first", Count},
	ReadLast:            {"Read_last", "read_last", "Read last", Count},
	ReadKey:             {"Read_key", "read_key", "Read key", Count},
	ReadNext:            {"Read_next", "read_next", "Read next", Count},
	ReadPrev:            {"Read_prev", "read_prev", "Read prev", Count},
	ReadRnd:             {"Read_rnd", "read_rnd", "Read rnd", Count},
	ReadRndNext:         {"Read_rnd_next", "read_rnd_next", "Read rnd nex", Count},
	SortMergePasses:     {"Sort_merge_passes", "sort_merge_passes", "Sort merge p", Count},
	SortRangeCount:      {"Sort_range_count", "sort_range_count", "Sort range c", Count},
	SortRows:            {"Sort_rows", "sort_rows", "Sort rows", Count},
	SortScanCount:       {"Sort_scan_count", "sort_scan_count", "Sort scan co", Count},
	CPUTime:             {"CPU_time", "cpu_time", "CPU time", Seconds},
	Errors:              {"Errors", "errors", "Errors", Count},
	Warnings:            {"Warnings", "warnings", "Warnings", Count},
}

// Known returns what is known of an attribute that is the same in every log, and whether a is one.
func Known(a Attribute) (Info, bool) {
	if int(a) >= len(infos) {
		return Info{}, false
	}
	return infos[a], true
}
