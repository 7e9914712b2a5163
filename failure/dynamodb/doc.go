// Package dynamodb keeps markers and the outbox of letters in the control
// table. It executes the transitions of package failure as they are: each is
// rendered into one conditional write, and nothing here decides anything.
package dynamodb
