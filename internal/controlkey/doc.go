// Package controlkey builds the keys of the control table, and nothing else
// does. A row's partition key tells its kind and whom it belongs to, its sort
// key which one it is; the parts of both are joined by "|".
package controlkey
