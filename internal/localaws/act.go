package localaws

import (
	"net/http"
	"time"

	"millrace/internal/localaws/queue"
)

// serveWithFaults lets a call take effect, or what a fault makes of it.
func (e *Engine) serveWithFaults(w http.ResponseWriter, r *http.Request, call Call, op operation) {
	var fault Fault
	if e.faults.any() {
		fault = e.faults.choose(e.options.Seed, call)
	}
	fail := func(err *apiError) {
		e.tally.end(call, err.code, usage{})
		e.answer(w, nil, err)
	}
	switch fault.Do {
	case Throttle:
		fail(throttled(call, op))
	case Deny:
		fail(refuse("AccessDeniedException", "User: %s is not authorized to perform: %s", call.App, call.Operation))
	case Conflict:
		fail(conflicting(op))
	case FailBefore:
		fail(internalError())
	case FailAfter:
		_, _ = e.execute(call, op, 0) // the effect counts, its answer is lost
		e.answer(w, nil, internalError())
	case LoseAnswer:
		_, _ = e.execute(call, op, 0) // the effect counts, its answer is lost
		panic(http.ErrAbortHandler)
	case TimeOut:
		e.tally.end(call, outcomeLost, usage{})
		e.hold(r, nil)
		panic(http.ErrAbortHandler)
	case LandLate:
		landed := e.land(call, op, fault.Delay)
		if fault.Hold {
			e.hold(r, landed)
		}
		panic(http.ErrAbortHandler)
	case Slow:
		e.pause(fault.Delay)
		out, err := e.execute(call, op, 0)
		e.answer(w, out, err)
	default:
		out, err := e.execute(call, op, fault.Do)
		e.answer(w, out, err)
	}
}

// pause lets a call take its time; the end of the engine cuts it short.
func (e *Engine) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.closing:
	}
}

// hold keeps a caller waiting until its context ends, the channel is closed or
// the engine is closed.
func (e *Engine) hold(r *http.Request, until <-chan struct{}) {
	select {
	case <-r.Context().Done():
	case <-until:
	case <-e.closing:
	}
}

// land executes a call after a delay in a goroutine that Close waits for. The
// caller's handler is still counted in, so the engine cannot be done waiting.
func (e *Engine) land(call Call, op operation, delay time.Duration) <-chan struct{} {
	landed := make(chan struct{})
	call.gone = nil // the call outlives its caller
	e.work.Add(1)
	go func() {
		defer e.work.Done()
		defer close(landed)
		<-time.After(delay)           // Close waits for it
		_, _ = e.execute(call, op, 0) // nobody waits for the answer any more
	}()
	return landed
}

// transaction is an operation of several items that fails as a whole.
type transaction interface{ size() int }

func throttled(call Call, op operation) *apiError {
	if t, ok := op.(transaction); ok {
		return cancelledBy(t, "ThrottlingError", "Throughput exceeds the current capacity of your table")
	}
	switch {
	case call.Operation == "GetRecords":
		return refuse("LimitExceededException", "Rate exceeded for shard")
	case call.Service == SQS:
		return queueError(&queue.Error{Code: "RequestThrottled", Message: "Rate exceeded"})
	case call.Service == Streams || !touchesItems(call.Operation):
		return refuse("ThrottlingException", "Rate exceeded")
	default:
		return refuse("ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded")
	}
}

func touchesItems(operation string) bool {
	switch operation {
	case "GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "BatchGetItem", "BatchWriteItem":
		return true
	}
	return false
}

func conflicting(op operation) *apiError {
	const message = "Transaction is ongoing for the item"
	if t, ok := op.(transaction); ok {
		return cancelledBy(t, "TransactionConflict", message)
	}
	return refuse("TransactionConflictException", message)
}

func cancelledBy(t transaction, code, message string) *apiError {
	reasons := make([]cancellation, t.size())
	for i := range reasons {
		reasons[i] = cancellation{code: code, message: message}
	}
	return cancelled(reasons)
}
