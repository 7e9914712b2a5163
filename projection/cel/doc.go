// Package cel owns folds and filters that are written as expressions of the
// Common Expression Language instead of Go.
//
// Expressions are compiled and type-checked once, when a fold is made; an error
// names the place of the expression and what is wrong with it. They see
// event, the attributes of the event's item, and state, the item that the fold
// has made so far.
//
// Numbers are exact. A whole number within 64 bits is CEL's int; every other
// one is a decimal of up to 38 digits, as DynamoDB stores it. Sums, products
// and comparisons mix the two; a quotient without an exact value, or a result
// that DynamoDB could not hold, is an error and never rounded. Attributes that
// an expression does not name are not decoded.
//
// The package must never read a clock, do I/O, or keep anything between two
// events.
package cel
