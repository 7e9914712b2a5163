package dynamodb

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/checkpoint"
	"millrace/event"
	"millrace/internal/awsclient"
	"millrace/internal/controlkey"
)

// Options configures a Store.
type Options struct {
	// Client calls DynamoDB. It should not retry by itself: retries are the
	// caller's, who knows how long the lease is still to be trusted.
	Client *sdk.Client
	// Table is the control table. Default: millrace.
	Table string
	// Jitter is the source of tokens, heartbeats and waits.
	Jitter event.Jitter
	// Boot tells this store from every other, earlier runs of the same worker
	// included. Default: random. Tests set it, to repeat.
	Boot string
}

// Store keeps leases and pins in the control table. It implements
// checkpoint.LeaseStore, Lister and PinStore. Errors of AWS calls carry their
// class (event.ClassOf); for those without an answer awsclient.Unanswered is
// true, and the same call may be made again. It is safe for concurrent use.
type Store struct {
	client *sdk.Client
	table  string
	jitter event.Jitter
	marks  checkpoint.Marks
	made   atomic.Int64 // rows this store has put, or tried to
}

// New returns a store. It makes no call.
func New(o Options) *Store {
	if o.Table == "" {
		o.Table = "millrace"
	}
	if o.Boot == "" {
		o.Boot = rand.Text()
	}
	return &Store{
		client: o.Client, table: o.Table, jitter: o.Jitter,
		marks: checkpoint.Marks{Source: o.Jitter, Boot: o.Boot},
	}
}

// List returns the leases of a group on a table's streams.
func (s *Store) List(ctx context.Context, group, table string) ([]checkpoint.Lease, error) {
	listing, err := s.Listing(ctx, group, table)
	return listing.Leases, err
}

// Listing returns the leases of a group on a table's streams, and the rows
// among them that this build cannot read. Reads are consistent.
func (s *Store) Listing(ctx context.Context, group, table string) (checkpoint.Listing, error) {
	var listing checkpoint.Listing
	partition := controlkey.Leases(group, table)
	pages := sdk.NewQueryPaginator(s.client, &sdk.QueryInput{
		TableName:                 aws.String(s.table),
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": controlkey.PK},
		ExpressionAttributeValues: item{":pk": text(partition)},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			// Part of a listing is no listing: what it lacks would look gone.
			return checkpoint.Listing{}, s.classify("reading lease rows", err)
		}
		for _, row := range page.Items {
			l, err := decodeLease(group, table, row)
			if err != nil {
				listing.Foreign = append(listing.Foreign, checkpoint.Foreign{Row: rowName(row), Reason: err.Error()})
				continue
			}
			listing.Leases = append(listing.Leases, l)
		}
	}
	return listing, nil
}

// rowName shows a row's key whatever else is wrong with it.
func rowName(row item) string {
	d := decoder{row: row} // a key is always text: the table's own schema says so
	return controlkey.Key{PK: d.text(controlkey.PK), SK: d.text(controlkey.SK)}.String()
}

// Create writes the rows that are absent.
func (s *Store) Create(ctx context.Context, absent []checkpoint.Lease) error {
	for _, l := range absent {
		l.Token, l.Heartbeat = s.marks.First(l.Key, int(s.made.Add(1)))
		row, err := newRow(l)
		if err != nil {
			return err
		}
		if err := s.put(ctx, fmt.Sprintf("making lease %v", l.Key), row); err != nil {
			return err
		}
	}
	return nil
}

// Grant takes a lease that is as it was seen.
func (s *Store) Grant(ctx context.Context, seen checkpoint.Lease, owner string) (checkpoint.Lease, error) {
	planned := s.marks.Grant(seen, owner)
	op := fmt.Sprintf("granting lease %v", seen.Key)
	c := change{
		op:     op,
		key:    keyOf(seen.Key),
		update: "SET #owner = :owner, #token = :token, #heartbeat = :heartbeat, #state = :active",
		only:   []string{"#schema = :schema", "#token = :seenToken", "#heartbeat = :seenHeartbeat", "#state <> :finished"},
		values: item{
			":owner": text(planned.Owner), ":token": text(planned.Token), ":heartbeat": text(planned.Heartbeat),
			":active": text(planned.State.String()), ":finished": text(checkpoint.Finished.String()),
			":schema": schema(), ":seenToken": text(seen.Token), ":seenHeartbeat": text(seen.Heartbeat),
		},
	}
	c.update += c.barren(planned.Barren, "#asked")
	row, refused, err := s.apply(ctx, c)
	if err != nil {
		return checkpoint.Lease{}, err
	}
	l, err := decodeLease(seen.Key.Group, seen.Key.Table, row)
	if refused {
		// A row that cannot be read is none of ours either.
		if err != nil || !checkpoint.Granted(l, planned) {
			return checkpoint.Lease{}, fmt.Errorf("%s: %w", op, checkpoint.ErrFenced)
		}
		return l, nil
	}
	if err != nil {
		return checkpoint.Lease{}, fmt.Errorf("%s: reading it back: %w", op, err)
	}
	return l, nil
}

// Write renews a lease that is held.
func (s *Store) Write(ctx context.Context, held checkpoint.Lease) (checkpoint.Lease, error) {
	op := fmt.Sprintf("renewing lease %v", held.Key)
	for tried := held; ; {
		c, err := s.renewal(op, tried)
		if err != nil {
			return checkpoint.Lease{}, err
		}
		row, refused, err := s.apply(ctx, c)
		if err != nil {
			return checkpoint.Lease{}, err
		}
		l, err := decodeLease(held.Key.Group, held.Key.Table, row)
		if !refused {
			if err != nil {
				return checkpoint.Lease{}, fmt.Errorf("%s: reading it back: %w", op, err)
			}
			return l, nil
		}
		if err != nil {
			l = checkpoint.Lease{} // no row, or one of another layout: not ours
		}
		again, done, err := s.marks.AfterRefusal(held, tried, l)
		if done {
			return l, nil
		}
		if err != nil {
			return checkpoint.Lease{}, fmt.Errorf("%s: %w", op, err)
		}
		tried = again
	}
}

// renewal is the change by which a holder writes its lease.
func (s *Store) renewal(op string, held checkpoint.Lease) (change, error) {
	planned := s.marks.Renew(held)
	at, err := check(op, planned)
	if err != nil {
		return change{}, err
	}
	c := change{
		op:  op,
		key: keyOf(held.Key),
		update: "SET #heartbeat = :heartbeat, #state = :state, #checkpoint = :checkpoint, #position = :position, " +
			"#sinks = :sinks, #unverified = :unverified, #children = :children",
		// The heartbeat keeps out a renewal that lands after its successor: by
		// owner and token alone it would turn back what came since.
		only: []string{"#schema = :schema", "#token = :token", "#heartbeat = :seenHeartbeat", "#position <= :position"},
		values: item{
			":heartbeat": text(planned.Heartbeat), ":state": text(planned.State.String()),
			":checkpoint": encodeStart(planned.Checkpoint), ":position": text(at),
			":sinks": list(planned.Sinks), ":unverified": list(planned.Unverified), ":children": list(planned.Children),
			":schema": schema(), ":token": text(held.Token), ":seenHeartbeat": text(held.Heartbeat),
		},
	}
	if planned.State != checkpoint.Finished {
		c.only = append(c.only, "#state <> :finished")
		c.values[":finished"] = text(checkpoint.Finished.String())
	}
	if planned.Owner == "" {
		c.update += c.barren(planned.Barren, "#owner")
		c.only = append(c.only, "attribute_exists(#owner)")
	} else {
		c.update += c.barren(planned.Barren)
		c.only = append(c.only, "#owner = :owner")
		c.values[":owner"] = text(planned.Owner)
	}
	return c, nil
}

// Ask requests a hand-over, or withdraws the request.
func (s *Store) Ask(ctx context.Context, seen checkpoint.Lease, by string) error {
	c := change{
		op:     fmt.Sprintf("asking for lease %v", seen.Key),
		key:    keyOf(seen.Key),
		update: "REMOVE #asked",
		only:   []string{"#schema = :schema", "#token = :token", "attribute_exists(#owner)"},
		values: item{":schema": schema(), ":token": text(seen.Token)},
	}
	if by != "" {
		c.update, c.values[":by"] = "SET #asked = :by", text(by)
	}
	if seen.Asked == "" {
		c.only = append(c.only, "attribute_not_exists(#asked)")
	} else {
		c.only, c.values[":asked"] = append(c.only, "#asked = :asked"), text(seen.Asked)
	}
	row, refused, err := s.apply(ctx, c)
	if err != nil || !refused {
		return err
	}
	l, err := decodeLease(seen.Key.Group, seen.Key.Table, row)
	if err != nil || l.Owner == "" || l.Token != seen.Token || l.Asked != by {
		return fmt.Errorf("%s: %w", c.op, checkpoint.ErrFenced)
	}
	return nil
}

var _ interface {
	checkpoint.LeaseStore
	checkpoint.Lister
	checkpoint.PinStore
} = (*Store)(nil)

func (s *Store) classify(op string, err error) error {
	return awsclient.ClassifyAt(op, "control table", s.table, err)
}
