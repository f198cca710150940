// Package tpcc is a workload like that of the TPC Benchmark C: the nine tables and five
// transactions of a wholesaler who takes orders, payments and questions by telephone, delivers, and
// checks the stock. Its figures are not TPC results and not comparable with any.
//
// Sources: the TPC-C specification, revision 5.11
// (https://www.tpc.org/tpc_documents_current_versions/pdf/tpc-c_v5.11.0.pdf), whose clauses the
// comments name, for population, transactions and conditions; sysbench-tpcc
// (https://github.com/Percona-Lab/sysbench-tpcc) for the names, types and keys of the tables, so
// that each program runs on the other's data.
//
// Intended differences from sysbench-tpcc: 45/43/4/4/4 instead of 10/10/1/1/1 of 23; remote
// payments and lines go to other warehouses, and a payment finds its customer there; the stock's
// s_ytd, s_order_cnt and s_remote_cnt and the customer's c_payment_cnt are maintained; amounts have
// cents, and the server adds them up as decimals; a stock is refilled below 10, not at the quantity
// ordered. Its options trx_level (the server's own isolation level applies), enable_purge,
// report_csv, splittable and pgsql_schema do not exist here.
package tpcc
