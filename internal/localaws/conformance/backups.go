package conformance

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const docBackups = "API Reference, UpdateContinuousBackups and DescribeContinuousBackups"

func backupCases() []Case {
	return []Case{
		{"backups/switch", docBackups, func(p *probe) {
			name := p.ownTable(layout{})
			p.same("of a new table", p.recovery(name), types.PointInTimeRecoveryStatusDisabled)
			_, err := p.target.DynamoDB.UpdateContinuousBackups(p.ctx, &dynamodb.UpdateContinuousBackupsInput{
				TableName: &name, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
			})
			p.ok(err, "UpdateContinuousBackups")
			p.same("switched on", p.recovery(name), types.PointInTimeRecoveryStatusEnabled)
		}},
		{"backups/missing table", docBackups, func(p *probe) {
			name := uniqueName("absent")
			_, err := p.target.DynamoDB.DescribeContinuousBackups(p.ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &name})
			p.refused(err, "DescribeContinuousBackups of a missing table", "TableNotFoundException")
		}},
	}
}

func (p *probe) recovery(table string) types.PointInTimeRecoveryStatus {
	out, err := p.target.DynamoDB.DescribeContinuousBackups(p.ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &table})
	p.ok(err, "DescribeContinuousBackups")
	if out.ContinuousBackupsDescription == nil || out.ContinuousBackupsDescription.PointInTimeRecoveryDescription == nil {
		p.fatalf("DescribeContinuousBackups answered no description")
	}
	return out.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus
}
