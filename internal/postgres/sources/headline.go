package sources

import (
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/state"
)

// Headline says what the headline metrics of PostgreSQL's servers are made of. It has no figure for slow statements,
// free and dirty pages of its buffers, a history of row versions, past waits for rows and bytes from and to clients;
// and of the time of statements Dyno's own part is not known, which would be most of it on a quiet server.
var Headline = state.NewNames(map[metric.Ref][]state.Part{
	{Name: "dyno_client_statements_total"}:        {state.PartStatements},
	{Name: "dyno_client_transactions_total"}:      {state.PartTransactions},
	{Name: "dyno_sessions_running"}:               {state.PartRunning},
	{Name: "dyno_sessions"}:                       {state.PartConnected},
	{Name: "pg_stat_database_tup_returned"}:       {state.PartRowsRead},
	{Name: "pg_stat_database_tup_inserted"}:       {state.PartRowsInserted},
	{Name: "pg_stat_database_tup_updated"}:        {state.PartRowsUpdated},
	{Name: "pg_stat_database_tup_deleted"}:        {state.PartRowsDeleted},
	{Name: "pg_stat_database_blks_read"}:          {state.PartPoolMisses, state.PartPoolRequests},
	{Name: "pg_stat_database_blks_hit"}:           {state.PartPoolRequests},
	{Name: "pg_stat_database_temp_files"}:         {state.PartTmpDisk},
	{Name: "pg_stat_database_sessions_abandoned"}: {state.PartAbortedClients},
	{Name: "pg_stat_database_sessions_fatal"}:     {state.PartAbortedClients},
	{Name: "pg_stat_database_sessions_killed"}:    {state.PartAbortedClients},
	{Name: "pg_stat_wal_bytes_total"}:             {state.PartLogWritten},
	{Name: "dyno_checkpoint_age_bytes"}:           {state.PartCheckpointAge},
	{Name: "dyno_row_lock_waiters"}:               {state.PartRowLockWaiting},
	{Name: "dyno_uptime_seconds"}:                 {state.PartUptime},
}, nil)
