// Package status is what an operator sees, as data: the reports behind the
// commands and the page. It reads and compares; it never changes anything.
package status
