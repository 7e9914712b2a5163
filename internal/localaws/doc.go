// Package localaws is an embedded stand-in for DynamoDB and DynamoDB Streams.
// It speaks their wire protocol (AWS JSON 1.0), in process or on a loopback
// port, so that the real SDK clients, the real worker and the real commands
// run against it on a laptop, under fault schedules and in fake time.
//
// It is a test double and a demonstration, never offered for production.
package localaws
