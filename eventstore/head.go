package eventstore

import (
	"maps"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"millrace/event"
	"millrace/internal/awsvalue"
)

// moveHead moves an aggregate's head item to the end of a plan, under the
// condition that it stands where the plan begins. It keeps attributes that
// others have put into the item.
func (s *Store) moveHead(p *plan) *types.Update {
	head := s.layout.Head
	version := func(v uint64) types.AttributeValue { return awsvalue.To(event.Number(strconv.FormatUint(v, 10))) }
	u := &types.Update{
		TableName:           &s.table,
		Key:                 awsvalue.ToItem(s.headKey(p.partition)),
		UpdateExpression:    aws.String("SET #version = :last"),
		ConditionExpression: aws.String("attribute_not_exists(#version)"),
		ExpressionAttributeNames: map[string]string{
			"#version": head.Version,
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{":last": version(p.last())},
	}
	if p.expected > 0 {
		u.ConditionExpression = aws.String("#version = :expected")
		u.ExpressionAttributeValues[":expected"] = version(p.expected)
	}
	if kind := s.layout.Only.Attribute; kind != "" {
		u.UpdateExpression = aws.String("SET #version = :last, #kind = :kind")
		maps.Copy(u.ExpressionAttributeNames, map[string]string{"#kind": kind})
		u.ExpressionAttributeValues[":kind"] = awsvalue.To(event.String(head.Kind))
	}
	return u
}

func (s *Store) headKey(partition event.Value) event.Item {
	return event.Item{s.layout.Aggregate: partition, s.layout.Version: event.String(s.layout.Head.Key)}
}
