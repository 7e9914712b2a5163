package position

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/internal/awsclient"
	"millrace/internal/controlkey"
	"millrace/sinks"
)

// Options configures a Store.
type Options struct {
	// Client must not retry by itself: the pipeline does, and counts. Required.
	Client *dynamodb.Client
	// Table is the control table. Default: millrace.
	Table string
}

// Store reads and moves positions. Its errors carry their class
// (event.ClassOf). It is safe for concurrent use.
type Store struct {
	client *dynamodb.Client
	table  string
}

// New returns a store. It makes no call.
func New(o Options) (*Store, error) {
	if o.Client == nil {
		return nil, errors.New("setting up positions: no client")
	}
	if o.Table == "" {
		o.Table = "millrace"
	}
	return &Store{client: o.Client, table: o.Table}, nil
}

type item = map[string]types.AttributeValue

// key is the primary key of a row.
func key(id sinks.Identity, aggregate string) item {
	k := controlkey.Position(id.Group, id.Source, id.Sink, id.Version, aggregate)
	return item{
		controlkey.PK: &types.AttributeValueMemberS{Value: k.PK},
		controlkey.SK: &types.AttributeValueMemberS{Value: k.SK},
	}
}

func (s *Store) classify(op string, err error) error {
	return awsclient.ClassifyAt(op, "control table", s.table, err)
}
