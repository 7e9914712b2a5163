package ecs

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/ecs"
)

var update = flag.Bool("update", false, "write generated files anew")

// TestTaskDefinitions: the raw task definitions, for tools other than
// CloudFormation, are what the templates say with their default parameters, and
// what the service knows: an unknown field is refused. -update writes them anew.
func TestTaskDefinitions(t *testing.T) {
	for template, file := range map[string]string{"worker.yaml": "task-worker.json", "redrive.yaml": "task-redrive.json"} {
		t.Run(file, func(t *testing.T) {
			x := load(t, template)
			properties := x.at("Resources/Task/Properties").(map[string]tree)
			group := x.at("Resources/Log/Properties/LogGroupName")
			options := properties["ContainerDefinitions"].([]tree)[0].(map[string]tree)["LogConfiguration"].(map[string]tree)["Options"].(map[string]tree)
			options["awslogs-group"] = group
			properties["TaskRoleArn"], properties["ExecutionRoleArn"] = "arn:aws:iam::123456789012:role/TASK-ROLE", "arn:aws:iam::123456789012:role/EXECUTION-ROLE"
			properties["ContainerDefinitions"].([]tree)[0].(map[string]tree)["Image"] = "REPOSITORY@sha256:DIGEST"
			var want bytes.Buffer
			encoder := json.NewEncoder(&want)
			encoder.SetIndent("", "  ")
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(camel(properties)); err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil { //nolint:gosec // a document
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(file)
			if err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%s is not what %s says: run make generate (%v)", file, template, err)
			}
			var input ecs.RegisterTaskDefinitionInput
			if err := strictly(got, &input); err != nil {
				t.Errorf("the service does not know it: %v", err)
			}
			if c := input.ContainerDefinitions[0]; *c.StopTimeout != 120 || !*c.ReadonlyRootFilesystem || *c.User != User {
				t.Errorf("it is read as %+v", c)
			}
			broken := bytes.Replace(got, []byte(`"stopTimeout"`), []byte(`"stopTimeOutt"`), 1)
			if err := strictly(broken, &input); err == nil {
				t.Error("an unknown field passes")
			}
		})
	}
}

func strictly(data []byte, to any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(to)
}

// camel gives keys the form of the service's own JSON; those of a log's options
// are the driver's.
func camel(value tree) tree {
	switch v := value.(type) {
	case map[string]tree:
		m := map[string]tree{}
		for key, one := range v {
			if key != "Options" {
				one = camel(one)
			}
			if !strings.Contains(key, "-") {
				key = string(unicode.ToLower(rune(key[0]))) + key[1:]
			}
			m[key] = one
		}
		return m
	case []tree:
		list := make([]tree, len(v))
		for i, one := range v {
			list[i] = camel(one)
		}
		return list
	}
	return value
}
