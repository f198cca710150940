package loader

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// askNumbers returns the n whole numbers of a statement's only row, nil when there is none.
func askNumbers(ctx context.Context, s *target.Session, sql string, n int) (list []int, err error) {
	_, qerr := s.Query(ctx, sql, func(row []driver.Value) {
		list = make([]int, n)
		for i := range list {
			if list[i], err = strconv.Atoi(fmt.Sprint(plain(row[i]))); err != nil {
				err = fmt.Errorf("%s: %w", sql, err)
				return
			}
		}
	})
	if qerr != nil {
		return nil, qerr
	}
	return list, err
}

// askNumber returns the only value of a statement.
func askNumber(ctx context.Context, s *target.Session, sql string) (int, error) {
	list, err := askNumbers(ctx, s, sql, 1)
	if err != nil || list == nil {
		return 0, err
	}
	return list[0], nil
}

// plain turns the texts of the driver into strings.
func plain(v driver.Value) driver.Value {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return v
}

var counter = lazyregexp.New(` AUTO_INCREMENT=\d+`)

// showCreate returns how the server describes a table, without the state of its counter.
func showCreate(ctx context.Context, s *target.Session, table string) (text string, err error) {
	_, err = s.Query(ctx, "SHOW CREATE TABLE "+ddl.Quote(table), func(row []driver.Value) {
		text = fmt.Sprint(plain(row[1]))
	})
	if err != nil {
		return "", fmt.Errorf("show create table %s: %w", table, err)
	}
	return counter.ReplaceAllString(text, ""), nil
}
