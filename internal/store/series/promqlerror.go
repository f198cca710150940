package series

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/prometheus/promql"
)

// ErrorType is the word that Prometheus' API has for what went wrong, its errorType.
type ErrorType string

// The types of errors of queries.
const (
	BadData     ErrorType = "bad_data"  // the question is wrong
	Execution   ErrorType = "execution" // it cannot be answered: labels that do not match one to one, too many samples
	Timeout     ErrorType = "timeout"
	Canceled    ErrorType = "canceled" // the caller went away
	Internal    ErrorType = "internal" // the store cannot be read
	Unavailable ErrorType = "unavailable"
)

// QueryError is why a query has no answer.
type QueryError struct {
	Type ErrorType
	Err  error
}

func (e *QueryError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *QueryError) Unwrap() error { return e.Err }

// bad is a parameter that cannot be used, in Prometheus' words.
func bad(parameter string, err error) *QueryError {
	return &QueryError{BadData, fmt.Errorf("invalid parameter %q: %w", parameter, err)}
}

// queryError sorts an error of the PromQL engine.
func queryError(err error) *QueryError {
	var (
		known    *QueryError
		canceled promql.ErrQueryCanceled
		late     promql.ErrQueryTimeout
		store    promql.ErrStorage
	)
	switch {
	case errors.As(err, &known), errors.As(err, &store) && errors.As(store.Err, &known):
		return known
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		return &QueryError{Canceled, err}
	case errors.As(err, &late), errors.Is(err, context.DeadlineExceeded):
		return &QueryError{Timeout, err}
	case errors.Is(err, errClosed), errors.As(err, &store) && errors.Is(store.Err, errClosed):
		return &QueryError{Unavailable, err}
	case errors.As(err, &store):
		return &QueryError{Internal, err}
	}
	return &QueryError{Execution, err}
}

// promqlContext words the end of a context as the PromQL engine does.
func promqlContext(ctx context.Context, doing string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return promql.ErrQueryTimeout(doing)
	}
	return promql.ErrQueryCanceled(doing)
}
