// Package config owns the configuration file: what may stand in it, what it
// means, and what is wrong with it.
//
// Each key is declared once (declaration.go, fold.go): its name, its type, its
// default and a sentence about it. Reading, the JSON schema and the reference
// page all come from that declaration, so that none of them can say something
// else.
//
// A file is read strictly: an unknown key, a key given twice or a value that
// does not fit is an error that names file, line, key, what was expected and
// the nearest key that is known. All that is wrong is told at once, and
// nothing is started with half a configuration.
//
// The package must never open a connection or read anything but the files it
// is given and the environment it is handed.
package config

//go:generate go test . -run ^TestGenerated$ -update
