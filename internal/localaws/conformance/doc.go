// Package conformance holds calls to DynamoDB, DynamoDB Streams and SQS with the
// answers that AWS documents for them, so that a stand-in can be held against
// the original. It is written from AWS's documents (the API Reference, which
// the SDK repeats in its doc comments, and the Developer Guide), never from an
// emulator's source: every [Case] names the document that decides it.
//
// The suite runs against any endpoint that the SDK's clients can reach. It knows
// nothing of how the endpoint works: one shard or many, records at once or
// late, pages empty at first. It must never rest on more than the documents
// promise, so that a failure is always a difference from AWS. Where a document
// leaves room (the text of a message, the order of validations, the exact
// place of a page break), the case leaves the same room.
//
// # Not covered, on purpose
//
//   - Secondary indexes, PartiQL, backups, exports, global tables, tags,
//     resource policies, provisioned throughput and its throttling: Millrace
//     uses none of them.
//   - The legacy parameters (Expected, AttributeUpdates, KeyConditions,
//     ScanFilter, QueryFilter, AttributesToGet): expressions replace them.
//   - The texts of error messages, beyond the few that AWS documents word for
//     word; the error's code is what a caller can branch on.
//   - The order in which several faults of one request are reported.
//   - TransactionConflict and TransactionInProgress: both need two requests
//     that meet inside the service, which no client can arrange at will.
//   - The deletion of expired items, and its stream record with the service's
//     identity: AWS gives no time for it but "within a few days".
//   - What needs hours or control over the service: the expiry of an iterator
//     (15 minutes), trimming (24 hours), roll-over and split of shards, the
//     lifetime of a client request token (10 minutes), the throttling of a
//     third reader of a shard. An engine with a clock and controls of its own
//     tests these beside the suite.
//   - The stream of a deleted table: how long it stays readable is not
//     documented for the case that the table's name is used again.
//   - Exact capacity units of transactions over items of several sizes, and of
//     UpdateItem on items that change their size; the rounding rules that AWS
//     states are covered.
//   - Sizes to the byte: AWS calls its size rules a guideline. Limits are
//     tested well below and well above, never at the border.
//   - Of SQS: encryption, policies, tags, move tasks, trace headers, the attempt
//     id of a receive, the age at which messages expire, limits of messages in
//     flight, the order of a standard queue, and which messages a short poll
//     finds: there the cases poll until they have what they sent.
//   - The order of attributes and of set members in an answer, which DynamoDB
//     does not keep.
package conformance
