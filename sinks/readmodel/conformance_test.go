package readmodel_test

import (
	"context"
	"testing"

	"millrace/internal/localaws"
	"millrace/sinks"
	"millrace/sinks/readmodel"
	"millrace/sinks/sinktest"
)

// TestConformance runs the sinks' suite, with and without a memory.
func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cache int
	}{{"remembering", 0}, {"remembering nothing", -1}, {"remembering one", 1}} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			disarm := func() {}
			sinktest.Run(t, sinktest.Harness{
				Guarded: true,
				Poison:  sinktest.Poison,
				Open: func(id sinks.Identity) (sinks.Sink, error) {
					return readmodel.New(b.options(func(o *readmodel.Options) { o.Identity, o.Cache = id, tc.cache }))
				},
				Versions: func(_ context.Context, _ sinks.Identity, aggregate string) ([]uint64, error) {
					return sinktest.VersionsOf(b.item(aggregate))
				},
				LoseAnswer: func(took bool) {
					disarm()
					disarm = b.Inject(localaws.Fault{Match: isUpdate, Do: lost(took), Times: 1})
				},
				Forget: func(ctx context.Context, _ sinks.Identity, aggregate string) error {
					return b.remove(ctx, aggregate)
				},
			})
		})
	}
}

func isUpdate(c localaws.Call) bool { return c.Operation == "UpdateItem" }

// lost is a call whose caller learns nothing.
func lost(took bool) localaws.Action {
	if took {
		return localaws.LoseAnswer
	}
	return localaws.FailBefore
}
