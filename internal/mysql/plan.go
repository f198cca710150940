package mysql

import "github.com/dyno-perf/dyno/internal/plan"

// PlanWords returns what plans of experiments say of servers of the family.
func (Family) PlanWords() plan.Words {
	return plan.Words{
		Setting: plan.Example{Name: "innodb_buffer_pool_size", Value: "1G"},
		Set:     plan.Example{Name: "max_connections", Value: "200"},
		Vary:    "sync_binlog", Engine: "InnoDB", PageSize: "innodb_page_size", IgnoreErrors: "mysql_ignore_errors",
	}
}
