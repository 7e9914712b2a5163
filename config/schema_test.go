package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"millrace/config"
)

// TestGenerated: the schemas and the reference page are the declaration's.
func TestGenerated(t *testing.T) {
	for file, write := range config.Generated() {
		got, err := write()
		if err != nil {
			t.Fatal(err)
		}
		path := "../" + file
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil { //nolint:gosec // it is a page of the project
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the declaration says; run make generate (%v)", file, err)
		}
	}
}

// TestSchemaKnowsEveryKey: what Load takes, the schema names.
func TestSchemaKnowsEveryKey(t *testing.T) {
	data, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Properties map[string]any `json:"properties"`
			Items      struct {
				Properties map[string]any `json:"properties"`
				Required   []string       `json:"required"`
			} `json:"items"`
		} `json:"properties"`
		Required             []string `json:"required"`
		AdditionalProperties *bool    `json:"additionalProperties"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	if schema.AdditionalProperties == nil || *schema.AdditionalProperties || len(schema.Required) != 2 {
		t.Errorf("the top of the schema is %+v", schema)
	}
	if _, ok := schema.Properties["lease"].Properties["renew"]; !ok {
		t.Errorf("lease.renew is missing: %s", data)
	}
	if p := schema.Properties["pipelines"].Items; len(p.Required) != 3 || p.Properties["layout"] == nil {
		t.Errorf("a pipeline is %+v", p)
	}
}
