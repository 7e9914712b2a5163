// Package sqs keeps letters in an Amazon SQS queue, standard or FIFO.
//
// It owns the shape of a message: the letter's JSON as body, a few attributes
// for filters and dashboards, and in a FIFO queue the aggregate's hash as group
// and the letter's id as de-duplication id. It must never decide which letter
// is sent, kept or deleted, and it keeps no letter in memory.
//
// Accepted means durable. What it does not mean:
//
//   - Once: an answer that got lost is a letter sent again. A FIFO queue drops
//     the second within five minutes; a standard queue, or a later retry, has
//     the letter twice, under one id.
//   - Gone when deleted: a standard queue may hand out a deleted letter once
//     more.
//   - In order: only a FIFO queue keeps the letters of one aggregate in order.
//
// The facts are from the Amazon SQS API Reference and Developer Guide.
package sqs
