// Package ecs holds the templates for ECS, and the tests that keep them true:
// what each setting must be, and that the roles allow what the programs call and
// nothing else.
package ecs

//go:generate go test . -run ^TestTaskDefinitions$ -update
