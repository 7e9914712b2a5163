// Package expr is DynamoDB's expression languages: conditions, filters, key
// conditions, projections and updates (Developer Guide, "Using expressions in
// DynamoDB").
//
// A text is parsed once, by a tokenizer and a recursive descent, into a value
// that is immutable and safe for concurrent use; placeholders are resolved as
// names and values while parsing and never by replacing text. Errors carry
// the service's own messages, as far as they are documented or well known.
//
// The package is pure. It knows nothing of tables, keys in storage or the wire,
// and never changes an item it is given.
package expr
