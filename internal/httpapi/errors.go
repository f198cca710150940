package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/compare"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/service"
	"github.com/dyno-perf/dyno/internal/store/access"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/internal/store/trials"
	"github.com/dyno-perf/dyno/internal/task"
)

// Errors that say how a request is answered, beside those of the services: see status.
var (
	// errNotFound is the answer to a target, class or moment that is not known.
	errNotFound = errors.New("not found")
	// errUnavailable is the answer while something cannot be told now and may be later.
	errUnavailable = errors.New("not available now")
	// errBadRequest is the answer to what the caller asked wrongly.
	errBadRequest = errors.New("bad request")
	// errConflict is the answer to what does not fit to how things are now, such as a preview that is no longer true.
	errConflict = errors.New("conflict with the present state")
	// errForbidden is the answer to what the caller may not do.
	errForbidden = errors.New("forbidden")
)

// answer is an error with the words of one and the status of another.
type answer struct{ err, kind error }

func (a answer) Error() string   { return a.err.Error() }
func (a answer) Unwrap() []error { return []error{a.err, a.kind} }

// status says how an error is answered: the status, the word for it, and what stands before its own text.
func status(ctx context.Context, err error) (code int, typ, before string) {
	var (
		query   *series.QueryError
		tooLong *http.MaxBytesError
		pause   *access.PauseError
		unknown *app.UnknownTargetError
		finding *app.UnknownFindingError
		panel   *service.UnknownPanelError
		blocked *change.BlockedError
		server  *endpoint.Error
		window  *service.WindowError
	)
	is := func(all ...error) bool {
		return slices.ContainsFunc(all, func(e error) bool { return errors.Is(err, e) })
	}
	switch kind := app.KindOf(err); {
	case errors.As(err, &query):
		return queryStatus(query.Type), string(query.Type), ""
	case errors.As(err, &pause):
		return http.StatusTooManyRequests, "too_many", ""
	case is(errForbidden):
		return http.StatusForbidden, "forbidden", ""
	case is(access.ErrWrong, access.ErrFirst):
		return http.StatusUnauthorized, "unauthorized", ""

	case is(errNotFound, lab.ErrNoRecord, service.ErrNoSamples, access.ErrNotFound):
		return http.StatusNotFound, "not_found", ""
	case is(history.ErrNotFound, ledger.ErrNotFound, sandbox.ErrNotFound, sandbox.ErrBadName),
		errors.As(err, &unknown), errors.As(err, &finding):
		return http.StatusNotFound, "not_found", errNotFound.Error() + ": "

	case errors.As(err, &tooLong):
		return http.StatusRequestEntityTooLarge, "bad_data", ""
	case is(errBadRequest, lab.ErrOptions, access.ErrInvalid), errors.As(err, &window):
		return http.StatusBadRequest, "bad_data", ""

	case is(errConflict, task.ErrBusy, compare.ErrSets, trials.ErrBusy, trials.ErrChanged, trials.ErrCorrupt,
		trials.ErrNewer, access.ErrExists, access.ErrLastOperator):
		return http.StatusConflict, "conflict", ""
	case is(service.ErrPreviewChanged, service.ErrNothingToProve, change.ErrNotThatSession, app.ErrTargetExists,
		service.ErrFixedRetention),
		errors.As(err, &blocked):
		return http.StatusConflict, "conflict", errConflict.Error() + ": "

	case is(service.ErrBadRetention, service.ErrGraphSize, service.ErrIgnoreFor), errors.As(err, &panel),
		kind == endpoint.BadTarget, kind == endpoint.Unsupported:
		return http.StatusBadRequest, "bad_data", errBadRequest.Error() + ": "

	case is(errUnavailable, access.ErrBusyLogins):
		return http.StatusServiceUnavailable, "unavailable", ""
	case is(context.Canceled) && ctx.Err() != nil:
		return clientGone, "canceled", ""
	case is(context.DeadlineExceeded):
		return http.StatusServiceUnavailable, "timeout", ""
	case errors.As(err, &server) && app.HintOf(err) != "": // the server did not answer, or not as it should
		return http.StatusServiceUnavailable, "unavailable", errUnavailable.Error() + ": "
	}
	return http.StatusInternalServerError, "internal", ""
}

// fail answers with an error.
func (v *gate) fail(w http.ResponseWriter, r *http.Request, err error) {
	if v.access.Owns(err) { // where it is and what the disk says is for the log
		v.closed(w, r, err)
		return
	}
	code, typ, before := status(r.Context(), err)
	if code == http.StatusInternalServerError {
		v.log.Error("cannot answer", "path", r.URL.Path, "err", err)
	}
	if pause := (*access.PauseError)(nil); errors.As(err, &pause) {
		w.Header().Set("Retry-After", strconv.Itoa(pause.Seconds()))
	}
	respondJSON(w, code, problem{"error", typ, before + err.Error(), app.HintOf(err)})
}

func queryStatus(t series.ErrorType) int {
	switch t {
	case series.BadData:
		return http.StatusBadRequest
	case series.Execution:
		return http.StatusUnprocessableEntity
	case series.Timeout, series.Unavailable:
		return http.StatusServiceUnavailable
	case series.Canceled:
		return clientGone
	case series.Internal:
	}
	return http.StatusInternalServerError
}
