package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"millrace/event"
	"millrace/eventstore"
	"millrace/internal/localaws"
	"millrace/pipeline"
	"millrace/projection"
	"millrace/sinks/readmodel"
)

// TestH5_TypesIgnoredInsideAnAggregate: types that a fold ignores move the
// position without an effect, at the head as well, and are no gaps; the read
// model equals the fold of the store.
func TestH5_TypesIgnoredInsideAnAggregate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, localaws.Options{Shards: 2, Permute: 4, Seed: 2})
		fold, err := projection.New(projection.Fold[int]{
			Apply: projection.On[int]{
				"Paid": func(n int, _ event.Event) (int, error) { return n + 1, nil },
			}.Apply,
			Encode: func(n int) (event.Item, error) { return event.Item{"paid": event.Number(strconv.Itoa(n))}, nil },
			Decode: func(item event.Item) (int, error) {
				n, ok := item["paid"].(event.Number)
				if !ok {
					return 0, nil
				}
				return strconv.Atoi(string(n))
			},
			Ignore: []string{"Noted"},
		})
		if err != nil {
			t.Fatal(err)
		}
		model, err := readmodel.New(readmodel.Options{
			Client: dynamodb.NewFromConfig(w.engine.Config("model")), Table: "orders-view",
			Key: []readmodel.KeyPart{{Attribute: "pk", Template: "{aggregate}"}}, Identity: identity("view"), Projection: fold,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := model.EnsureTable(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := w.start("one", func(o *pipeline.Options) { o.Sinks[0].Sink = model })
		kinds, draw := []string{"Paid", "Noted", "Noted"}, rand.New(rand.NewPCG(1, 2))
		paid := map[string]int{}
		for i := range 60 {
			name, kind := fmt.Sprintf("a%d", i%3), kinds[draw.IntN(3)]
			if i >= 57 {
				kind = "Noted" // the heads
			}
			if kind == "Paid" {
				paid[name]++
			}
			w.write(name, w.heads[name], eventstore.NewEvent{Type: kind, Time: time.Now()})
		}
		for name, head := range w.heads {
			eventually(t, 20*time.Second, name+" is at its head", func() bool {
				stored, err := model.Item(t.Context(), name)
				return err == nil && stored.Position.Version == head
			})
			stored, err := model.Item(t.Context(), name)
			if err != nil || !event.Equal(stored.Item["paid"], event.Number(strconv.Itoa(paid[name]))) {
				t.Errorf("%s holds %v, %v; want paid %d", name, stored.Item, err, paid[name])
			}
		}
		if got := r.Stats(); got.Applied != 60 || got.GapsFilled != 0 || got.Retries != 0 {
			t.Errorf("counted %+v", got)
		}
		r.end()
		w.atTheEnd()
		w.oneReader()
	})
}
