package localaws

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// spikeHandler is the least of a service: one page of stream records whose
// version 2 is late, and a table that has it. Each call takes 5 ms.
func spikeHandler(w http.ResponseWriter, r *http.Request) {
	time.Sleep(5 * time.Millisecond)
	body, _ := io.ReadAll(r.Body)
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch operation {
	case "GetRecords":
		var records []string
		for i, version := range []int{1, 3, 4} {
			records = append(records, fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"%d","Keys":{"sk":{"N":"%d"}}}}`, 100+i, version))
		}
		fmt.Fprintf(w, `{"Records":[%s]}`, strings.Join(records, ","))
	case "GetItem":
		var in struct{ Key json.RawMessage }
		if err := json.Unmarshal(body, &in); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"Item":%s}`, in.Key)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// spikeConsume reads the page and returns the versions in the order in which
// they took effect. With fill it reads what is missing from the table first.
func spikeConsume(ctx context.Context, t *testing.T, fill bool) []string {
	t.Helper()
	// Built inside the bubble: a client shared by two bubbles panics.
	config := aws.Config{
		Region:      "eu-central-1",
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient:  &Transport{Handler: http.HandlerFunc(spikeHandler)},
	}
	streams := dynamodbstreams.NewFromConfig(config)
	table := dynamodb.NewFromConfig(config)

	page, err := streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: aws.String("spike")})
	if err != nil {
		t.Fatal(err)
	}
	var applied []string
	next := 1
	for _, record := range page.Records {
		encoded, _ := json.Marshal(record.Dynamodb.Keys["sk"])
		var key struct{ Value string }
		if err := json.Unmarshal(encoded, &key); err != nil {
			t.Fatal(err)
		}
		for ; fill && fmt.Sprint(next) != key.Value; next++ {
			got, err := table.GetItem(ctx, &dynamodb.GetItemInput{
				TableName: aws.String("events"), ConsistentRead: aws.Bool(true),
				Key: map[string]types.AttributeValue{"sk": &types.AttributeValueMemberN{Value: fmt.Sprint(next)}},
			})
			if err != nil {
				t.Fatal(err)
			}
			applied = append(applied, got.Item["sk"].(*types.AttributeValueMemberN).Value)
		}
		applied = append(applied, key.Value)
		next++
	}
	return applied
}

// TestSDKClientsInABubble is the ground the whole test strategy stands on:
// the real SDK clients, their middleware, signing and decoding, run in fake
// time over the in-process transport. The gap test fails for a reader that
// trusts the stream's order and passes for one that proves it by version.
func TestSDKClientsInABubble(t *testing.T) {
	whole := []string{"1", "2", "3", "4"}
	for _, tc := range []struct {
		name  string
		fill  bool
		want  []string
		took  time.Duration
		order bool
	}{
		{name: "trusting the stream leaves a hole", fill: false, want: []string{"1", "3", "4"}, took: 5 * time.Millisecond},
		{name: "filling from the table closes it", fill: true, want: whole, took: 10 * time.Millisecond, order: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				applied := spikeConsume(t.Context(), t, tc.fill)
				if !slices.Equal(applied, tc.want) {
					t.Errorf("applied %v, want %v", applied, tc.want)
				}
				if got := slices.Equal(applied, whole); got != tc.order {
					t.Errorf("in order without a hole: %v, want %v", got, tc.order)
				}
				// 5 ms a call in fake time, and exactly that: nothing real was waited for.
				if took := time.Since(began); took != tc.took {
					t.Errorf("took %v of fake time, want %v", took, tc.took)
				}
			})
		})
	}
}
