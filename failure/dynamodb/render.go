package dynamodb

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/failure"
	"millrace/internal/awsvalue"
)

// rendered is a transition in DynamoDB's expression languages.
type rendered struct {
	condition, update string
	names             map[string]string
	values            map[string]types.AttributeValue
}

func render(t failure.Transition) (rendered, error) {
	r := rendered{names: map[string]string{}, values: map[string]types.AttributeValue{}}
	var err error
	if r.condition, err = r.conditionOf(t.Condition); err != nil {
		return rendered{}, fmt.Errorf("rendering %s: %w", t.Name, err)
	}
	var sets, removes []string
	for _, a := range t.Update {
		if a.Value == nil {
			removes = append(removes, r.name(a.Attribute))
		} else {
			sets = append(sets, r.name(a.Attribute)+" = "+r.value(awsvalue.To(a.Value)))
		}
	}
	if len(sets) > 0 {
		r.update = "SET " + strings.Join(sets, ", ")
	}
	if len(removes) > 0 {
		r.update = strings.TrimSpace(r.update + " REMOVE " + strings.Join(removes, ", "))
	}
	return r, nil
}

func (r *rendered) conditionOf(c failure.Condition) (string, error) {
	switch c.Operator {
	case failure.All, failure.Any:
		joined := " AND "
		if c.Operator == failure.Any {
			joined = " OR "
		}
		parts := make([]string, len(c.Of))
		for i, part := range c.Of {
			text, err := r.conditionOf(part)
			if err != nil {
				return "", err
			}
			parts[i] = text
		}
		return "(" + strings.Join(parts, joined) + ")", nil
	case failure.Absent:
		return "attribute_not_exists(" + r.name(c.Attribute) + ")", nil
	case failure.OneOf:
		values := make([]string, len(c.Values))
		for i, v := range c.Values {
			values[i] = r.value(awsvalue.To(v))
		}
		return r.name(c.Attribute) + " IN (" + strings.Join(values, ", ") + ")", nil
	case failure.Below, failure.AtMost, failure.AtLeast:
		sign := map[failure.Operator]string{failure.Below: " < ", failure.AtMost: " <= ", failure.AtLeast: " >= "}[c.Operator]
		return r.name(c.Attribute) + sign + r.value(awsvalue.To(c.Values[0])), nil
	}
	return "", fmt.Errorf("operator %d is unknown", c.Operator)
}

// name and value draw placeholders: attribute names may be reserved words.
func (r *rendered) name(attribute string) string {
	placeholder := "#" + attribute
	r.names[placeholder] = attribute
	return placeholder
}

func (r *rendered) value(v types.AttributeValue) string {
	placeholder := fmt.Sprintf(":v%d", len(r.values))
	r.values[placeholder] = v
	return placeholder
}
