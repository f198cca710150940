// Package tpcc is a load like that of the TPC Benchmark C: the nine tables and five transactions of a wholesaler who takes orders,
// payments and questions on the telephone, delivers, and looks after the stock.
//
// Sources: the TPC-C specification, revision 5.11 (https://www.tpc.org/tpc_documents_current_versions/pdf/tpc-c_v5.11.0.pdf), whose
// clauses the comments name, for population, transactions and conditions; sysbench-tpcc (https://github.com/Percona-Lab/sysbench-tpcc)
// for the names, types and keys of the tables, so that each runs on the other's data. Figures are no TPC results and not comparable
// with any.
//
// What differs from sysbench-tpcc, on purpose: 45/43/4/4/4 in place of 10/10/1/1/1 of 23; remote payments and lines go to other
// warehouses, and a payment finds its customer there; the stock's s_ytd, s_order_cnt and s_remote_cnt and the customer's c_payment_cnt are
// kept; amounts have cents, and are added up as decimals by the server; a stock is filled up below 10, not at the quantity ordered. Its
// options trx_level (the server's own isolation level holds), enable_purge, report_csv, splittable and pgsql_schema are not there.
package tpcc
