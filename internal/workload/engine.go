package workload

// EngineOption is what sysbench calls the storage engine of the tables. Only MySQL's dialect has engines.
const EngineOption = "mysql-storage-engine"

// Engine returns that option with sysbench's default.
func Engine() Option {
	return Option{Name: EngineOption, Type: Text, Default: "innodb", Help: "storage engine of the tables"}
}

// WithTableOptions ends a CREATE TABLE with the engine, and with the text of the option of that name.
func (v Values) WithTableOptions(create, name string) string {
	if e := v.Text(EngineOption); e != "" {
		create += " ENGINE=" + e
	}
	if o := v.Text(name); o != "" {
		create += " " + o
	}
	return create
}
