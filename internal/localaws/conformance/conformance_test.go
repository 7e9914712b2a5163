package conformance

import (
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

func TestMoto(t *testing.T) {
	endpoint := os.Getenv("MILLRACE_MOTO_ENDPOINT")
	if endpoint == "" {
		t.Skip("set MILLRACE_MOTO_ENDPOINT to the address of a moto server, such as http://127.0.0.1:5000, to compare with it")
	}
	cfg := aws.Config{
		Region:           "us-east-1",
		BaseEndpoint:     &endpoint,
		Credentials:      credentials.NewStaticCredentialsProvider("conformance", "conformance", ""),
		RetryMaxAttempts: 1, // moto answers 500 where AWS says 400; a repetition only takes time
	}
	Run(t, Target{
		Name:     "moto",
		DynamoDB: dynamodb.NewFromConfig(cfg),
		Streams:  dynamodbstreams.NewFromConfig(cfg),
		Known:    KnownMoto(),
		Wait:     5 * time.Second,
	})
}

func TestAWS(t *testing.T) {
	if os.Getenv("MILLRACE_AWS_CONFORMANCE") != "1" {
		t.Skip("set MILLRACE_AWS_CONFORMANCE=1 to run against the AWS account of the environment; it makes and deletes some hundred on-demand tables, and costs a little")
	}
	cfg, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatalf("loading the AWS configuration: %v", err)
	}
	Run(t, Target{
		Name:     "AWS",
		DynamoDB: dynamodb.NewFromConfig(cfg),
		Streams:  dynamodbstreams.NewFromConfig(cfg),
		Wait:     3 * time.Minute,
		Poll:     time.Second,
	})
}
