// Package dynamodbstreams reads DynamoDB Streams: it lists a stream's shards
// and reads their records, and says in the source package's words what a failed
// call means.
//
// It makes one call for one request and never retries, waits, paces or
// remembers: its callers do. One answer needs a second call: DynamoDB Streams
// says "resource not found" for a missing shard and for a missing stream alike,
// so that the stream is then asked for (see Stream).
package dynamodbstreams
