package localaws

import (
	"maps"
	"net/http"
	"slices"

	"millrace/internal/localaws/queue"
)

// queueOperation is an empty request of an operation of SQS, nil where there is
// no such operation.
func queueOperation(name string) operation {
	switch name {
	case "CreateQueue":
		return &createQueue{}
	case "GetQueueUrl":
		return &getQueueURL{}
	case "GetQueueAttributes":
		return &getQueueAttributes{}
	case "SetQueueAttributes":
		return &setQueueAttributes{}
	case "ListQueues":
		return &listQueues{}
	case "DeleteQueue":
		return &deleteQueue{}
	case "PurgeQueue":
		return &purgeQueue{}
	case "SendMessage":
		return &sendMessage{}
	case "SendMessageBatch":
		return &sendMessageBatch{}
	case "ReceiveMessage":
		return &receiveMessage{}
	case "DeleteMessage":
		return &deleteMessage{}
	case "DeleteMessageBatch":
		return &deleteMessageBatch{}
	case "ChangeMessageVisibility":
		return &changeVisibility{}
	case "ChangeMessageVisibilityBatch":
		return &changeVisibilityBatch{}
	}
	return nil
}

// endpointOf is the address under which a caller found the engine: queue URLs
// are made of it, since some clients send their calls to the queue's URL.
func endpointOf(r *http.Request) string {
	if r.URL.Host != "" { // in process
		return r.URL.Scheme + "://" + r.URL.Host
	}
	return "http://" + r.Host
}

// onQueue works on a queue under the lock of queues.
func (e *Engine) onQueue(url string, work func(*queue.Queue) error) error {
	e.queueMu.Lock()
	defer e.queueMu.Unlock()
	q, err := e.queues.Resolve(url)
	if err != nil {
		return err
	}
	return work(q)
}

// Messages lists the messages of a queue in the order of arrival, hidden ones
// included, without receiving them; nil when there is no such queue. Their
// attributes are shared: do not change them.
func (e *Engine) Messages(queueName string) []queue.Message {
	e.queueMu.Lock()
	defer e.queueMu.Unlock()
	q, err := e.queues.Find(queueName)
	if err != nil {
		return nil
	}
	return q.Messages(e.now())
}

// Accepted lists every message that a queue ever accepted, in the order of
// arrival, those included that were deleted since; nil when there is no such
// queue, or Options.KeepHistory is not set. Their attributes are shared: do not
// change them.
func (e *Engine) Accepted(queueName string) []queue.Message {
	e.queueMu.Lock()
	defer e.queueMu.Unlock()
	q, err := e.queues.Find(queueName)
	if err != nil {
		return nil
	}
	return q.Accepted()
}

// theQueue is the parameter of all operations on one queue.
type theQueue struct{ QueueUrl string }

func (o *theQueue) name(e *Engine) string {
	name := ""
	_ = e.onQueue(o.QueueUrl, func(q *queue.Queue) error { // a fault in the URL is left for run
		name = q.Name()
		return nil
	})
	return name
}

func (o *theQueue) subject(e *Engine) (string, string) { return o.name(e), "" }

type createQueue struct {
	QueueName  string
	Attributes map[string]string
}

func (o *createQueue) subject(*Engine) (string, string) { return o.QueueName, "" }

func (o *createQueue) run(e *Engine, c *callContext) (*reply, error) {
	e.queueMu.Lock()
	defer e.queueMu.Unlock()
	q, err := e.queues.Create(c.now, o.QueueName, o.Attributes)
	if err != nil {
		return nil, err
	}
	r := newReply()
	r.text("QueueUrl", e.queues.URL(c.endpoint, q))
	return r, nil
}

type getQueueURL struct{ QueueName, QueueOwnerAWSAccountId string }

func (o *getQueueURL) subject(*Engine) (string, string) { return o.QueueName, "" }

func (o *getQueueURL) run(e *Engine, c *callContext) (*reply, error) {
	e.queueMu.Lock()
	defer e.queueMu.Unlock()
	q, err := e.queues.Owned(o.QueueName, o.QueueOwnerAWSAccountId)
	if err != nil {
		return nil, err
	}
	r := newReply()
	r.text("QueueUrl", e.queues.URL(c.endpoint, q))
	return r, nil
}

type getQueueAttributes struct {
	theQueue
	AttributeNames []string
}

func (o *getQueueAttributes) run(e *Engine, c *callContext) (*reply, error) {
	var values map[string]string
	if err := e.onQueue(o.QueueUrl, func(q *queue.Queue) error {
		values = q.Attributes(c.now)
		return nil
	}); err != nil {
		return nil, err
	}
	r := newReply()
	if len(o.AttributeNames) == 0 {
		return r, nil
	}
	if !slices.Contains(o.AttributeNames, "All") {
		for _, name := range o.AttributeNames {
			if !queue.IsAttribute(name) {
				return nil, &queue.Error{Code: queue.InvalidAttributeName, Message: "Unknown Attribute " + name + "."}
			}
		}
		maps.DeleteFunc(values, func(name, _ string) bool { return !slices.Contains(o.AttributeNames, name) })
	}
	r.object("Attributes", func() {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			r.text(name, values[name])
		}
	})
	return r, nil
}

type setQueueAttributes struct {
	theQueue
	Attributes map[string]string
}

func (o *setQueueAttributes) run(e *Engine, c *callContext) (*reply, error) {
	return newReply(), e.onQueue(o.QueueUrl, func(q *queue.Queue) error { return q.Set(c.now, o.Attributes) })
}

type listQueues struct {
	QueueNamePrefix, NextToken string
	MaxResults                 *int
}

func (o *listQueues) subject(*Engine) (string, string) { return "", "" }

func (o *listQueues) run(e *Engine, c *callContext) (*reply, error) {
	most := 1000
	if err := checkRange("MaxResults", o.MaxResults, 1, most); err != nil {
		return nil, err
	}
	if o.MaxResults != nil {
		most = *o.MaxResults
	}
	e.queueMu.Lock()
	defer e.queueMu.Unlock()
	names, more := e.queues.Names(o.QueueNamePrefix, o.NextToken, most)
	urls := make([]string, len(names))
	for i, name := range names {
		q, err := e.queues.Find(name)
		if err != nil {
			return nil, err
		}
		urls[i] = e.queues.URL(c.endpoint, q)
	}
	r := newReply()
	if len(urls) > 0 {
		r.texts("QueueUrls", urls)
	}
	if more && o.MaxResults != nil { // the service gives no token to who asks for no page
		r.text("NextToken", names[len(names)-1])
	}
	return r, nil
}

type deleteQueue struct{ theQueue }

func (o *deleteQueue) run(e *Engine, c *callContext) (*reply, error) {
	return newReply(), e.onQueue(o.QueueUrl, func(q *queue.Queue) error {
		e.queues.Delete(c.now, q)
		return nil
	})
}

type purgeQueue struct{ theQueue }

func (o *purgeQueue) run(e *Engine, c *callContext) (*reply, error) {
	return newReply(), e.onQueue(o.QueueUrl, func(q *queue.Queue) error { return q.Purge(c.now) })
}
