package archtest

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestImportGraph(t *testing.T) {
	graph, err := readGraph("../..")
	if err != nil {
		t.Fatal(err)
	}
	// An empty graph breaks no rule; event is the package that is never missing.
	if _, ok := graph["millrace/event"]; !ok {
		t.Fatalf("the graph lacks millrace/event: read %d packages", len(graph))
	}
	for _, violation := range violations(graph) {
		t.Error(violation)
	}
}

func TestViolations(t *testing.T) {
	const (
		up        = "an import never goes up"
		contracts = "contracts do not know each other"
		aws       = "AWS types stop at the adapters"
		engine    = "the local engine is a test double: only mains, benchmarks, examples, the simulator and tests use it"
	)
	for _, test := range []struct{ from, to, rule string }{
		{"millrace/event", "millrace/source", up},
		{"millrace/sinks", "millrace/sinks/readmodel", up},
		{"millrace/checkpoint/dynamodb", "millrace/failure", up},
		{"millrace/failure/sqs", "millrace/pipeline", up},
		{"millrace/pipeline", "millrace/status", up},
		{"millrace/status", "millrace/config", up},
		{"millrace/config", "millrace/service", up},
		{"millrace/service", "millrace/cmd/shard-reader", up},
		{"millrace/service", "millrace/internal/sim", up},
		{"millrace/internal/jitter", "millrace/reorder", up},
		{"millrace/internal/localaws", "millrace/eventstore", up},
		{"millrace/reorder", "millrace/telemetry", up},
		{"millrace/failure", "millrace/telemetry", up},
		{"millrace/pipeline", "millrace/telemetry", up},
		{"millrace/sinks/readmodel", "millrace/telemetry", up},
		{"millrace/telemetry", "millrace/status", up},
		{"millrace/reorder", "millrace/source", contracts},
		{"millrace/source", "millrace/checkpoint", contracts},
		{"millrace/checkpoint", "millrace/eventstore", contracts},
		{"millrace/pipeline", "github.com/aws/aws-sdk-go-v2/aws", aws},
		{"millrace/event", "github.com/aws/aws-sdk-go-v2/service/dynamodb/types", aws},
		{"millrace/failure", "github.com/aws/smithy-go", aws},
		{"millrace/config", "millrace/internal/awsclient", aws},
		{"millrace/internal/controlkey", "millrace/internal/awsvalue", aws},
		{"millrace/service", "millrace/internal/localaws", engine},
		{"millrace/sinks/readmodel", "millrace/internal/localaws/expr", engine},
		{"millrace/internal/awsclient", "millrace/internal/localaws", engine},
		{"millrace/cmd/shard-reader", "millrace/util", "it has no floor"},

		{"millrace/checkpoint", "millrace/source", ""},
		{"millrace/event", "millrace/internal/decimal", ""},
		{"millrace/event", "strings", ""},
		{"millrace/internal/awsvalue", "millrace/event", ""},
		{"millrace/internal/localaws/expr", "millrace/internal/decimal", ""},
		{"millrace/internal/localaws", "millrace/internal/localaws/expr", ""},
		{"millrace/eventstore", "github.com/aws/aws-sdk-go-v2/service/dynamodb", ""},
		{"millrace/sinks/readmodel", "millrace/projection", ""},
		{"millrace/sinks/readmodel", "millrace/eventstore", ""},
		{"millrace/telemetry", "millrace/pipeline", ""},
		{"millrace/source/dynamodbstreams", "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams", ""},
		{"millrace/checkpoint/dynamodb", "millrace/internal/controlkey", ""},
		{"millrace/failure/dynamodb", "millrace/failure", ""},
		{"millrace/service", "millrace/telemetry", ""},
		{"millrace/failure/dynamodb", "github.com/aws/aws-sdk-go-v2/service/dynamodb", ""},
		{"millrace/pipeline", "millrace/failure", ""},
		{"millrace/service", "millrace/internal/awsclient", ""},
		{"millrace/cmd/shard-reader", "millrace/internal/localaws", ""},
		{"millrace/benchmarks/hotpartition", "millrace/internal/localaws", ""},
		{"millrace/internal/sim", "millrace/internal/localaws", ""},
	} {
		var want []string
		if test.rule != "" {
			want = []string{test.from + " imports " + test.to + ": " + test.rule}
		}
		if got := violations(map[string][]string{test.from: {test.to}}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s -> %s: got %q, want %q", test.from, test.to, got, want)
		}
	}
}

func TestPackageWithoutFloor(t *testing.T) {
	want := []string{"millrace/util has no floor: give it one in placeOf"}
	if got := violations(map[string][]string{"millrace/util": nil}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadGraph(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                   "module millrace\n",
		"event/event.go":           "package event\n\nimport \"time\"\n\nvar _ time.Time\n",
		"event/event_test.go":      "package event\n\nimport \"millrace/pipeline\"\n",
		"source/slim.go":           "//go:build slim\n\npackage source\n\nimport named \"millrace/event\"\n",
		"source/testdata/input.go": "package input\n\nimport \"millrace/service\"\n",
		"tools/go.mod":             "module millrace/tools\n",
		"tools/tools.go":           "package tools\n\nimport \"millrace/service\"\n",
		"checkpoint/doc.go":        "package checkpoint\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readGraph(root)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"millrace/event":      {"time"},
		"millrace/source":     {"millrace/event"},
		"millrace/checkpoint": nil,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
