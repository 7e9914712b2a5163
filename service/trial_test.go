package service_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/localaws"
	"millrace/service"
)

// TestTry: a trial says what a redrive would come to, and writes nothing.
func TestTry(t *testing.T) {
	w, listing := poisoned(t, 2)
	before, err := service.New(t.Context(), w.config, w.earlier(t))
	if err != nil {
		t.Fatal(err)
	}
	writes := len(w.engine.History(""))
	try := func(s *service.Service) map[string]service.Trial {
		t.Helper()
		trials := map[string]service.Trial{}
		if err := s.Try(t.Context(), listing.Markers, func(trial service.Trial) { trials[trial.Marker.Key.Aggregate] = trial }); err != nil {
			t.Fatal(err)
		}
		if len(trials) != 2 {
			t.Fatalf("the trials are %+v", trials)
		}
		return trials
	}
	for _, trial := range try(before) {
		if trial.From != 1 || trial.To != 1 || event.ClassOf(trial.Err) != event.Permanent || !strings.Contains(trial.Err.Error(), "GiftWrapped") {
			t.Errorf("without the fix a trial is %+v", trial)
		}
	}
	remove := w.engine.Inject(localaws.Fault{Do: localaws.Throttle, Times: 3, Match: func(c localaws.Call) bool { return c.Table == w.config.Events }})
	for _, trial := range try(w.service(t)) {
		if trial.From != 1 || trial.To != 3 || trial.Err != nil {
			t.Errorf("with the fix a trial is %+v", trial)
		}
	}
	remove()
	if n := len(w.engine.History("")); n != writes {
		t.Errorf("the trials made %d writes", n-writes)
	}

	_, err = w.tables.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(w.config.Events), Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "gift-001"}, "sk": &types.AttributeValueMemberS{Value: "000000000003"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	trials := try(w.service(t))
	if hole := trials["gift-001"]; hole.To != 2 || event.ClassOf(hole.Err) != event.Gap {
		t.Errorf("over a hole a trial is %+v", hole)
	}
	if whole := trials["gift-000"]; whole.To != 3 || whole.Err != nil {
		t.Errorf("the other one's trial is %+v", whole)
	}
}

// TestTryCutShort: trials that are not complete are an error.
func TestTryCutShort(t *testing.T) {
	w, listing := poisoned(t, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	err := w.service(t).Try(ctx, listing.Markers, func(trial service.Trial) { t.Errorf("it tells of %+v", trial) })
	if !errors.Is(err, why) {
		t.Errorf("it ended with %v", err)
	}
}
