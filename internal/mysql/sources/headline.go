package sources

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/state"
)

// headlineParts are the samples that headline metrics are made of.
var headlineParts = map[metric.Ref][]state.Part{
	{Name: status + "questions"}:                                              {state.PartStatements},
	figures.Commands.Ref("commit"):                                            {state.PartCommits},
	figures.Commands.Ref("rollback"):                                          {state.PartRollbacks},
	{Name: "mysql_perf_schema_events_statements_total"}:                       {state.PartTimed},
	{Name: "mysql_perf_schema_events_statements_seconds_total"}:               {state.PartTime},
	{Name: status + "threads_running"}:                                        {state.PartRunning},
	{Name: status + "threads_connected"}:                                      {state.PartConnected},
	{Name: status + "slow_queries"}:                                           {state.PartSlow},
	figures.RowOps.Ref("read"):                                                {state.PartRowsRead},
	figures.RowOps.Ref("inserted"):                                            {state.PartRowsInserted},
	figures.RowOps.Ref("updated"):                                             {state.PartRowsUpdated},
	figures.RowOps.Ref("deleted"):                                             {state.PartRowsDeleted},
	figures.Handlers.Ref("read_first"):                                        {state.PartReads},
	figures.Handlers.Ref("read_key"):                                          {state.PartReads},
	figures.Handlers.Ref("read_last"):                                         {state.PartReads},
	figures.Handlers.Ref("read_next"):                                         {state.PartReads},
	figures.Handlers.Ref("read_prev"):                                         {state.PartReads},
	figures.Handlers.Ref("read_rnd"):                                          {state.PartReads},
	figures.Handlers.Ref("read_rnd_next"):                                     {state.PartReads},
	figures.Handlers.Ref("write"):                                             {state.PartWrites},
	figures.Handlers.Ref("update"):                                            {state.PartUpdates},
	figures.Handlers.Ref("delete"):                                            {state.PartDeletes},
	{Name: status + "innodb_buffer_pool_reads"}:                               {state.PartPoolMisses},
	{Name: status + "innodb_buffer_pool_read_requests"}:                       {state.PartPoolRequests},
	{Name: figures.PoolDirtyPages}:                                            {state.PartPagesDirty},
	{Name: figures.PoolPages, By: metric.Label{Name: "state", Value: "free"}}: {state.PartPagesFree},
	{Name: status + "innodb_buffer_pool_pages_total"}:                         {state.PartPagesTotal},
	{Name: status + "innodb_os_log_written"}:                                  {state.PartLogWritten},
	{Name: status + "innodb_checkpoint_age"}:                                  {state.PartCheckpointAge},
	{Name: status + "innodb_redo_log_current_lsn"}:                            {state.PartLogEnd},
	{Name: status + "innodb_redo_log_checkpoint_lsn"}:                         {state.PartLogCheckpoint},
	{Name: status + "innodb_history_list_length"}:                             {state.PartHistory},
	{Name: status + "innodb_row_lock_waits"}:                                  {state.PartRowLockWaits},
	{Name: status + "innodb_row_lock_current_waits"}:                          {state.PartRowLockWaiting},
	{Name: status + "created_tmp_disk_tables"}:                                {state.PartTmpDisk},
	{Name: status + "bytes_received"}:                                         {state.PartReceived},
	{Name: status + "bytes_sent"}:                                             {state.PartSent},
	{Name: status + "aborted_clients"}:                                        {state.PartAbortedClients},
	{Name: status + "aborted_connects"}:                                       {state.PartAbortedLogins},
	{Name: status + "uptime"}:                                                 {state.PartUptime},
	{Name: "mysql_slave_status_seconds_behind_master"}:                        {state.PartLag},
	// INNODB_METRICS, where the status lacks them.
	{Name: "mysql_info_schema_innodb_metrics_transaction_trx_rseg_history_len"}:      {state.PartHistoryElse},
	{Name: "mysql_info_schema_innodb_metrics_log_log_lsn_checkpoint_age"}:            {state.PartCheckpointAgeElse},
	{Name: "mysql_info_schema_innodb_metrics_log_log_lsn_checkpoint_age_total"}:      {state.PartCheckpointAgeElse},
	{Name: "mysql_info_schema_innodb_metrics_recovery_log_lsn_checkpoint_age"}:       {state.PartCheckpointAgeElse},
	{Name: "mysql_info_schema_innodb_metrics_recovery_log_lsn_checkpoint_age_total"}: {state.PartCheckpointAgeElse},
}

// Headline says what the headline metrics of MySQL's and MariaDB's servers are made of.
var Headline = state.NewNames(headlineParts, func() map[string]metric.Ref {
	clients := map[string]metric.Ref{} // by the name of the status variable, in lower case
	for ref := range headlineParts {
		clients[strings.TrimPrefix(ref.Name, status)] = ref
		for _, f := range []metric.Family{figures.Commands, figures.Handlers, figures.RowOps} {
			if f.Name == ref.Name {
				clients[f.Prefix+ref.By.Value] = ref
			}
		}
	}
	return clients
}())
