package sqlshape

import "testing"

func TestExplainable(t *testing.T) {
	f := func(sql string, want bool) {
		t.Helper()
		if err := Explainable(sql); (err == nil) != want {
			t.Errorf("%s: got %v", sql, err)
		}
	}
	f("select a from t where b = 1 and date(c) = '2020-01-01' order by lower(a) limit 1", true)
	f("select count(*), row_number() over (order by a) from t for update", true)
	f("update t set a = concat(a, 'x') where b = 1", true)
	f("delete from t where a in (1, 2)", true)
	f("select a from t union select b from u", true)
	f("select a from t where b in (select c from u where d = 1)", true)
	f("select * from t where a = my_func(3)", false)
	f("select db.f(1)", false)
	f("select * from t where a in (select f2(x) from u)", false)
	f("select sleep(10)", false)
	f("select get_lock('x', 1)", false)
	f("select load_file('/etc/passwd')", false)
	f("select benchmark(1000000, md5('x'))", false)
	f("select nextval(s)", false)
	f("select a from t into outfile '/tmp/x'", false)
	f("select a into @x from t", false)
	f("select @x := 1", false)
	f("select @x", true)
	f("select 1; drop table t", false)
	f("insert into t values (1)", false)
	f("drop table t", false)
	f("explain select 1", false)
	f("call p()", false)
	f("select /*!50000 sleep(5), */ a from t", false)
	f("select /*M! sleep(5), */ a from t", false)
	// The parser reads what is in these, no server does.
	f("select 1 /*T! , ' */ from evil.v where ' , ' /* ' */", false)
	f("select 1 /*T![auto_rand] , ' */ from evil.v where ' , ' /* ' */", false)
	f("select '", false)
	f("select a from t where b = ?", true) // a marker is no harm; the server will refuse it
	// Names that only the parser has, or that a server has in another form: each may be a stored function.
	f("select insert(a, 1, 2, 'x'), char(65), cast(a as char(3)) from t where b in (1) and (c = 2)", true)
	f("select insert_func(a, 'b') from t", false)
	f("select char_func(65)", false)
	f("select approx_count_distinct(a) from t", false)
	f("select `now`() from t", false)
	f("select d.now() from t", false)
	f("select d . now() from t", false)
	f("select `d`.`now` () from t", false)
	f("with x (a) as (select 1) select a from x", false)
	f("select /*+ INDEX(t k) */ a from t", true)
	f("select /*+ SET_VAR(sort_buffer_size = 1) */ a from t", false)
	f("select /*+ max_execution_time(0) */ a from t", false)
	f("select 'a\x01'", false)
	f("select '\xff'", false)
}
