package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/failure"
	"millrace/failure/redrive"
	"millrace/internal/awsvalue"
	"millrace/projection/ordersview"
)

// TestH22_MendedLayout: a few events of another layout come into the table. They
// are put on record and told, once each, and hold nobody up; after the layout
// was mended they take effect in order, and their letters go.
func TestH22_MendedLayout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t)
		bank := event.Bank()
		for v, kind := range []string{ordersview.OrderPlaced, ordersview.ItemAdded, ordersview.ItemAdded} {
			item := event.Item{
				"pk": event.String("account"), "sk": bank.VersionKey(uint64(v + 1)), "type": event.String(kind), "createdAt": event.String(time.Now().UTC().Format(time.RFC3339)),
				"customer": event.String("Ada"), "amount": event.Number("1"),
			}
			_, err := dynamodb.NewFromConfig(p.engine.Config("bank")).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &p.config.Events, Item: awsvalue.ToItem(item)})
			if err != nil {
				t.Fatal(err)
			}
		}
		p.append("healthy", ordersview.OrderPlaced)
		p.eventually("they are told, and others go on", func() bool {
			return len(p.engine.Messages("failures")) == 3 && p.position("healthy") == 1
		})
		time.Sleep(time.Minute)
		p.stop()
		told := map[string]bool{}
		for _, m := range p.engine.Messages("failures") {
			var letter failure.Letter
			if err := json.Unmarshal([]byte(m.Body), &letter); err != nil || letter.Cause.Class != "decode" || letter.Aggregate != "" || letter.Record.Item == nil {
				t.Fatalf("%v: %s", err, m.Body)
			}
			told[letter.LetterID] = true
		}
		if len(told) != 3 || len(p.engine.Messages("failures")) != 3 {
			t.Errorf("%d letters tell of %d records", len(p.engine.Messages("failures")), len(told))
		}

		config := p.config
		config.Layout = bank
		mended, err := wire(config, Registry{}, p.engine.Config("mended"))
		if err != nil {
			t.Fatal(err)
		}
		listing, err := mended.Blocked(t.Context(), Selection{Class: "decode"})
		if groups := listing.Groups(); err != nil || len(listing.Unroutable) != 3 || len(groups) != 1 || groups[0].Records != 3 {
			t.Fatalf("listed are %+v, %v", listing, err)
		}
		var fates []string
		err = mended.Reroute(t.Context(), t.Context(), listing.Unroutable, false, RedriveOptions{}, func(r redrive.Rerouted) {
			fates = append(fates, fmt.Sprintf("%s %s/%d", r.Outcome, r.Aggregate, r.Version))
		})
		if err != nil || len(fates) != 3 {
			t.Errorf("it ended %v, %v", fates, err)
		}
		if at := p.position("account"); at != 3 {
			t.Errorf("the account stands at %d after %v", at, fates)
		}
		if left, err := mended.Blocked(t.Context(), Selection{}); err != nil || len(left.Unroutable)+len(left.Markers) != 0 {
			t.Errorf("left are %+v, %v", left, err)
		}
		time.Sleep(time.Minute) // what a worker's sweep has looked at is hidden for a while
		if deleted, err := mended.SweepLetters(t.Context()); err != nil || deleted != 3 {
			t.Errorf("%d letters are deleted, %v", deleted, err)
		}
		if bytes.Contains(p.log.Bytes(), []byte(`"customer"`)) {
			t.Error("the log shows a payload")
		}
	})
}
