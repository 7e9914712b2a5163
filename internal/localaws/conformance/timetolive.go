package conformance

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const docTTL = "API Reference, UpdateTimeToLive and DescribeTimeToLive"

func timeToLiveCases() []Case {
	return []Case{
		{"ttl/unset", docTTL, func(p *probe) {
			name := p.ownTable(layout{})
			d := p.describeTTL(name)
			p.same("TimeToLiveStatus of a new table", d.TimeToLiveStatus, types.TimeToLiveStatusDisabled)
		}},
		{"ttl/enable", docTTL, func(p *probe) {
			name := p.ownTable(layout{})
			out, err := p.setTTL(name, "expires", true)
			p.ok(err, "UpdateTimeToLive")
			if s := out.TimeToLiveSpecification; s == nil || aws.ToString(s.AttributeName) != "expires" || !aws.ToBool(s.Enabled) {
				p.errorf("UpdateTimeToLive answered %+v, want the specification it got", s)
			}
			d := p.describeTTL(name)
			p.same("AttributeName", aws.ToString(d.AttributeName), "expires")
			if s := d.TimeToLiveStatus; s != types.TimeToLiveStatusEnabling && s != types.TimeToLiveStatusEnabled {
				p.errorf("TimeToLiveStatus: got %s, want ENABLING or ENABLED", s)
			}
		}},
		{"ttl/enable twice", docTTL, func(p *probe) {
			name := p.ownTable(layout{})
			_, err := p.setTTL(name, "expires", true)
			p.ok(err, "UpdateTimeToLive")
			_, err = p.setTTL(name, "expires", true)
			p.refused(err, "UpdateTimeToLive a second time", validation)
		}},
		{"ttl/disable unset", docTTL, func(p *probe) {
			name := p.ownTable(layout{})
			_, err := p.setTTL(name, "expires", false)
			p.refused(err, "disabling what is disabled", validation)
		}},
		{"ttl/missing table", docTTL, func(p *probe) {
			name := uniqueName("absent")
			_, err := p.setTTL(name, "expires", true)
			p.refused(err, "UpdateTimeToLive of a missing table", notFound)
			_, err = p.target.DynamoDB.DescribeTimeToLive(p.ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
			p.refused(err, "DescribeTimeToLive of a missing table", notFound)
		}},
	}
}

func (p *probe) setTTL(table, attribute string, enabled bool) (*dynamodb.UpdateTimeToLiveOutput, error) {
	return p.target.DynamoDB.UpdateTimeToLive(p.ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &enabled},
	})
}

func (p *probe) describeTTL(table string) *types.TimeToLiveDescription {
	out, err := p.target.DynamoDB.DescribeTimeToLive(p.ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	p.ok(err, "DescribeTimeToLive")
	if out.TimeToLiveDescription == nil {
		p.fatalf("DescribeTimeToLive answered no description")
	}
	return out.TimeToLiveDescription
}
