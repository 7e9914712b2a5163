package localaws

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func (b *bench) listen() *Server {
	b.t.Helper()
	server, err := b.Listen("127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := server.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return server
}

func TestListenRefusesOtherAddresses(t *testing.T) {
	b := newBench(t, Options{})
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.com:80", "127.0.0.1"} {
		if s, err := b.Listen(address); err == nil {
			t.Errorf("listening on %s", s.URL)
		}
	}
}

// TestAppOverHTTP: the application's name comes through the SDK's header,
// slashes included, for applications the engine knows.
func TestAppOverHTTP(t *testing.T) {
	b := newBench(t, Options{KeepHistory: true})
	server := b.listen()
	_, err := dynamodb.NewFromConfig(server.Config("millrace/orders/w-1")).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(events), Item: key("a", 1)})
	must(t, err)
	stranger := server.Config("known")
	stranger.AppID = "other/process"
	_, err = dynamodb.NewFromConfig(stranger).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(events), Item: key("a", 2)})
	must(t, err)
	history := b.History(events)
	if len(history) != 2 || history[0].App != "millrace/orders/w-1" || history[1].App != "other-process" {
		t.Errorf("history %+v", history)
	}
}

func TestLostAnswerOverHTTP(t *testing.T) {
	b := newBench(t, Options{})
	server := b.listen()
	b.Inject(Fault{Do: LoseAnswer, Match: onPut})
	_, err := dynamodb.NewFromConfig(server.Config("w0")).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(events), Item: key("a", 1)})
	if err == nil || !b.has(1) {
		t.Errorf("error %v, stored %v; want a broken connection and the effect", err, b.has(1))
	}
}

// TestAnswersCarryTheEnginesTime: a caller learns the service's time from the
// Date of an answer.
func TestAnswersCarryTheEnginesTime(t *testing.T) {
	clock := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	b := newBench(t, Options{Now: func() time.Time { return clock }})
	server := b.listen()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("{}"))
	must(t, err)
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	must(t, response.Body.Close())
	http.DefaultClient.CloseIdleConnections()
	if got := response.Header.Get("Date"); got != "Tue, 06 May 2031 07:08:09 GMT" {
		t.Errorf("Date %q", got)
	}
}
