// Package decimal is exact arithmetic on DynamoDB numbers: up to 38
// significant digits, magnitudes from 1E-130 to
// 9.9999999999999999999999999999999999999E+125, and zero (API Reference,
// "AttributeValue", and Developer Guide, "Constraints in Amazon DynamoDB").
//
// It owns parsing, the one normal spelling of a number, its order and its
// sums. It never rounds: a result that does not fit is an error.
package decimal
