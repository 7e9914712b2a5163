package config

import "encoding/json"

// Schema is the JSON schema (draft 2020-12) of the configuration file, for
// editors.
func Schema() ([]byte, error) {
	top := schemaOf(declare(defaults()))
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "Millrace configuration"
	return marshal(top)
}

// FoldSchema is the one of a file of CEL rules.
func FoldSchema() ([]byte, error) {
	top := schemaOf(declareFold(&Fold{}))
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "Millrace fold"
	return marshal(top)
}

func marshal(schema map[string]any) ([]byte, error) {
	out, err := json.MarshalIndent(schema, "", "  ")
	return append(out, '\n'), err
}

func schemaOf(fields []field) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range fields {
		if f.later != "" {
			continue
		}
		properties[f.key] = f.schema()
		if f.need {
			required = append(required, f.key)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func (f field) schema() map[string]any {
	var s map[string]any
	// A value may always be text with a variable in it.
	or := func(kind string) map[string]any { return map[string]any{"type": []string{kind, "string"}} }
	switch f.kind {
	case blockKind:
		s = schemaOf(f.fields)
	case listKind:
		s = map[string]any{"type": "array", "items": schemaOf(f.fields), "minItems": 1}
	case keyedKind:
		s = map[string]any{"type": "object", "additionalProperties": schemaOf(f.fields)}
	case mapKind:
		s = map[string]any{"type": "object", "additionalProperties": map[string]any{"type": []string{"string", "number", "boolean"}}}
	case textsKind:
		s = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
	case numberKind:
		s = or("integer")
	case realKind:
		s = or("number")
	case flagKind:
		s = or("boolean")
	case choiceKind:
		s = map[string]any{"type": "string", "anyOf": []any{map[string]any{"enum": f.choices}, map[string]any{"pattern": `\$\{`}}}
	case textKind, durationKind, sizeKind:
		s = map[string]any{"type": "string"}
	}
	s["description"] = f.doc
	if f.initial != "" {
		s["default"] = f.initial
	}
	return s
}
