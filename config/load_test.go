package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"millrace/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

func environment(name string) (string, bool) {
	value, ok := map[string]string{"ENDPOINT": "http://127.0.0.1:8008"}[name]
	return value, ok
}

// TestBroken: each file is refused, with messages a person can act on.
func TestBroken(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d broken files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := config.Load(file, environment)
			if err == nil {
				t.Fatal("it is taken")
			}
			golden, got := strings.TrimSuffix(file, ".yaml")+".txt", err.Error()+"\n"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || got != string(want) {
				t.Errorf("it says\n%s\nwant\n%s (%v)", got, want, err)
			}
			for line := range strings.Lines(got) {
				if !strings.HasPrefix(line, "testdata/broken/") {
					t.Errorf("a line does not begin with its file: %s", line)
				}
			}
		})
	}
}

// TestEverything: each key arrives where it belongs.
func TestEverything(t *testing.T) {
	c, err := config.Load("testdata/good/orders.yaml", environment)
	if err != nil {
		t.Fatal(err)
	}
	sink := &c.Pipelines[0].Sinks[0]
	if sink.Passes == nil || sink.ReadModel.Fold.Projection == nil {
		t.Errorf("filter and fold are not compiled: %+v", sink)
	}
	sink.Passes, sink.ReadModel.Fold.Projection = nil, nil
	want := &config.Config{
		Group: "orders", Control: config.Control{Table: "millrace-test"},
		AWS: config.AWS{Region: "eu-central-1", Endpoint: "http://127.0.0.1:8008"},
		Pipelines: []config.Pipeline{{
			Name: "orders", Stream: config.Stream{Table: "orders-events", Start: "latest"},
			Layout: config.Layout{
				Preset: "orders", Aggregate: "id", Version: config.Version{Attribute: "n"},
				Only: config.Only{Attribute: "kind", Equals: "event"}, Type: "what", Time: "at",
			},
			Sinks: []config.Sink{
				{
					Name: "orders-view", Version: 2, Type: "readmodel", History: "full", Filter: `type != "Draft"`, Parallel: 8,
					ReadModel: config.ReadModel{
						Given: true, Table: "orders-view", Key: []config.Pair{{Key: "pk", Text: "{aggregate}"}, {Key: "sk", Text: "VIEW"}}, Position: "done",
						Fold: config.FoldOf{CEL: "testdata/good/fold.yaml"},
					},
				},
			},
		}},
		Failure: config.Failure{Queue: "orders-failures", Attempts: 7, RetryFor: time.Minute, MaxAge: 90 * time.Minute, InlineLimit: 100 << 10},
		Limits:  config.Limits{BufferBytes: 16 << 20, BufferEntries: 5000},
		Lease:   config.Lease{Duration: 20 * time.Second, Renew: 6 * time.Second},
		Drain:   100 * time.Second, Log: config.Log{Level: "debug"},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got\n%+v\nwant\n%+v", c, want)
	}
	layout := c.Pipelines[0].EventLayout()
	if layout.Aggregate != "id" || layout.Version != "n" || layout.Digits != 0 || layout.Only.Equals != "event" || layout.Type != "what" || layout.Time != "at" {
		t.Errorf("the layout is %+v", layout)
	}
}
