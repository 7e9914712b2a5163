package readmodel

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/projection"
	"millrace/sinks"
)

// Options are the settings of a read model.
type Options struct {
	// Client must not retry by itself: the pipeline does, and counts. Required.
	Client *dynamodb.Client
	// Table is the read model's table. Required.
	Table string
	// Key makes the item's key of the aggregate: the partition key and, where
	// the table has one, the sort key. Required.
	Key []KeyPart
	// Position is the attribute that holds the position. Two sinks that feed
	// one table each have their own. Default lastProcessedVersion. The attribute
	// of the same name with "By" behind it holds the sink's identity.
	Position string
	// Stamp is an attribute that gets the time of each write, in RFC 3339.
	// Compare leaves it out. Default: none.
	Stamp string
	// Identity says whose positions these are. Required, each part of it; the
	// version is at least 1.
	Identity sinks.Identity
	// Projection is the fold. Required. Its attributes are all written in one
	// expression, which DynamoDB limits to 4 KB and 300 operators (Developer
	// Guide, "Constraints in Amazon DynamoDB"): a few hundred attributes. More
	// belong into a map.
	Projection projection.Projection
	// Cache is how many aggregates' items are remembered, so that the next run
	// needs no read. Default 10,000; negative for none.
	Cache int
	// Parallel is how many items one call of Apply writes at a time. Default 64.
	Parallel int
	// Now is the clock of Stamp. Default time.Now.
	Now func() time.Time
	// Jitter draws EnsureTable's waits.
	Jitter event.Jitter
}

const (
	defaultPosition = "lastProcessedVersion"
	defaultCache    = 10_000
	defaultParallel = 64
)

// New makes the sink. It does not call AWS.
func New(o Options) (*Sink, error) {
	if o.Position == "" {
		o.Position = defaultPosition
	}
	if o.Cache == 0 {
		o.Cache = defaultCache
	}
	if o.Parallel <= 0 {
		o.Parallel = defaultParallel
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("setting up read model %s: %w", o.Table, err)
	}
	key, err := parseKey(o.Key)
	if err != nil {
		return nil, fmt.Errorf("setting up read model %s: %w", o.Table, err)
	}
	reserved := map[string]bool{}
	for _, name := range append(key.attributes(), o.Position, o.Position+ownerSuffix, o.Stamp) {
		if name != "" && reserved[name] {
			return nil, fmt.Errorf("setting up read model %s: attribute %q has two uses", o.Table, name)
		}
		reserved[name] = true
	}
	return &Sink{
		options:  o,
		key:      key,
		owner:    ownerOf(o.Identity),
		reserved: reserved,
		cache:    newCache(o.Cache),
	}, nil
}

func (o Options) check() error {
	id := o.Identity
	switch {
	case o.Client == nil:
		return errors.New("no client")
	case o.Table == "":
		return errors.New("no table")
	case o.Projection == nil:
		return errors.New("no projection")
	case id.Group == "" || id.Source == "" || id.Sink == "" || id.Version < 1:
		return errors.New("an identity has a group, a source, a sink and a version from 1 on")
	}
	return nil
}
